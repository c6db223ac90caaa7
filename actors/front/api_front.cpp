#include "actors/front/api_front.hpp"

#include <unordered_map>

#include <caf/io/middleman.hpp>

#include "actors/base/caf.hpp"

namespace holdfast::front {
namespace {

/// Calls without notifications share this connection; every other call has one of its own, so that its notifications find it.
constexpr std::uint64_t shared_connection = 0;

class api_front {
 public:
  api_front(caf::io::broker* self, api_options options) : self_(self), options_(std::move(options)) {
    options_.core->route(supervisor_call{{caf::actor_cast<caf::actor>(self_), shared_connection, 0}, await_end{}});
  }

  void on_call(api_call& call) {
    if (is_ended_) return call.done(fail(error_code::shutting_down, "cannot call " + call.method + ": the gateway has ended"));
    auto const request = ++last_request_;
    auto const connection = call.notified ? ++last_connection_ : shared_connection;
    if (call.notified) listeners_.emplace(connection, std::move(call.notified));
    auto at_once = dispatch(*options_.core, options_.calls, call.method, call.params,
                            {caf::actor_cast<caf::actor>(self_), connection, request});
    if (!at_once) {
      open_.emplace(request, open_call{std::move(call.done), call.is_lasting});
      return;
    }
    listeners_.erase(connection);
    call.done(std::move(*at_once));
  }

  void on_answer(answer& answered) {
    auto const found = open_.find(answered.request);
    if (found == open_.end()) return;
    auto call = std::move(found->second);
    open_.erase(found);
    if (answered.connection != shared_connection && !(call.is_lasting && answered.outcome)) {
      listeners_.erase(answered.connection);
      options_.core->route(connection_closed{caf::actor_cast<caf::actor>(self_), answered.connection});
    }
    call.done(std::move(answered.outcome));
  }

  void on_notification(notification const& told) {
    auto const found = listeners_.find(told.connection);
    if (found != listeners_.end()) found->second(told.method, told.params);
  }

  /// Twice: the first one stops new calls, the second one comes behind all that were sent before that.
  void on_gateway_ended(gateway_ended const& told) {
    if (!is_ended_) {
      is_ended_ = true;
      if (options_.on_ended) options_.on_ended(told.why);
      // Without a sender: one that finds this actor ended would keep it alive for ever.
      caf::anon_send(caf::actor_cast<caf::actor>(self_), gateway_ended{});
      return;
    }
    // The core has answered what it took: what is still open never ran. Its callers see their callbacks go.
    open_.clear();
    listeners_.clear();
    self_->quit();
  }

 private:
  struct open_call {
    on_outcome done;
    bool is_lasting = false;
  };

  caf::io::broker* self_;
  api_options options_;
  bool is_ended_ = false;
  std::uint64_t last_request_ = 0;
  std::uint64_t last_connection_ = shared_connection;
  std::unordered_map<std::uint64_t, open_call> open_;         // by request
  std::unordered_map<std::uint64_t, on_notified> listeners_;  // by connection
};

caf::behavior run_api_front(caf::io::broker* self, api_options options) {
  set_handlers(self, "api front");
  auto state = std::make_shared<api_front>(self, std::move(options));
  return {
      [=](api_call& call) { state->on_call(call); },
      [=](answer& message) { state->on_answer(message); },
      [=](notification const& message) { state->on_notification(message); },
      [=](gateway_ended const& told) { state->on_gateway_ended(told); },
  };
}

}  // namespace

caf::actor start_api_front(caf::actor_system& system, api_options options) {
  return system.middleman().spawn_broker(run_api_front, std::move(options));
}

}  // namespace holdfast::front
