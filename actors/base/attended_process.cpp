#include "actors/base/attended_process.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace holdfast {
namespace {

/// None: somebody else reaped it.
std::optional<int> exit_code_of(pid_t pid) {
  siginfo_t info{};
  int done = 0;
  do done = ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED);
  while (done == -1 && errno == EINTR);
  if (done == -1) return std::nullopt;
  return info.si_code == CLD_EXITED ? info.si_status : -info.si_status;
}

}  // namespace

result<attended_process> attended_process::start(spawn_plan const& plan) {
  auto channel = make_socket_pair();
  auto output = make_output_pipe();
  auto errors = make_output_pipe();
  for (auto const* each : {&channel, &output, &errors})
    if (!*each)
      return fail(error_code::start_failed,
                  std::string("cannot start a process: no descriptors for it: ") + std::strerror(each->error()));
  auto const pid = spawn_process(plan, {channel->theirs.get(), output->theirs.get(), errors->theirs.get()});
  if (!pid) return tl::unexpected(pid.error());
  attended_process made;
  made.pid_ = *pid;
  made.pidfd_ = unique_fd(static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0)));
  made.channel_ = std::move(channel->ours);
  made.output_ = std::move(output->ours);
  made.errors_ = std::move(errors->ours);
  if (!made.pidfd_)
    return fail(error_code::start_failed, std::string("cannot watch process ") + plan.argv.front() + ": " + std::strerror(errno));
  return made;
}

attended_process::attended_process(attended_process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::move(other.pidfd_)),
      channel_(std::move(other.channel_)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)) {}

attended_process::~attended_process() {
  if (pid_ > 0) (void)reap();
}

bool attended_process::has_ended() const {
  pollfd watched{pidfd_.get(), POLLIN, 0};
  return ::poll(&watched, 1, 0) == 1;
}

void attended_process::send_signal(int number) const { ::syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, 0); }

void attended_process::kill_group() const {
  if (pid_ > 0) ::kill(-pid_, SIGKILL);
}

std::optional<int> attended_process::reap() {
  kill_group();
  return exit_code_of(std::exchange(pid_, -1));
}

}  // namespace holdfast
