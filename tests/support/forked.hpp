// A part of a test in a process of its own: to be killed, to be another user, or to hold what the test's process must not.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <utility>

namespace holdfast::test {

/// A forked child that ends with what `body` returns; killed and reaped with the object. It must not use Catch's macros.
class forked {
 public:
  explicit forked(std::function<int()> const& body) {
    std::cout.flush();  // or the child writes it as well
    pid_ = ::fork();
    if (pid_ == -1) throw std::runtime_error("cannot fork");
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::_exit(body());
    }
  }
  forked(forked const&) = delete;
  forked& operator=(forked const&) = delete;
  ~forked() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  pid_t pid() const { return pid_; }

  /// The wait status once it has ended.
  int wait() {
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return status;
  }
  /// Its exit code, or minus the signal's number.
  int exit_code() {
    int const status = wait();
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t pid_;  // -1 once reaped
};

/// Runs `body` as an unprivileged user when this is root (root passes every permission check); -1000 when that cannot be.
inline int as_nobody(std::function<int()> const& body) {
  forked child([&] {
    if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) return 99;
    return body();
  });
  int const code = child.exit_code();
  return code == 99 ? -1000 : code;
}

/// A pipe that one process uses to wait for another.
class gate {
 public:
  gate() {
    if (::pipe(ends_) == -1) throw std::runtime_error("cannot make a pipe");
  }
  gate(gate const&) = delete;
  gate& operator=(gate const&) = delete;
  ~gate() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  void open() { (void)!::write(ends_[1], "x", 1); }
  /// False when nobody opens it in time, as after a crash of the other side.
  bool wait(int timeout_ms = 30'000) {
    pollfd watched{ends_[0], POLLIN, 0};
    char byte = 0;
    return ::poll(&watched, 1, timeout_ms) == 1 && ::read(ends_[0], &byte, 1) == 1;
  }

 private:
  int ends_[2];
};

}  // namespace holdfast::test
