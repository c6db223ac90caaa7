#include "actors/base/start_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <spdlog/fmt/fmt.h>

#include "actors/base/defaults.hpp"
#include "actors/base/unique_fd.hpp"

namespace holdfast {
namespace {

using clock = std::chrono::steady_clock;

tl::unexpected<error> cannot_start(std::string const& program, std::string_view why) {
  return fail(error_code::start_failed, fmt::format("cannot start {}: {}", program, why));
}

/// The same descriptor at 3 or above: in the child 0, 1 and 2 are being replaced.
unique_fd above_standard(unique_fd fd) {
  if (fd.get() > 2 || !fd) return fd;
  return unique_fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3));
}

struct stream_pair {
  unique_fd ours;    // non-blocking
  unique_fd theirs;  // blocking
};

/// A socketpair and not a pipe, so that writing to a process that has ended fails without SIGPIPE.
tl::expected<stream_pair, int> make_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == -1) return tl::unexpected(errno);
  stream_pair pair{above_standard(unique_fd(ends[0])), above_standard(unique_fd(ends[1]))};
  if (!pair.ours || !pair.theirs || ::fcntl(pair.ours.get(), F_SETFL, O_NONBLOCK) == -1) return tl::unexpected(errno);
  return pair;
}

std::vector<char*> pointers(std::vector<std::string> const& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (auto const& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

/// posix_spawn with everything the child must not inherit undone. vfork-like: no copy of a large address space, and safe beside
/// threads that hold locks; a failed exec comes back as its errno.
tl::expected<pid_t, int> spawn(std::filesystem::path const& program, std::vector<std::string> const& argv,
                               std::vector<std::string> const& env, int directory, int input, int null, int errors) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, 0);
  posix_spawn_file_actions_adddup2(&actions, null, 1);
  posix_spawn_file_actions_adddup2(&actions, errors, 2);
  posix_spawn_file_actions_addfchdir_np(&actions, directory);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  pid_t pid = -1;
  int const failed = ::posix_spawn(&pid, program.c_str(), &actions, &attributes, pointers(argv).data(), pointers(env).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return tl::unexpected(failed);
  return pid;
}

/// A started child until it is reaped: its standard input being fed, its standard error being kept.
class child {
 public:
  child(pid_t pid, unique_fd input, unique_fd errors, std::string_view text)
      : pid_(pid),
        pidfd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))),
        input_(std::move(input)),
        errors_(std::move(errors)),
        unsent_(text) {}

  /// False at the deadline.
  bool wait_until(clock::time_point deadline) {
    while (true) {
      feed();
      std::array<pollfd, 3> watched{{{pidfd_.get(), POLLIN, 0}, {errors_.get(), POLLIN, 0}, {input_.get(), POLLOUT, 0}}};
      auto const left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now()).count();
      if (left <= 0) return false;
      // Without a pidfd (a full descriptor table) the end is seen by asking every 10 ms.
      auto const pause = pidfd_ ? left : std::min<decltype(left)>(left, 10);
      if (::poll(watched.data(), watched.size(), static_cast<int>(std::min<decltype(left)>(pause, 1'000'000))) == -1 &&
          errno != EINTR)
        return false;
      keep_errors();
      if (has_ended()) {
        keep_errors();
        return true;
      }
    }
  }

  /// The leader is not reaped yet, so the number of its group is its own.
  void kill_group() {
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);
  }

  /// Waits for the end and takes the exit code; none when somebody else in this process reaped it.
  std::optional<int> reap() {
    siginfo_t info{};
    int done = 0;
    do done = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED);
    while (done == -1 && errno == EINTR);
    if (done == -1) return std::nullopt;
    return info.si_code == CLD_EXITED ? info.si_status : -info.si_status;
  }

  std::string take_errors() { return std::move(kept_); }

 private:
  bool has_ended() const {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == -1) return errno == ECHILD;
    return info.si_pid == pid_;
  }

  void feed() {
    while (input_) {
      if (unsent_.empty()) return input_.reset();
      auto const sent = ::send(input_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
      if (sent == -1 && errno == EINTR) continue;
      if (sent == -1 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
      if (sent == -1) return input_.reset();  // it does not read on: its exit code tells
      unsent_.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  /// Reads on beyond the limit, so that the process never blocks on a full pipe.
  void keep_errors() {
    std::array<char, 4096> buffer;
    while (errors_) {
      auto const got = ::read(errors_.get(), buffer.data(), buffer.size());
      if (got == -1 && errno == EINTR) continue;
      if (got == -1 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
      if (got <= 0) return errors_.reset();
      auto const room = defaults::process_error_kept - kept_.size();
      kept_.append(buffer.data(), std::min(room, static_cast<std::size_t>(got)));
    }
  }

  pid_t pid_;
  unique_fd pidfd_;          // readable once it has ended; none when it could not be had
  unique_fd input_;          // none once all is written or nobody reads
  unique_fd errors_;         // none once every holder has closed it
  std::string_view unsent_;  // of the caller's text
  std::string kept_;         // never longer than process_error_kept
};

}  // namespace

std::filesystem::path find_program(std::string const& name, std::string const& path) {
  if (name.empty()) return {};
  if (name.find('/') != std::string::npos) return name;
  std::string_view rest = path;
  while (!rest.empty()) {
    auto const end = std::min(rest.find(':'), rest.size());
    auto candidate = std::filesystem::path(rest.substr(0, end)) / name;
    std::error_code ignored;
    if (end > 0 && std::filesystem::is_regular_file(candidate, ignored) && ::access(candidate.c_str(), X_OK) == 0) return candidate;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

result<finished_process> run_process(std::vector<std::string> const& argv, std::map<std::string, std::string> const& env,
                                     std::filesystem::path const& cwd, std::string const& stdin_text,
                                     std::chrono::milliseconds timeout) {
  if (argv.empty() || argv.front().empty()) return fail(error_code::start_failed, "cannot start a process: no program was named");
  auto const deadline = clock::now() + timeout;
  auto const path = env.find("PATH");
  auto const program = find_program(argv.front(), path == env.end() ? "" : path->second);
  if (program.empty()) return cannot_start(argv.front(), "it is not on PATH");
  unique_fd const directory = above_standard(unique_fd(::open(cwd.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)));
  if (!directory) return cannot_start(program, fmt::format("working directory {}: {}", cwd.string(), std::strerror(errno)));
  unique_fd const null = above_standard(unique_fd(::open("/dev/null", O_WRONLY | O_CLOEXEC)));
  if (!null) return cannot_start(program, fmt::format("/dev/null: {}", std::strerror(errno)));
  auto input = make_pair();
  auto errors = make_pair();
  if (!input || !errors) return cannot_start(program, std::strerror(!input ? input.error() : errors.error()));

  std::vector<std::string> variables;
  variables.reserve(env.size());
  for (auto const& [name, value] : env) variables.push_back(fmt::format("{}={}", name, value));
  auto const pid = spawn(program, argv, variables, directory.get(), input->theirs.get(), null.get(), errors->theirs.get());
  if (!pid) return cannot_start(program, std::strerror(pid.error()));
  input->theirs.reset();
  errors->theirs.reset();

  child running(*pid, std::move(input->ours), std::move(errors->ours), stdin_text);
  bool const is_over = running.wait_until(deadline);
  if (!is_over) running.kill_group();
  auto const exit_code = running.reap();
  if (!is_over)
    return fail(error_code::start_failed,
                fmt::format("process {} did not end within {} ms; killed", program.string(), timeout.count()));
  if (!exit_code)
    return fail(error_code::start_failed,
                fmt::format("cannot tell how process {} ended: somebody else reaped it", program.string()));
  return finished_process{*exit_code, running.take_errors()};
}

}  // namespace holdfast
