#include "bin/holdfast/interrupts.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace holdfast::cli {

interrupts::interrupts() {
  sigset_t wanted;
  ::sigemptyset(&wanted);
  for (auto const number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction current {};
    // nohup and `command &` in a script ignore some of these on purpose: leave them ignored.
    if (::sigaction(number, nullptr, &current) == 0 && current.sa_handler != SIG_IGN) ::sigaddset(&wanted, number);
  }
  ::pthread_sigmask(SIG_BLOCK, &wanted, &before_);
  fd_ = unique_fd(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
}

interrupts::~interrupts() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

int interrupts::take() {
  signalfd_siginfo arrived;
  return ::read(fd_.get(), &arrived, sizeof arrived) == sizeof arrived ? static_cast<int>(arrived.ssi_signo) : 0;
}

bool interrupts::is_pending() const {
  pollfd waiting{fd_.get(), POLLIN, 0};
  return ::poll(&waiting, 1, 0) > 0;
}

}  // namespace holdfast::cli
