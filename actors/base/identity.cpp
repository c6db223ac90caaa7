#include "actors/base/identity.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>

#include "actors/base/unix_socket.hpp"

namespace holdfast {
namespace {

/// The whole of a small file without its last newline, or the errno.
tl::expected<std::string, int> read_small(std::string const& path) {
  unique_fd const fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return tl::unexpected(errno);
  std::array<char, 4096> buffer;
  ssize_t const got = ::read(fd.get(), buffer.data(), buffer.size());
  if (got < 0) return tl::unexpected(errno);
  std::string text(buffer.data(), static_cast<std::size_t>(got));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

struct process_stat {
  char state = '?';
  std::uint64_t threads = 0;
  std::uint64_t start_time = 0;
};

/// Fields 3, 20 and 22 of /proc/PID/stat. The name (field 2) may hold blanks and parentheses, so fields count from the last ')'.
std::optional<process_stat> parse_stat(std::string_view text) {
  auto const name_end = text.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= text.size()) return std::nullopt;
  text.remove_prefix(name_end + 2);
  process_stat found;
  for (int field = 3; field <= 22; ++field) {
    auto const end = std::min(text.find(' '), text.size());
    auto const word = text.substr(0, end);
    if (word.empty()) return std::nullopt;
    if (field == 3) found.state = word.front();
    if (field == 20 || field == 22) {
      auto& number = field == 20 ? found.threads : found.start_time;
      if (std::from_chars(word.data(), word.data() + word.size(), number).ec != std::errc{}) return std::nullopt;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found;
}

/// What /proc says of a pid, or the errno: ENOENT and ESRCH mean that it has none.
tl::expected<process_stat, int> read_stat(pid_t pid) {
  auto const text = read_small("/proc/" + std::to_string(pid) + "/stat");
  if (!text) return tl::unexpected(text.error());
  auto const found = parse_stat(*text);
  if (!found) return tl::unexpected(EIO);
  return *found;
}

process_state state_of(process_stat const& found) {
  switch (found.state) {
    case 'T':
    case 't': return process_state::stopped;
    // The leader has ended; while other threads run the process is alive and its pidfd not readable.
    case 'Z': return found.threads > 1 ? process_state::running : process_state::zombie;
    case 'X':
    case 'x': return process_state::gone;
    default: return process_state::running;
  }
}

}  // namespace

std::string const& boot_id() {
  static std::string const id = read_small("/proc/sys/kernel/random/boot_id").value_or("");
  return id;
}

std::string const& machine_id() {
  static std::string const id = read_small("/etc/machine-id").value_or("");
  return id;
}

std::uint64_t own_pid_namespace() {
  static std::uint64_t const inode = [] {
    struct stat found {};
    return ::stat("/proc/self/ns/pid", &found) == 0 ? static_cast<std::uint64_t>(found.st_ino) : 0;
  }();
  return inode;
}

std::optional<storage::process_identity> identify(pid_t pid) {
  if (pid <= 0 || boot_id().empty() || own_pid_namespace() == 0) return std::nullopt;
  auto const found = read_stat(pid);
  if (!found) return std::nullopt;
  return storage::process_identity{boot_id(), own_pid_namespace(), pid, found->start_time};
}

char const* to_string(process_state state) {
  switch (state) {
    case process_state::running: return "running";
    case process_state::stopped: return "stopped";
    case process_state::zombie: return "zombie";
    case process_state::gone: return "gone";
    case process_state::unknown: return "unknown";
  }
  return "unknown";
}

process_state inspect(storage::process_identity const& identity) {
  if (identity.pid <= 0 || identity.boot_id.empty() || boot_id().empty()) return process_state::unknown;
  if (identity.boot_id != boot_id()) return process_state::gone;
  if (identity.pid_namespace != own_pid_namespace()) return process_state::unknown;
  auto const found = read_stat(identity.pid);
  if (found) return found->start_time == identity.start_time ? state_of(*found) : process_state::gone;
  if (found.error() != ENOENT && found.error() != ESRCH) return process_state::unknown;
  // /proc may hide processes (hidepid): only a pid that cannot be signalled for want of a process is proof.
  return ::kill(identity.pid, 0) == -1 && errno == ESRCH ? process_state::gone : process_state::unknown;
}

bool is_other_peer(int socket, storage::process_identity const& expected) {
  if (expected.pid <= 0 || expected.boot_id != boot_id() || expected.pid_namespace != own_pid_namespace()) return false;
  auto const found = peer(socket);
  return found && found->pid > 0 && found->pid != expected.pid;
}

tl::expected<unique_fd, process_state> open_pidfd(storage::process_identity const& identity) {
  auto const before = inspect(identity);
  if (before == process_state::gone || before == process_state::unknown) return tl::unexpected(before);
  unique_fd fd(static_cast<int>(::syscall(SYS_pidfd_open, identity.pid, 0)));
  // Verified after the open: had the pid been reused in between, the start time would differ now.
  auto const after = inspect(identity);
  if (after == process_state::gone || after == process_state::unknown) return tl::unexpected(after);
  if (!fd) return tl::unexpected(process_state::unknown);
  return fd;
}

}  // namespace holdfast
