// From a method's name and params to the core, for every front alike: checks them against the table and routes the call.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include <boost/json/object.hpp>

#include "actors/front/core_port.hpp"

namespace holdfast::front {

/// What the table cannot know because the user may set it.
struct call_defaults {
  std::chrono::milliseconds cell_timeout{300'000};     // of a run without timeout_ms
  std::chrono::milliseconds background_after{60'000};  // of a run without background_after_ms
};

/// Answers at once when the request is refused or needs no core; else routes it, and the answer comes as a message to `from.front`.
std::optional<tl::expected<std::string, error>> dispatch(core_port& core, call_defaults const& defaults, std::string_view method,
                                                         boost::json::object const& params, reply_to from);

}  // namespace holdfast::front
