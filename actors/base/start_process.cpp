#include "actors/base/start_process.hpp"

#include <poll.h>
#include <signal.h>
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
#include "actors/base/spawn_process.hpp"
#include "actors/base/unique_fd.hpp"

namespace holdfast {
namespace {

using clock = std::chrono::steady_clock;

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

result<finished_process> run_process(std::vector<std::string> const& argv, std::map<std::string, std::string> const& env,
                                     std::filesystem::path const& cwd, std::string const& stdin_text,
                                     std::chrono::milliseconds timeout) {
  auto const deadline = clock::now() + timeout;
  auto const null = open_null();
  auto const null_problem = errno;
  auto input = make_socket_pair();
  auto errors = make_socket_pair();
  if (!null || !input || !errors)
    return fail(error_code::start_failed,
                fmt::format("cannot start a process: no descriptors for it: {}", std::strerror(!null    ? null_problem
                                                                                               : !input ? input.error()
                                                                                                        : errors.error())));
  auto const pid = spawn_process({argv, env, cwd}, {input->theirs.get(), null.get(), errors->theirs.get()});
  if (!pid) return tl::unexpected(pid.error());
  input->theirs.reset();
  errors->theirs.reset();

  child running(*pid, std::move(input->ours), std::move(errors->ours), stdin_text);
  bool const is_over = running.wait_until(deadline);
  if (!is_over) running.kill_group();
  auto const exit_code = running.reap();
  if (!is_over)
    return fail(error_code::start_failed,
                fmt::format("process {} did not end within {} ms; killed", argv.front(), timeout.count()));
  if (!exit_code)
    return fail(error_code::start_failed, fmt::format("cannot tell how process {} ended: somebody else reaped it", argv.front()));
  return finished_process{*exit_code, running.take_errors()};
}

}  // namespace holdfast
