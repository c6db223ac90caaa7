// The front for calls from this process: a broker that turns each into the same checked request as a client's line, and its answer
// into one call back. One message in, one callback out. Collaborators: dispatch, core_port; runtime owns it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>
#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/allowed_unsafe_message_type.hpp>

#include "actors/base/errors.hpp"
#include "actors/front/core_port.hpp"
#include "actors/front/dispatch.hpp"

namespace holdfast::front {

using on_outcome = std::function<void(tl::expected<std::string, error>)>;
using on_notified = std::function<void(std::string_view method, std::string const& params)>;

struct api_call {
  std::string method;
  boost::json::object params;
  on_outcome done;          // once, or destroyed uncalled when the gateway has ended
  on_notified notified;     // may be empty
  bool is_lasting = false;  // notifications go on after the answer
};

struct api_options {
  core_handle core;
  call_defaults calls;
  std::function<void(std::optional<error> const& why)> on_ended;  // on the multiplexer thread
};

/// Takes api_call messages until gateway_ended; then answers what is open and quits.
caf::actor start_api_front(caf::actor_system& system, api_options options);

}  // namespace holdfast::front

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::front::api_call)
