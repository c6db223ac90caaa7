// The seam to CAF 0.17: what every actor of ours needs from it and what a newer CAF will change, in one place.
// PORT(caf-1.x): system_config, set_handlers, alarm (delayed messages) and process_watch (multiplexer internals) are what a port touches.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <caf/actor_system_config.hpp>
#include <caf/io/broker.hpp>
#include <caf/send.hpp>

#include "actors/base/log.hpp"
#include "actors/base/unique_fd.hpp"

namespace holdfast {

using steady_time = std::chrono::steady_clock::time_point;
using std::chrono::milliseconds;

/// Settings for our actor systems: I/O loaded, policy `sharing` (idle workers of the default one sleep, 100 us a hop), silent on stdout.
class system_config : public caf::actor_system_config {
 public:
  system_config();
};

/// Wakes an actor for the earliest of the times it asked for (delayed messages cannot be cancelled, so one is kept, not one a request).
struct wake_up {
  std::uint64_t generation = 0;
};

class alarm {
 public:
  /// Makes sure that `self` gets a wake_up at `when` or earlier.
  template <class Actor>
  void at(Actor* self, steady_time when) {
    if (pending_ && *pending_ <= when) return;
    pending_ = when;
    ++generation_;
    auto const now = std::chrono::steady_clock::now();
    // Without a sender: a broker that has quit keeps what it finds in its mailbox, and would keep itself.
    caf::delayed_anon_send(caf::actor_cast<caf::actor>(self), when > now ? when - now : steady_time::duration::zero(),
                           wake_up{generation_});
  }
  /// Whether that time has come, which takes it away; if not, `self` is woken for it.
  template <class Actor>
  bool due(Actor* self, std::optional<steady_time>& when, steady_time now) {
    if (!when) return false;
    if (*when > now) {
      at(self, *when);
      return false;
    }
    when.reset();
    return true;
  }
  /// Whether this wake-up is the latest one; its actor then looks at all of its deadlines and asks again.
  bool take(wake_up const& message) {
    if (message.generation != generation_) return false;
    pending_.reset();
    return true;
  }

 private:
  std::uint64_t generation_ = 0;
  std::optional<steady_time> pending_;  // when the newest wake_up arrives
};

/// CAF's own handlers print to stdout and end the actor: replace them all by log lines. `name` is for the log.
template <class Actor>
void set_handlers(Actor* self, std::string const& name) {
  self->set_default_handler([name](caf::scheduled_actor*, caf::message_view& view) -> caf::result<caf::message> {
    log::error("unexpected-message", "{} got an unexpected message {}", name, caf::to_string(view.move_content_to_message()));
    return caf::make_error(caf::sec::unexpected_message);
  });
  self->set_error_handler([name](caf::scheduled_actor*, caf::error& problem) {
    log::error("actor-error", "{} got an error {}", name, caf::to_string(problem));
  });
  self->set_down_handler([](caf::scheduled_actor*, caf::down_msg&) {});
  self->set_exit_handler([](caf::scheduled_actor* actor, caf::exit_msg& message) { actor->quit(message.reason); });
  self->set_exception_handler([name](caf::scheduled_actor*, std::exception_ptr& pointer) -> caf::error {
    try {
      std::rethrow_exception(pointer);
    } catch (std::exception const& problem) {
      log::error("actor-exception", "{} ended by an exception: {}", name, problem.what());
    } catch (...) {
      log::error("actor-exception", "{} ended by an unknown exception", name);
    }
    return caf::sec::runtime_error;
  });
}

/// Calls back once, on the multiplexer thread, when the process behind a pidfd has exited. Destroying it cancels.
class process_watch {
 public:
  process_watch() = default;
  /// Must be called on the multiplexer thread.
  process_watch(caf::io::broker* self, unique_fd pidfd, std::function<void()> on_exit);
  process_watch(process_watch&&) = default;
  process_watch& operator=(process_watch&& other) noexcept;
  ~process_watch() { cancel(); }

  void cancel();
  explicit operator bool() const { return control_ != nullptr; }
  /// Sends a signal to exactly that process; false when it is gone already.
  bool send_signal(int number) const;

  struct control;

 private:
  std::shared_ptr<control> control_;
};

}  // namespace holdfast

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::wake_up)
