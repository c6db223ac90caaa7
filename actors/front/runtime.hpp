// A gateway in this process, put together: actor system, core, the `api` front for calls from here, unix server and metrics if wanted.
// Used by gateway.cpp (embedding) and serve.cpp (the daemon). Collaborators: the core through core_port, api_front, unix_server, metrics_server.
// Refuses to know what a call means: that is the method table's.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "actors/base/caf.hpp"
#include "actors/base/config.hpp"
#include "actors/env/exec_environment.hpp"
#include "actors/front/api_front.hpp"
#include "actors/front/core_port.hpp"

namespace holdfast::front {

class runtime {
 public:
  struct options {
    config settings;
    bool listen = false;
    /// Starts the core; the real one unless a test brings its own.
    std::function<result<core_handle>(caf::actor_system&, config const&)> start_core;
    std::vector<env::exec_registration> environments = {};  // for the real one
  };

  /// Errors: those of the home, the lock, the stores and the sockets.
  static result<std::unique_ptr<runtime>> start(options given);
  /// Stops, keeping the kernels.
  ~runtime();

  /// Any thread. `done` is called once, on the multiplexer thread, or destroyed uncalled when the gateway has ended; `notified` before it,
  /// for the notifications of this call. Neither may block or throw.
  void call(std::string method, boost::json::object params, on_outcome done, on_notified notified = {});
  /// The same, but its notifications go on after the answer: event.subscribe.
  void subscribe(boost::json::object params, on_outcome done, on_notified notified);

  /// Asks the core to end and waits for it; at once when it has ended already.
  void stop(bool end_kernels);
  /// Blocks until the gateway has ended: by stop(), by a client's shutdown, or for the reason that it answers.
  result<void> wait_until_ended();

 private:
  runtime() = default;
  /// From now on it hears of the end, however soon that comes.
  void adopt(caf::actor& place, caf::actor front);
  void send(api_call call);
  void on_ended(std::optional<error> const& why);

  system_config actor_config_;
  std::unique_ptr<caf::actor_system> system_;
  core_handle core_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_; api_ does not change once start() has returned.
  caf::actor api_;
  caf::actor server_;      // empty when not listening
  caf::actor metrics_;     // the same
  bool is_ended_ = false;  // gateway_ended has come to a front
  std::optional<error> why_ended_;
};

/// The core of actors/core/gateway_core.hpp.
result<core_handle> start_real_core(caf::actor_system& system, config const& settings,
                                    std::vector<env::exec_registration> const& environments = {});

}  // namespace holdfast::front
