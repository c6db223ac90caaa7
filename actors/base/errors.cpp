#include "actors/base/errors.hpp"

namespace holdfast {

std::string_view to_string(error_code code) {
  switch (code) {
    case error_code::parse_error: return "parse_error";
    case error_code::invalid_request: return "invalid_request";
    case error_code::unknown_method: return "unknown_method";
    case error_code::invalid_params: return "invalid_params";
    case error_code::internal: return "internal";
    case error_code::not_found: return "not_found";
    case error_code::cell_conflict: return "cell_conflict";
    case error_code::cell_expired: return "cell_expired";
    case error_code::busy: return "busy";
    case error_code::at_capacity: return "at_capacity";
    case error_code::queue_full: return "queue_full";
    case error_code::start_failed: return "start_failed";
    case error_code::unreachable: return "unreachable";
    case error_code::too_large: return "too_large";
    case error_code::store_failed: return "store_failed";
    case error_code::kernel_changed: return "kernel_changed";
    case error_code::shutting_down: return "shutting_down";
    case error_code::cannot_fork: return "cannot_fork";
    case error_code::store_full: return "store_full";
  }
  return "internal";
}

bool is_retryable(error_code code) {
  switch (code) {
    case error_code::busy:
    case error_code::at_capacity:
    case error_code::queue_full:
    case error_code::unreachable:
    case error_code::shutting_down:  // by the next daemon
    case error_code::store_full:     // once there is room
      return true;
    default: return false;
  }
}

boost::json::object to_json(error const& problem) {
  boost::json::object data = problem.data;
  data["kind"] = to_string(problem.code);
  data["retry"] = is_retryable(problem.code);
  boost::json::object json;
  json["code"] = static_cast<int>(problem.code);
  json["message"] = problem.message;
  json["data"] = std::move(data);
  return json;
}

error from_storage(storage::failure const& failure) {
  auto const code = failure.code == storage::failure_code::full ? error_code::store_full : error_code::store_failed;
  return {code, failure.text, {}};
}

}  // namespace holdfast
