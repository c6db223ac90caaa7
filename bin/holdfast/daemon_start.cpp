#include "bin/holdfast/daemon_start.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "actors/base/unique_fd.hpp"
#include "bin/holdfast/service.hpp"

extern char** environ;

namespace holdfast::cli {

namespace {

constexpr int ready_fd = 3;  // of the daemon
constexpr std::string_view ready_word = "ready\n";
constexpr std::string_view taken_word = "taken ";
constexpr std::string_view refused_word = "refused ";

/// Everything that the child needs, made before the fork: between fork and exec only async-signal-safe calls are made.
struct start_plan {
  std::vector<std::string> words;
  std::vector<char*> argv, env;
  unique_fd null, log;
};

/// A daemon that bears the mark of a kernel or of a job would be ended with it.
bool bears_mark(std::string_view variable) {
  auto const name = variable.substr(0, variable.find('='));
  return name == "HOLDFAST_KERNEL" || name == "HOLDFAST_JOB" || name == "HOLDFAST_KEEP";
}

result<start_plan> make_plan(std::filesystem::path const& home) {
  start_plan plan;
  plan.words = {"holdfast", "--home", home.string(), "serve", "--ready-fd", std::to_string(ready_fd)};
  for (auto& word : plan.words) plan.argv.push_back(word.data());
  plan.argv.push_back(nullptr);
  for (auto** variable = environ; *variable; ++variable) {
    if (!bears_mark(*variable)) plan.env.push_back(*variable);
  }
  plan.env.push_back(nullptr);
  plan.null = unique_fd(::open("/dev/null", O_RDWR | O_CLOEXEC));
  plan.log = unique_fd(::open(log_of(home).c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600));
  if (!plan.null || !plan.log) {
    return fail(error_code::unreachable, "cannot start the daemon: opening " + log_of(home).string() + ": " + std::strerror(errno));
  }
  return plan;
}

/// In the grandchild; ends in the daemon's main() or in _exit.
[[noreturn]] void become_daemon(start_plan const& plan, int ready) {
  ::setsid();
  // Set to a kernel's number in all that descends from it, as its variable is; see mark_descent in system.py.
  rlimit locks{};
  if (::getrlimit(RLIMIT_LOCKS, &locks) == 0) {
    locks.rlim_cur = locks.rlim_max;
    ::setrlimit(RLIMIT_LOCKS, &locks);
  }
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  for (auto const number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD}) ::sigaction(number, &by_default, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // Ours may sit on the very numbers that are wanted: move them out of the way first.
  int const high_ready = ::fcntl(ready, F_DUPFD_CLOEXEC, 10);
  int const high_null = ::fcntl(plan.null.get(), F_DUPFD_CLOEXEC, 10);
  int const high_log = ::fcntl(plan.log.get(), F_DUPFD_CLOEXEC, 10);
  ::dup2(high_null, STDIN_FILENO);
  ::dup2(high_log, STDOUT_FILENO);
  ::dup2(high_log, STDERR_FILENO);
  ::dup2(high_ready, ready_fd);
  ::close_range(ready_fd + 1, ~0u, 0);
  if (::chdir("/") != 0) ::_exit(127);  // or the daemon would pin a file system that somebody wants to unmount
  ::execve("/proc/self/exe", plan.argv.data(), plan.env.data());
  ::_exit(127);
}

start_outcome understand(std::string const& said) {
  if (said == ready_word) return {start_end::ready, {}};
  auto const line = said.substr(0, said.find('\n'));
  if (line.starts_with(taken_word)) return {start_end::home_taken, line.substr(taken_word.size())};
  if (line.starts_with(refused_word)) return {start_end::refused, line.substr(refused_word.size())};
  return {start_end::died, {}};
}

start_outcome read_word(int ready, std::chrono::steady_clock::time_point deadline, std::function<bool()> const& is_cancelled) {
  std::string said;
  while (!is_cancelled() && std::chrono::steady_clock::now() < deadline) {
    pollfd waiting{ready, POLLIN, 0};
    if (::poll(&waiting, 1, 50) <= 0) continue;
    char piece[1024];
    auto const count = ::read(ready, piece, sizeof piece);
    if (count < 0 && errno == EINTR) continue;
    if (count > 0) said.append(piece, static_cast<std::size_t>(count));
    if (count <= 0 || said.ends_with('\n') || said.size() >= 16 * 1024) return understand(said);
  }
  return {start_end::timed_out, {}};
}

}  // namespace

result<start_outcome> start_daemon(std::filesystem::path const& home, std::chrono::steady_clock::time_point deadline,
                                   std::function<bool()> const& is_cancelled) {
  auto plan = make_plan(home);
  if (!plan) return tl::unexpected(plan.error());
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return fail(error_code::unreachable, std::string("cannot start the daemon: pipe: ") + std::strerror(errno));
  unique_fd reading(ends[0]), writing(ends[1]);
  // Forked twice, so that it is nobody's child here: a daemon that dies must not stay as our zombie.
  auto const child = ::fork();
  if (child < 0) return fail(error_code::unreachable, std::string("cannot start the daemon: fork: ") + std::strerror(errno));
  if (child == 0) {
    auto const grandchild = ::fork();
    if (grandchild != 0) ::_exit(grandchild < 0 ? 1 : 0);
    become_daemon(*plan, writing.get());
  }
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  writing.reset();
  return read_word(reading.get(), deadline, is_cancelled);
}

std::string ready_line() { return std::string(ready_word); }

std::string failed_line(error const& problem) {
  std::string line(problem.code == error_code::busy ? taken_word : refused_word);
  for (auto const character : problem.message) line += character == '\n' ? ' ' : character;
  return line + '\n';
}

}  // namespace holdfast::cli
