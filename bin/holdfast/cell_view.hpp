// Shows a cell on this terminal: its output as it comes, then what a human must know, losses first and the end state last.
// The text is made by render_result, apart from the writing. With --json nothing is shown but the one result document.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json/object.hpp>

#include "bin/holdfast/arguments.hpp"

namespace holdfast::cli {

/// What comes after a cell's output.
struct rendered_result {
  std::string before;  // stderr: notices, a lost state
  std::string value;   // stdout
  std::string after;   // stderr: the traceback, how the cell ended unless it is ok
};
/// `home_flag` as given with --home, for the commands that it names.
rendered_result render_result(boost::json::object const& result, std::string_view home_flag = {});

/// "holdfast wait CELL", with the options that it needs to find that cell again.
std::string come_back_command(std::string_view home_flag, scope const& where, std::string_view cell);

class cell_view {
 public:
  enum class mode { everything, output_only, json };
  explicit cell_view(mode what, std::string home_flag = {}) : mode_(what), home_flag_(std::move(home_flag)) {}

  /// Whether output is wanted at all.
  bool shows_output() const { return mode_ != mode::json; }
  /// False once nobody reads stdout.
  bool output(std::string_view stream, std::string_view text);
  void left_out(std::uint64_t bytes);
  /// So that our own lines do not stick to the cell's last one.
  void begin_line();
  /// The end, or as far as it came.
  void result(boost::json::object const& result);

 private:
  mode mode_;
  std::string home_flag_;
  bool at_line_begin_ = true;   // of the terminal, taking stdout and stderr as one
  bool out_line_begin_ = true;  // of stdout alone, which may go elsewhere
};

}  // namespace holdfast::cli
