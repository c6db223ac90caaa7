// Cuts a connection's bytes into lines, in bounded memory: a line beyond the limit is reported once and then skipped to its newline
// without being kept. Pure: time is handed in, bytes come in pieces of any size. Collaborator: unix_server.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::front {

class line_assembler {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  explicit line_assembler(std::size_t limit) : limit_(limit) {}

  /// Takes what was read. Calls `on_line` for every complete line, without its newline and valid during the call only, and
  /// `on_overlong` once for every line beyond the limit. Either may answer false: the rest of the bytes is then dropped.
  void feed(std::string_view bytes, time_point now, std::function<bool(std::string_view)> const& on_line,
            std::function<bool()> const& on_overlong);

  /// When the first byte of the line that is still incomplete came. A skipped line counts as well.
  std::optional<time_point> began_at() const { return began_at_; }
  std::size_t buffered_bytes() const { return line_.capacity(); }

 private:
  std::size_t limit_;
  std::string line_;       // the beginning of an incomplete line, at most `limit_` bytes; empty while skipping
  bool skipping_ = false;  // the current line is over the limit and has been reported
  std::optional<time_point> began_at_;
};

}  // namespace holdfast::front
