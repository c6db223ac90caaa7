// The daemon: a gateway that listens. Used by the executable, which keeps signals, arguments and the log to itself.
#pragma once

#include <functional>

#include "actors/base/config.hpp"

namespace holdfast::front {

/// Runs a daemon until it is told to end, by a client or through `stop`. Once it listens, `on_ready` is called with a function that
/// ends it from any thread, keeping the kernels, and is valid until this returns. Errors: those of a start, and why it
/// ended unasked.
result<void> serve(config const& settings, std::function<void(std::function<void()> stop)> const& on_ready);

}  // namespace holdfast::front
