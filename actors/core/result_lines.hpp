// The lines in brackets of a result's text: each says one thing that the output does not.
// Pure. What of them fits is result_text.cpp's.
#pragma once

#include <string>
#include <vector>

#include "actors/core/result_text.hpp"

namespace holdfast::core {

/// "killed by SIGKILL", "exited 3": what a kernel did or was done to.
std::string death_in_words(death_facts const& death);

/// What was lost, the loss of state first; then news. `losses` counts the former.
struct told_lines {
  std::vector<std::string> lines;
  std::size_t losses = 0;
};
told_lines lines_told(text_facts const& facts);

/// `[display 0: image/png, 41 KB, attached]`, one each.
std::vector<std::string> display_lines(text_facts const& facts);

/// What the cell ended with: the traceback, or `Out: ` and the value, or the last words of its kernel; plain, or empty.
struct outcome_block {
  std::string text;
  std::string_view what = "value";  // what it is, where some of it is left out
  bool end_matters = false;         // its end says more than its front
};
outcome_block outcome_of(text_facts const& facts);

/// What stands right above the last line: notes on a cell that goes on. May be empty.
std::vector<std::string> state_lines(text_facts const& facts);
/// How the cell ended or stands: the last line, of less than 100 bytes besides its id; without details of less than 32.
enum class is_detailed : bool { no, yes };
std::string last_line(text_facts const& facts, is_detailed detailed = is_detailed::yes);

/// `[... 91204 of 156740 bytes left out; read on: cell.output cell=c-.. offset=49152; do not run it again ...]`
std::string left_out_line(text_facts const& facts, std::uint64_t bytes, std::uint64_t offset);

}  // namespace holdfast::core
