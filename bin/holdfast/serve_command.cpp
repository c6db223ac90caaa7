// serve: this process is the daemon of a home until it is told to stop, by a client or by a signal; kernels live on.
// Signals, log and the words for whoever started it are here; what a daemon does is actors/front/serve.hpp.
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include <spdlog/fmt/fmt.h>

#include "actors/base/config.hpp"
#include "actors/base/home.hpp"
#include "actors/base/log.hpp"
#include "actors/front/serve.hpp"
#include "bin/holdfast/commands.hpp"
#include "bin/holdfast/daemon_start.hpp"
#include "bin/holdfast/exit_codes.hpp"
#include "bin/holdfast/failure.hpp"
#include "bin/holdfast/interrupts.hpp"
#include "bin/holdfast/service.hpp"
#include "bin/holdfast/streams.hpp"

namespace holdfast::cli {

namespace {

/// Tells whoever started us, then lets go: the reader waits for the end of that pipe.
class readiness {
 public:
  explicit readiness(std::optional<int> fd) : fd_(fd.value_or(-1)) {
    if (fd_) ::fcntl(fd_.get(), F_SETFD, FD_CLOEXEC);  // or a nursery would hold it, and the starter wait for that one's end
  }
  void say(std::string const& line) {
    // A starter that has gone away is no reason not to serve.
    while (fd_ && ::write(fd_.get(), line.data(), line.size()) < 0 && errno == EINTR) {
    }
    fd_.reset();
  }
  explicit operator bool() const { return static_cast<bool>(fd_); }

 private:
  unique_fd fd_;
};

/// Calls `stop` at the first signal. A second one ends the process at once: what it did not write is recovered as after a kill.
class signal_thread {
 public:
  signal_thread(interrupts& signals, std::function<void()> stop) : end_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    thread_ = std::thread([this, &signals, stop = std::move(stop)] {
      for (int seen = 0;;) {
        pollfd waiting[] = {{signals.fd(), POLLIN, 0}, {end_.get(), POLLIN, 0}};
        if (::poll(waiting, 2, -1) < 0) continue;
        if (waiting[1].revents != 0) return;
        auto const number = signals.take();
        if (number == 0) continue;
        if (++seen > 1) ::_exit(128 + number);
        log::info("daemon-stopping", "daemon got signal {}", number);
        stop();
      }
    });
  }
  ~signal_thread() {
    ::eventfd_write(end_.get(), 1);
    thread_.join();
  }
  signal_thread(signal_thread const&) = delete;
  signal_thread& operator=(signal_thread const&) = delete;

 private:
  unique_fd end_;  // readable: the thread returns
  std::thread thread_;
};

result<void> serve(settings const& here, readiness& starter) {
  auto const configured = load_config(here.home, current_environment());
  if (!configured) return tl::unexpected(configured.error());
  if (auto const prepared = prepare_home(configured->home); !prepared) return prepared;
  // Opened before the home is held, so that a failing start is in it; one that finds the home taken writes nothing.
  if (auto const opened = log::open(log_of(configured->home)); !opened) return opened;
  for (auto const& name : configured->ignored_variables) log::warn("variable-ignored", "variable {} names no setting", name);

  // Blocked before any thread starts, so that all of them inherit it and signals come to the descriptor alone.
  interrupts signals;
  std::optional<signal_thread> listener;
  auto is_ready = false;
  auto const ended = front::serve(*configured, [&](std::function<void()> stop) {
    listener.emplace(signals, std::move(stop));
    is_ready = true;
    log::info("daemon-ready", "daemon {} serves {}", ::getpid(), configured->home.string());
    if (starter)
      starter.say(ready_line());
    else
      write_err(fmt::format("holdfast: daemon {} serves {}\n", ::getpid(), configured->home.string()));
  });
  listener.reset();
  if (ended)
    log::info("daemon-ended", "daemon {} ended", ::getpid());
  else if (is_ready)
    log::error("daemon-ended", "daemon {} ended: {}", ::getpid(), ended.error().message);
  else if (ended.error().code != error_code::busy)
    log::error("daemon-refused", "daemon {} cannot serve: {}", ::getpid(), ended.error().message);
  log::close();
  return ended;
}

}  // namespace

int execute(settings const& here, serve_arguments const& given) {
  readiness starter(given.ready_fd);
  auto const ended = serve(here, starter);
  if (ended) return exit_ok;
  if (!starter) return show_failure(ended.error(), false);
  starter.say(failed_line(ended.error()));  // whoever started us shows it; our stderr is the log
  return code_of_error(ended.error());
}

}  // namespace holdfast::cli
