// Answers made from the stores and the loaded sessions alone: the status object, the metrics and the notices nobody has seen.
#pragma once

#include <string>
#include <vector>

#include "actors/core/context.hpp"

namespace holdfast::core {

std::string status_json(context const& shared, std::vector<kernel_view> const& kernels);

/// Prometheus text as a JSON string.
std::string metrics_json(context& shared, std::vector<kernel_view> const& kernels);

/// `{items, next}` of notices that neither rode nor were acked, oldest first.
result<std::string> list(context const& shared, list_notices const& what);

/// Forgets these notices; `{acked}` says how many were there.
result<std::string> acknowledge(context& shared, ack_notices const& what);

}  // namespace holdfast::core
