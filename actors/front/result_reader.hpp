// From the JSON of answers and notifications to the values of the embedding API. Pure. Fields that are missing stay empty: the
// core makes these objects, and later versions only add to them.
#pragma once

#include <string>
#include <string_view>

#include "holdfast/holdfast.hpp"

namespace holdfast::front {

cell_result read_result(std::string json_text);

/// An `event` notification's params.
event read_event(std::string json_text);
/// The notice in an event of kind `notice`; its details hold the notice's own fields.
notice read_notice(std::string_view event_json);

struct output_piece {
  std::string stream, text;
  std::uint64_t offset = 0;
};
/// A `cell.stream` notification's params.
output_piece read_output_piece(std::string_view json_text);

}  // namespace holdfast::front
