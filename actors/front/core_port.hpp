// How a front reaches the core: the calls of actors/core/gateway_core.hpp as an interface, so that a front can be tested
// over another one. Answers and notifications come back as messages to the front's actor (messages.hpp).
#pragma once

#include <memory>

#include "actors/base/messages.hpp"
#include "actors/base/traffic.hpp"

namespace holdfast::front {

class core_port {
 public:
  virtual ~core_port() = default;
  /// All three: on the multiplexer thread only. Never answers before it returns.
  virtual void route(session_call call) = 0;
  virtual void route(supervisor_call call) = 0;
  virtual void route(connection_closed closed) = 0;

  /// What fronts count of their clients.
  std::shared_ptr<traffic> const clients = std::make_shared<traffic>();
};

using core_handle = std::shared_ptr<core_port>;

}  // namespace holdfast::front
