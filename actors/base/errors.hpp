// The errors that clients see: one code per kind, each with its name. An error means that nothing ran (docs/protocol.md).
// A cell's own failure is a result, never one of these.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/object.hpp>
#include <tl/expected.hpp>

#include "storage/stores.hpp"

namespace holdfast {

enum class error_code : int {
  parse_error = -32700,
  invalid_request = -32600,
  unknown_method = -32601,
  invalid_params = -32602,
  internal = -32603,
  not_found = 1001,
  cell_conflict = 1002,
  cell_expired = 1003,
  busy = 1004,
  at_capacity = 1005,
  queue_full = 1006,
  start_failed = 1007,
  unreachable = 1008,
  too_large = 1009,
  store_failed = 1010,
  kernel_changed = 1011,
  shutting_down = 1012,
  cannot_fork = 1013,
  store_full = 1014,
};

/// The name in `data.kind`, such as "not_found".
std::string_view to_string(error_code code);
/// Whether the same request may be sent again later with hope.
bool is_retryable(error_code code);

struct error {
  error_code code = error_code::internal;
  std::string message;       // lower case: what failed, the object, found and wanted, the next step
  boost::json::object data;  // beyond kind and retry, which to_json adds
};

template <class T>
using result = tl::expected<T, error>;

inline tl::unexpected<error> fail(error_code code, std::string message, boost::json::object data = {}) {
  return tl::unexpected<error>(error{code, std::move(message), std::move(data)});
}

/// `{code, message, data{kind, retry, ...}}`.
boost::json::object to_json(error const& problem);

/// store_full for `full`, else store_failed.
error from_storage(storage::failure const& failure);

}  // namespace holdfast
