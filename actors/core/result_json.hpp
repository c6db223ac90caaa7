// The result object of docs/protocol.md as JSON text, from values. Pure: no clock, no store.
// The stored text has no `replayed` field; with_replayed puts it in when it is answered.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "actors/link/messages.hpp"
#include "storage/records.hpp"

namespace holdfast::core {

/// The end of the kernel during this cell.
struct death_facts {
  std::string cause = "unknown";  // exit signal oom unresponsive unknown
  std::optional<std::string> signal;
  std::optional<std::int64_t> exit_code;
  std::string log_tail;
};

/// The kernel as this cell met it.
struct kernel_facts {
  kernel_id kernel;
  std::int32_t pid = 0;
  std::string environment;
  std::string python;
  std::string reason = "first";  // first reused restored reset died tools_changed environment_changed
  bool state_lost = false;       // variables of earlier cells are gone, or will be for the next one
  bool state_reset = false;
  bool ended = false;  // the kernel ended with this cell
  std::uint64_t execution_count = 0;
  std::optional<std::string> note;
  bool restored = false;       // it was given the saved namespace of an earlier kernel before this cell
  std::string skipped = "[]";  // then: what of that could not be restored, as JSON text
};

struct result_facts {
  session_key key;
  storage::cell_record row;
  link::captured out, err;
  std::optional<std::string> value;
  std::vector<link::display> displays;  // as they are shown inline
  std::optional<link::cell_error> error;
  std::optional<std::int64_t> exit_code;
  std::optional<death_facts> death;
  std::optional<kernel_facts> kernel;
  bool is_per_call = false;  // it ran without a kernel, in an interpreter of its own
  std::vector<storage::notice_record> notices;
};

std::string result_json(result_facts const& facts);

/// `text` with `"replayed": ...` as its first field.
std::string with_replayed(std::string_view text, bool replayed);

/// `result` with `"text": ...` as its last field.
std::string with_text(std::string result, std::string_view text);

/// The notice as an object: id, kind, text, at, details.
std::string notice_json(storage::notice_record const& notice);

/// Head, the line that says how much is missing, tail.
std::string joined(link::captured const& stream);

}  // namespace holdfast::core
