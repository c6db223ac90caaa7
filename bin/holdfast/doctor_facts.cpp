#include "bin/holdfast/doctor_facts.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>

#include <spdlog/fmt/fmt.h>
#include <boost/json/parse.hpp>

#include "actors/base/clock.hpp"
#include "actors/base/identity.hpp"
#include "actors/base/start_process.hpp"
#include "actors/base/unique_fd.hpp"
#include "actors/env/interpreter.hpp"
#include "bin/holdfast/fields.hpp"
#include "bin/holdfast/service.hpp"

namespace holdfast::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::milliseconds daemon_timeout{5'000};
constexpr std::chrono::milliseconds python_timeout{30'000};  // preload may name modules that take long to import
constexpr std::chrono::seconds settled{60};                  // a directory that is older neither comes nor goes right now

/// What statfs calls it, and whether it is one of those on which a home is in doubt.
struct file_system {
  long magic;
  char const* name;
  bool is_doubtful = false;
};
constexpr file_system file_systems[] = {
    {EXT4_SUPER_MAGIC, "ext"},
    {XFS_SUPER_MAGIC, "xfs"},
    {BTRFS_SUPER_MAGIC, "btrfs"},
    {TMPFS_MAGIC, "tmpfs"},
    {OVERLAYFS_SUPER_MAGIC, "overlay"},
    {F2FS_SUPER_MAGIC, "f2fs"},
    {NFS_SUPER_MAGIC, "NFS", true},
    {SMB2_SUPER_MAGIC, "SMB", true},
    {CIFS_SUPER_MAGIC, "CIFS", true},
    {FUSE_SUPER_MAGIC, "FUSE", true},
    {V9FS_MAGIC, "9p", true},
    {AFS_SUPER_MAGIC, "AFS", true},
    {0x2fc12fc1, "zfs"},
};

std::string first_word(fs::path const& file) {
  std::ifstream in(file);
  std::string word;
  in >> word;
  return word;
}

std::optional<std::uint64_t> read_number(fs::path const& file) {
  std::ifstream in(file);
  std::uint64_t value = 0;
  if (!(in >> value)) return std::nullopt;
  return value;
}

std::uint64_t at_most(rlim_t limit) { return limit == RLIM_INFINITY ? std::uint64_t{1} << 40 : static_cast<std::uint64_t>(limit); }

std::optional<pid_t> as_pid(std::string const& name) {
  if (name.empty() || !std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; })) return std::nullopt;
  return static_cast<pid_t>(std::stol(name));
}

/// What is left of a limit of the control group (version 2), the least of all groups up to the root.
std::optional<std::uint64_t> left_in_group(std::string const& limit) {
  std::ifstream groups("/proc/self/cgroup");
  std::string line, own;
  while (std::getline(groups, line))
    if (line.starts_with("0::/")) own = line.substr(4);
  std::optional<std::uint64_t> least;
  fs::path const root = "/sys/fs/cgroup";
  for (auto group = root / own;; group = group.parent_path()) {
    auto const most = read_number(group / (limit + ".max"));
    auto const now = read_number(group / (limit + ".current"));
    if (most && now) least = std::min(least.value_or(*most), *most - std::min(*most, *now));
    if (group == root || !group.has_relative_path()) return least;
  }
}

constexpr char const* probe = R"(
import sys
preload = sys.argv[1:]
def lacking(names):
    found = []
    for name in names:
        try:
            __import__(name)
        except BaseException as problem:
            found.append(name + ": " + (str(problem) or type(problem).__name__))
    return found
needed = lacking(("_socket ast asyncio atexit base64 codecs contextvars ctypes errno faulthandler fcntl functools gc hmac importlib "
    "inspect io itertools json linecache marshal pickle re resource select selectors shlex signal socket stat struct subprocess "
    "threading traceback types warnings zlib").split())
import json
told = json.dumps({"version": list(sys.version_info[:3]), "missing": needed, "preload_missing": lacking(preload)})
sys.stderr.write("\nholdfast-doctor " + told + "\n")
)";

void read_probe(std::string const& said, python_facts& into) {
  constexpr std::string_view mark = "\nholdfast-doctor ";
  auto const at = said.rfind(mark);
  boost::json::error_code code;
  auto const told = at == std::string::npos ? boost::json::value() : boost::json::parse(said.substr(at + mark.size()), code);
  auto const* object = told.if_object();
  auto const* version = object ? array_in(*object, "version") : nullptr;
  if (code || !version || version->size() != 3) {
    into.problem = "ran, and told nothing: " + said.substr(0, said.find_last_not_of('\n') + 1);
    return;
  }
  auto const part = [&](std::size_t index) { return static_cast<int>((*version)[index].to_number<std::int64_t>(code)); };
  into.major = part(0);
  into.minor = part(1);
  into.micro = part(2);
  for (auto const& [name, list] : {std::pair{"missing", &into.missing}, {"preload_missing", &into.preload_missing}})
    if (auto const* all = array_in(*object, name))
      for (auto const& each : *all)
        if (each.is_string()) list->emplace_back(each.get_string());
}

}  // namespace

home_facts look_at_home(fs::path const& home, config const& settings) {
  home_facts found;
  found.path = home.string();
  found.kernels = settings.max_kernels;
  found.wanted_owner = ::geteuid();
  struct stat status {};
  found.is_there = ::stat(home.c_str(), &status) == 0;
  if (!found.is_there && errno != ENOENT) {
    found.problem = std::strerror(errno);
    return found;
  }
  if (found.is_there) {
    found.is_directory = S_ISDIR(status.st_mode);
    found.owner = status.st_uid;
    found.mode = status.st_mode & 07777;
  }
  auto there = home;
  while (::access(there.c_str(), F_OK) != 0 && there.has_relative_path()) there = there.parent_path();
  found.is_writable = ::access(there.c_str(), W_OK | X_OK) == 0;
  struct statfs system {};
  struct statvfs room {};
  if (::statfs(there.c_str(), &system) != 0 || ::statvfs(there.c_str(), &room) != 0) {
    found.problem = std::strerror(errno);
    return found;
  }
  found.free_bytes = static_cast<std::uint64_t>(room.f_bavail) * room.f_frsize;
  auto const known = std::find_if(std::begin(file_systems), std::end(file_systems),
                                  [&](auto const& each) { return each.magic == static_cast<long>(system.f_type); });
  found.file_system =
      known == std::end(file_systems) ? fmt::format("file system {:#x}", static_cast<unsigned long>(system.f_type)) : known->name;
  found.is_network = static_cast<long>(system.f_type) == NFS_SUPER_MAGIC;
  found.is_doubtful = known != std::end(file_systems) && known->is_doubtful;
  return found;
}

daemon_facts look_at_daemon(fs::path const& home, std::set<std::string>& known) {
  daemon_facts found;
  found.log = log_of(home).string();
  if (unique_fd const lock(::open((home / "lock").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)); lock) {
    struct flock range {};
    range.l_type = F_WRLCK;
    range.l_whence = SEEK_SET;
    if (::fcntl(lock.get(), F_GETLK, &range) == 0 && range.l_type != F_UNLCK) found.lock_holder = range.l_pid;
  }
  struct stat status {};
  found.has_socket = ::lstat(socket_of(home).c_str(), &status) == 0;
  auto connection = front::client::connect(socket_of(home), daemon_timeout);
  auto told = connection ? connection->call("status", {}, daemon_timeout) : tl::unexpected(connection.error());
  if (!told) {
    found.problem = told.error().message;
    return found;
  }
  if (auto const* object = told->if_object()) found.answered = static_cast<pid_t>(number(*object, "pid"));
  boost::json::object params{{"limit", 1000}};
  for (;;) {
    auto const page = connection->call("kernel.list", params, daemon_timeout);
    auto const* answer = page ? page->if_object() : nullptr;
    auto const* items = answer ? array_in(*answer, "items") : nullptr;
    for (auto const& item : items ? *items : boost::json::array{})
      if (item.is_object()) known.emplace(text(item.get_object(), "kernel"));
    if (!answer || text(*answer, "next").empty()) return found;
    params["after"] = text(*answer, "next");
  }
}

python_facts look_at_python(config const& settings) {
  python_facts found;
  found.wanted = settings.python;
  auto const variables = current_environment();
  auto const path = env::find_interpreter("", settings, variables, {});
  if (!path) return found;
  found.path = path->string();
  std::vector<std::string> argv{found.path, "-c", probe};
  argv.insert(argv.end(), settings.preload.begin(), settings.preload.end());
  auto const ended = run_process(argv, env::kernel_variables(variables, settings.pass_env, {}), "/", "", python_timeout);
  if (!ended)
    found.problem = "does not run: " + ended.error().message;
  else
    read_probe("\n" + ended->standard_error, found);
  if (ended && found.major == 0 && ended->exit_code != 0)
    found.problem = fmt::format("ended with {}: {}", ended->exit_code, ended->standard_error);
  return found;
}

limit_facts look_at_limits(config const& settings) {
  limit_facts found;
  found.kernels = settings.max_kernels_hard != 0 ? settings.max_kernels_hard : settings.max_kernels;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    found.files_soft = at_most(limit.rlim_cur);
    found.files_hard = at_most(limit.rlim_max);
  }
  if (::geteuid() != 0 && ::getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    found.processes_most = limit.rlim_cur;
  std::error_code problem;
  for (auto const& each : fs::directory_iterator("/proc", problem)) {
    struct stat status {};
    if (as_pid(each.path().filename()) && ::stat(each.path().c_str(), &status) == 0 && status.st_uid == ::geteuid())
      ++found.processes_now;
  }
  found.pid_max = read_number("/proc/sys/kernel/pid_max");
  found.threads_max = read_number("/proc/sys/kernel/threads-max");
  found.group_pids_left = left_in_group("pids");
  found.group_memory_left = left_in_group("memory");
  return found;
}

system_facts look_at_system() {
  system_facts found;
  found.has_proc = identify(::getpid()).has_value();
  found.has_boot_id = !first_word("/proc/sys/kernel/random/boot_id").empty();
  unique_fd const pidfd(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0u)));
  if (!pidfd) found.pidfd_problem = std::strerror(errno);
  return found;
}

std::vector<leftover_facts::directory> look_at_kernels(fs::path const& home) {
  std::error_code problem;
  auto const run = (fs::weakly_canonical(home, problem) / "run").string() + "/";
  std::map<std::string, leftover_facts::directory> found;
  for (auto const& each : fs::directory_iterator(run, problem)) {
    auto const name = each.path().filename().string();
    found[name].kernel = name;
  }
  for (auto const& process : fs::directory_iterator("/proc", problem)) {
    auto const pid = as_pid(process.path().filename());
    if (!pid) continue;
    std::error_code ignored;  // another user's, or gone
    std::set<std::string> own;
    for (auto const& each : fs::directory_iterator(process.path() / "fd", ignored)) {
      auto const target = fs::read_symlink(each.path(), ignored).string();
      if (ignored || !target.starts_with(run)) continue;
      // Opened to name files by only (O_PATH): so a nursery holds the directories of its kernels, and is none.
      auto const may = fs::symlink_status(each.path(), ignored).permissions();
      if (ignored || (may & fs::perms::owner_read) == fs::perms::none) continue;
      constexpr std::string_view removed = " (deleted)";
      // Its directory itself, which a kernel holds and nothing that it starts.
      auto name = target.substr(run.size());
      auto const is_removed = name.ends_with(removed);
      if (is_removed) name.resize(name.size() - removed.size());
      if (name.find('/') != std::string::npos || !own.insert(name).second) continue;
      auto& kernel = found[is_removed ? name + std::string(removed) : name];
      kernel.kernel = name;
      kernel.is_removed = is_removed;
      kernel.processes.push_back(*pid);
    }
  }
  std::vector<leftover_facts::directory> all;
  for (auto& [name, each] : found) all.push_back(std::move(each));
  return all;
}

leftover_facts judge_leftovers(fs::path const& home, std::vector<leftover_facts::directory> kernels, daemon_facts const& daemon,
                               std::set<std::string> const& known) {
  leftover_facts found;
  found.has_daemon = daemon.answered.has_value();
  for (auto& each : kernels) {
    struct stat status {};
    auto const is_there = ::stat((home / "run" / each.kernel).c_str(), &status) == 0;
    if (!each.is_removed && !is_there) continue;
    auto const age = std::chrono::milliseconds(is_there ? now_ms() - status.st_mtim.tv_sec * 1000LL : 0);
    each.is_known = !found.has_daemon || known.contains(each.kernel) || age < settled;
    found.kernels.push_back(std::move(each));
  }
  return found;
}

}  // namespace holdfast::cli
