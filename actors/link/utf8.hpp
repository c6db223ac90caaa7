// What is UTF-8 and what is not: whoever writes JSON or takes text from a file of a dead process asks here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::link {

/// The length (1 to 4) of the character that `text` begins with; 0 if those bytes are no character: cut short, overlong, a
/// surrogate or above U+10FFFF.
inline std::size_t utf8_length(std::string_view text) {
  auto const byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  auto const continues = [&](std::size_t i) { return (byte(i) & 0xc0) == 0x80; };
  auto const lead = byte(0);
  if (text.empty()) return 0;
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead < 0xe0) return continues(1) ? 2 : 0;
  if (lead >= 0xe0 && lead < 0xf0) {
    if (!continues(1) || !continues(2)) return 0;
    if (lead == 0xe0 && byte(1) < 0xa0) return 0;
    if (lead == 0xed && byte(1) >= 0xa0) return 0;
    return 3;
  }
  if (lead >= 0xf0 && lead < 0xf5) {
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    if (lead == 0xf0 && byte(1) < 0x90) return 0;
    if (lead == 0xf4 && byte(1) >= 0x90) return 0;
    return 4;
  }
  return 0;
}

/// Whether all of `text` is UTF-8.
inline bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    auto const length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

/// `text` with every byte that is not UTF-8 replaced.
inline std::string to_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    auto const length = utf8_length(text);
    if (length == 0)
      out += "\xef\xbf\xbd";
    else
      out += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

/// Bytes at the end of `text` that may begin a character of which the rest is still to come, at most 3.
inline std::size_t cut_short(std::string_view text) {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    auto const byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xc0) == 0x80) continue;
    std::size_t const length = byte >= 0xf0 && byte < 0xf5 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 1;
    return byte < 0xf5 && length > back ? back : 0;
  }
  return 0;
}

}  // namespace holdfast::link
