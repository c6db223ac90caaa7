// What a recorded result says, read back from its JSON text for result_text: a record is kept once, and its text can be asked for with
// any limit later. Pure; any text is survived. Collaborators: result_json, which wrote it.
#pragma once

#include <string_view>

#include "actors/core/result_text.hpp"

namespace holdfast::core {

/// One of stdout and stderr in a result: whole, or its head, a line about the middle, and its tail.
struct stream_text {
  std::string text;
  std::uint64_t bytes = 0;  // of the whole
};

struct recorded_facts {
  text_facts facts;  // without output
  stream_text out, err;
};

recorded_facts read_text_facts(std::string_view result_json);

}  // namespace holdfast::core
