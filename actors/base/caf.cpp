#include "actors/base/caf.hpp"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include <caf/io/middleman.hpp>
#include <caf/io/network/default_multiplexer.hpp>
#include <caf/io/network/event_handler.hpp>

namespace holdfast {

system_config::system_config() {
  load<caf::io::middleman>();
  set("scheduler.policy", caf::atom("sharing"));           // a string here is silently not taken
  set("scheduler.max-threads", std::size_t{2});            // the path of a cell runs on the multiplexer thread
  set("middleman.max-consecutive-reads", std::size_t{1});  // a second read mostly finds nothing; what is left wakes again
}

using caf::io::network::default_multiplexer;
using caf::io::network::operation;

/// Outlives neither side alone: the handler belongs to the event loop, the watch to its actor.
struct process_watch::control {
  int fd = -1;                                         // open as long as `handler` is registered or the watch lives
  caf::io::network::event_handler* handler = nullptr;  // null once it has fired or was cancelled
  default_multiplexer* loop = nullptr;
  std::function<void()> on_exit;
  ~control() {
    if (fd >= 0) ::close(fd);
  }
};

namespace {

class pidfd_handler final : public caf::io::network::event_handler {
 public:
  pidfd_handler(default_multiplexer& loop, std::shared_ptr<process_watch::control> control)
      : event_handler(loop, control->fd), control_(std::move(control)) {}
  ~pidfd_handler() override { fd_ = caf::io::network::invalid_native_socket; }  // control closes it

  void handle_event(operation) override {
    if (control_->handler == nullptr) return;
    control_->handler = nullptr;
    backend().del(operation::read, control_->fd, this);
    // Where this process adopts what others leave (a subreaper, the first of a container) it is the one to reap; elsewhere: ECHILD.
    siginfo_t ended{};
    (void)::waitid(P_PIDFD, static_cast<id_t>(control_->fd), &ended, WEXITED | WNOHANG);
    if (auto on_exit = std::exchange(control_->on_exit, nullptr)) on_exit();  // it may destroy its watch
  }
  void removed_from_loop(operation) override { delete this; }
  void graceful_shutdown() override {}

 private:
  std::shared_ptr<process_watch::control> control_;
};

}  // namespace

process_watch::process_watch(caf::io::broker* self, unique_fd pidfd, std::function<void()> on_exit)
    : control_(std::make_shared<control>()) {
  control_->fd = pidfd.release();
  control_->loop = static_cast<default_multiplexer*>(&self->parent().backend());
  control_->on_exit = std::move(on_exit);
  auto* handler = new pidfd_handler(*control_->loop, control_);
  control_->handler = handler;
  control_->loop->add(operation::read, control_->fd, handler);
}

process_watch& process_watch::operator=(process_watch&& other) noexcept {
  if (this != &other) {
    cancel();
    control_ = std::move(other.control_);
  }
  return *this;
}

void process_watch::cancel() {
  if (!control_) return;
  control_->on_exit = nullptr;
  if (auto* handler = std::exchange(control_->handler, nullptr)) control_->loop->del(operation::read, control_->fd, handler);
  control_.reset();
}

bool process_watch::send_signal(int number) const {
  return control_ && ::syscall(SYS_pidfd_send_signal, control_->fd, number, nullptr, 0) == 0;
}

}  // namespace holdfast
