// The errors of the protocol and when each comes. Their codes and words are actors/base/errors.hpp's.
#include "actors/front/objects.hpp"

namespace holdfast::front {

std::vector<error_description> const& described_errors() {
  static std::vector<error_description> const errors{
      {error_code::parse_error, "the line is not JSON as this protocol takes it"},
      {error_code::invalid_request, "JSON, but not a request: a batch, no id, no method, an unknown member"},
      {error_code::unknown_method, "no such method"},
      {error_code::invalid_params, "a param is unknown, missing, of the wrong type or out of range; `data.param` names it"},
      {error_code::internal, "a mistake in the daemon"},
      {error_code::not_found, "there is no such session, cell, display, kernel or job"},
      {error_code::cell_conflict, "the cell's id has been used with other code"},
      {error_code::cell_expired, "the cell's record has been trimmed"},
      {error_code::busy, "it has a running or queued cell; or too many requests of this connection are open"},
      {error_code::at_capacity, "no kernel could be had within the admission timeout"},
      {error_code::queue_full, "64 cells of the session wait already"},
      {error_code::start_failed, "no kernel could be started"},
      {error_code::unreachable, "the kernel does not answer"},
      {error_code::too_large, "a line, a source or an object is over its limit"},
      {error_code::store_failed, "the disk failed; the daemon must be looked at"},
      {error_code::kernel_changed, "the session no longer has the kernel of if_kernel"},
      {error_code::cannot_fork, "the session cannot be forked into that one: threads live in it, or that one exists"},
      {error_code::shutting_down, "the daemon or the session is ending; send it again"},
      {error_code::store_full, "no room on the disk or in the store"},
  };
  return errors;
}

}  // namespace holdfast::front
