#include "actors/base/spawn_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <spdlog/fmt/fmt.h>

namespace holdfast {
namespace {

tl::unexpected<error> cannot_start(std::string const& program, std::string_view why) {
  return fail(error_code::start_failed, fmt::format("cannot start {}: {}", program, why));
}

/// The same descriptor at 3 or above: in the child 0, 1 and 2 are being replaced.
unique_fd above_standard(unique_fd fd) {
  if (fd.get() > 2 || !fd) return fd;
  return unique_fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3));
}

tl::expected<stream_pair, int> pair_of(int ours, int theirs) {
  stream_pair pair{above_standard(unique_fd(ours)), above_standard(unique_fd(theirs))};
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
                               std::vector<std::string> const& env, int directory, standard_descriptors const& given) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, given.input, 0);
  posix_spawn_file_actions_adddup2(&actions, given.output, 1);
  posix_spawn_file_actions_adddup2(&actions, given.errors, 2);
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

}  // namespace

tl::expected<stream_pair, int> make_socket_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == -1) return tl::unexpected(errno);
  return pair_of(ends[0], ends[1]);
}

tl::expected<stream_pair, int> make_output_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) == -1) return tl::unexpected(errno);
  return pair_of(ends[0], ends[1]);
}

unique_fd open_null() { return above_standard(unique_fd(::open("/dev/null", O_RDWR | O_CLOEXEC))); }

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

result<pid_t> spawn_process(spawn_plan const& plan, standard_descriptors const& given) {
  auto const& argv = plan.argv;
  if (argv.empty() || argv.front().empty()) return fail(error_code::start_failed, "cannot start a process: no program was named");
  auto const path = plan.env.find("PATH");
  auto const program = find_program(argv.front(), path == plan.env.end() ? "" : path->second);
  if (program.empty()) return cannot_start(argv.front(), "it is not on PATH");
  unique_fd const directory = above_standard(unique_fd(::open(plan.cwd.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)));
  if (!directory) return cannot_start(program, fmt::format("working directory {}: {}", plan.cwd.string(), std::strerror(errno)));
  std::vector<std::string> variables;
  variables.reserve(plan.env.size());
  for (auto const& [name, value] : plan.env) variables.push_back(fmt::format("{}={}", name, value));
  auto const pid = spawn(program, argv, variables, directory.get(), given);
  if (!pid) return cannot_start(program, std::strerror(pid.error()));
  return *pid;
}

}  // namespace holdfast
