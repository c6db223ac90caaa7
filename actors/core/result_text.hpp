// The `text` of a result: what a model should read, within a limit. Losses first, the end state last; what does not fit is left out
// between them, and the text says where to read on.
//
//     [state lost: kernel killed by SIGKILL. Variables and imports are gone; define them again.]
//     <output in written order>
//     [... 91204 of 156740 bytes left out; read on: cell.output cell=c-.. offset=49152; do not run it again ...]
//     <the end of the output>
//     <traceback>   or   Out: 42
//     [display 0: image/png, 41 KB, attached]
//     [cell c-..: ok in 3.2 s]   or   [... still running after 25 s: cell.wait waits, cell.interrupt stops]
//
// Pure: facts in, text out. Collaborators: text_facts (facts of a recorded result), written_output (the output), result_lines (its lines).
// Refuses to exceed the limit: the first and the last line are there within any limit from defaults::text_limit_least on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "actors/core/result_json.hpp"

namespace holdfast::core {

/// Output without a hole, as it was written.
struct written_part {
  std::uint64_t offset = 0;  // of its first byte in the cell's combined output
  std::string text;
};

/// What is at hand of a cell's output, in written order; what lies between two parts is left out of the text and told.
struct written_output {
  std::vector<written_part> parts;  // ascending, never overlapping
  std::uint64_t total = 0;          // bytes of the whole
};

struct display_facts {
  std::uint64_t index = 0;
  std::string mime;  // of its richest form
  std::uint64_t bytes = 0;
  bool attached = false;  // it is in the result's displays[]
  bool is_kept = false;   // if it is not: cell.display has it
  std::string text = {};  // its plain text, unless it is a picture or the cell's value, which is shown already
};

/// The fields of a result that its text tells of; their meaning is result_facts'.
struct text_facts {
  std::string cell;
  storage::cell_status status = storage::cell_status::queued;
  /// Of a final cell from start to end, none if it never started; else since its start, or since it was queued.
  std::optional<std::int64_t> duration_ms;
  std::optional<std::string> value;
  std::optional<link::cell_error> error;
  std::optional<std::int64_t> exit_code;
  std::optional<death_facts> death;
  bool is_per_call = false;
  struct kernel_state {
    std::string reason;
    bool reused = false, restored = false, state_lost = false, state_reset = false, ended = false;
    std::optional<std::string> note;
  };
  std::optional<kernel_state> kernel;
  struct told {
    std::string kind, text;
  };
  std::vector<told> notices;
  std::vector<display_facts> displays;
  written_output output;
};

/// At most `limit` bytes of UTF-8 without escape sequences; lines end in \n, save for the last. `limit` is at least text_limit_least.
std::string result_text(text_facts const& facts, std::size_t limit);

}  // namespace holdfast::core
