// From an embedder's configuration to the gateway's, with the precedence: given here, environment, file, default.
#pragma once

#include "actors/base/config.hpp"
#include "holdfast/holdfast.hpp"

namespace holdfast::front {

/// Errors: invalid_params, naming the key, as for the environment and the file.
result<config> merge_settings(gateway::config const& given);

}  // namespace holdfast::front
