// ^C as something that can be polled: SIGINT, SIGTERM and SIGHUP of this process arrive on a descriptor while one of these lives.
// SIGTERM and SIGHUP count as "stop waiting": whoever ends this command does not mean the cell. One per process.
#pragma once

#include <signal.h>

#include "actors/base/unique_fd.hpp"

namespace holdfast::cli {

class interrupts {
 public:
  interrupts();
  ~interrupts();  // the signals mean what they meant before
  interrupts(interrupts const&) = delete;
  interrupts& operator=(interrupts const&) = delete;

  int fd() const { return fd_.get(); }
  /// The next one that came, 0 when none is there. Never waits.
  int take();
  /// Whether one waits to be taken.
  bool is_pending() const;

 private:
  unique_fd fd_;  // a signalfd; the signals are blocked meanwhile
  sigset_t before_;
};

}  // namespace holdfast::cli
