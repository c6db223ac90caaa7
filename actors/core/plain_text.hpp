// What would a terminal show of this output, and which part of that fits? Escape sequences (colours, cursor moves, titles) and other
// control characters are taken out; of a line that was written over (progress bars) the last state stays.
// Pure. Bytes that are no UTF-8 become U+FFFD, and no character is split. Refuses to model a screen: a line once ended stays.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::core {

/// The whole of it; a last line without its end stays without.
std::string plain(std::string_view raw);

struct plain_part {
  std::string text;
  /// How many bytes of the raw text it stands for, counted from the end that was asked for.
  std::size_t raw_bytes = 0;
};

/// As much of the front as fits into `limit` bytes once it is plain: whole lines, unless that would waste much of the limit.
plain_part plain_head(std::string_view raw, std::size_t limit);
/// The same of the end.
plain_part plain_tail(std::string_view raw, std::size_t limit);

/// At most `limit` bytes of one line, whose front and end stay when its middle must go. Line ends in it become spaces.
std::string shortened_line(std::string_view text, std::size_t limit);

}  // namespace holdfast::core
