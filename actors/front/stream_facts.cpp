#include <cstring>

#include "actors/front/outbox.hpp"

namespace holdfast::front {
namespace {

/// The end of the JSON string that begins behind `at`'s quote: the index of its closing quote.
std::size_t string_end(std::string_view text, std::size_t at) {
  while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
  return at;
}

/// How many bytes of UTF-8 an escaped JSON string stands for.
std::uint64_t unescaped_size(std::string_view text) {
  std::uint64_t size = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    auto const* escape = static_cast<char const*>(std::memchr(text.data() + at, '\\', text.size() - at));
    if (escape == nullptr) return size + (text.size() - at);
    auto const plain = static_cast<std::size_t>(escape - text.data()) - at;
    size += plain;
    at += plain;
    if (at + 1 >= text.size() || text[at + 1] != 'u') {
      size += 1;
      at += 2;
      continue;
    }
    unsigned unit = 0;
    for (char digit : text.substr(at + 2, 4))
      unit = unit * 16 + static_cast<unsigned>(digit <= '9' ? digit - '0' : (digit | 32) - 'a' + 10);
    size += unit < 0x80 ? 1 : unit < 0x800 ? 2 : unit >= 0xd800 && unit < 0xe000 ? 2 : 3;  // a pair is 4, each half 2
    at += 6;
  }
  return size;
}

constexpr std::string_view dropped_key = ",\"dropped_bytes\":";

/// The member with which the params end, or where it would have to be put.
struct dropped_member {
  std::size_t at = 0;
  std::uint64_t number = 0;
};
dropped_member find_dropped(std::string_view params) {
  auto const end = params.rfind('}');
  if (end == params.npos) return {params.size(), 0};
  auto const last = params.find_last_not_of("0123456789", end - 1);
  if (last == params.npos || last + 1 == end || !params.substr(0, last + 1).ends_with(dropped_key)) return {end, 0};
  dropped_member found{last + 1 - dropped_key.size(), 0};
  for (char digit : params.substr(last + 1, end - last - 1))
    found.number = found.number * 10 + static_cast<std::uint64_t>(digit - '0');
  return found;
}

}  // namespace

stream_facts read_stream_facts(std::string_view params) {
  // Only strings and depth matter: keys are the strings of depth 1 that a colon follows.
  stream_facts facts;
  int depth = 0;
  std::string_view key;
  for (std::size_t at = 0; at < params.size(); ++at) {
    char const c = params[at];
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (depth == 1 && c == ',') key = {};
    if (c != '"') continue;
    auto const end = string_end(params, at + 1);
    auto const content = params.substr(at + 1, end - at - 1);
    at = end;
    if (depth != 1) continue;
    if (key.empty()) {
      key = content;
    } else if (key == "text") {
      facts.text_bytes = unescaped_size(content);
    } else if (key == "owner" || key == "child" || key == "session" || key == "cell") {
      facts.cell += std::string(key.substr(0, 2)) + "=" + std::string(content) + " ";
    }
  }
  facts.lost_bytes = find_dropped(params).number;
  return facts;
}

std::string with_dropped_bytes(std::string_view params, std::uint64_t dropped) {
  auto const place = find_dropped(params);
  return std::string(params.substr(0, place.at)) + ",\"dropped_bytes\":" + std::to_string(place.number + dropped) + "}";
}

}  // namespace holdfast::front
