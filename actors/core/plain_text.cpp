#include "actors/core/plain_text.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "actors/link/utf8.hpp"

namespace holdfast::core {

namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";

enum class effect { shown, hidden, to_line_start, back };

/// One character or escape sequence at the front of raw text.
struct token {
  effect what = effect::hidden;
  std::size_t length = 1;
  std::string_view shown = {};
};

bool is_within(std::string_view text, std::size_t at, char first, char last) {
  return at < text.size() && text[at] >= first && text[at] <= last;
}

/// Past parameters, intermediates and the final byte of a control sequence that begins at `at`, behind its introducer.
std::size_t control_sequence_end(std::string_view raw, std::size_t at) {
  while (is_within(raw, at, 0x30, 0x3f)) ++at;
  while (is_within(raw, at, 0x20, 0x2f)) ++at;
  return is_within(raw, at, 0x40, 0x7e) ? at + 1 : at;
}

/// Past the string of a title, a hyperlink and the like: to BEL or ESC \, at most to the end of the line, so that one which is never
/// ended cannot swallow all the rest.
std::size_t string_end(std::string_view raw, std::size_t at) {
  for (; at < raw.size() && raw[at] != '\n'; ++at) {
    if (raw[at] == '\a') return at + 1;
    if (raw[at] == '\x1b') return is_within(raw, at + 1, '\\', '\\') ? at + 2 : at;
  }
  return at;
}

std::size_t escape_length(std::string_view raw) {
  if (raw.size() < 2) return raw.size();
  switch (raw[1]) {
    case '[': return control_sequence_end(raw, 2);
    case ']':
    case 'P':
    case 'X':
    case '^':
    case '_': return string_end(raw, 2);
    default: break;
  }
  std::size_t at = 1;
  while (is_within(raw, at, 0x20, 0x2f)) ++at;
  return is_within(raw, at, 0x30, 0x7e) ? at + 1 : at;
}

token next_token(std::string_view raw) {
  auto const byte = static_cast<unsigned char>(raw[0]);
  if (byte == '\n' || byte == '\t') return {effect::shown, 1, raw.substr(0, 1)};
  if (byte == '\r') return {effect::to_line_start};
  if (byte == '\b') return {effect::back};
  if (byte == 0x1b) return {effect::hidden, escape_length(raw)};
  if (byte < 0x20 || byte == 0x7f) return {};
  auto const length = link::utf8_length(raw);
  if (length == 0) return {effect::shown, 1, replacement};
  if (byte == 0xc2 && static_cast<unsigned char>(raw[1]) < 0xa0)  // the same controls as one character, U+0080 to U+009F
    return {effect::hidden, raw[1] == '\x9b' ? control_sequence_end(raw, 2) : 2};
  return {effect::shown, length, raw.substr(0, length)};
}

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

/// The last state of one line, with its end if it has one.
struct line_state {
  std::string text;
  /// Where in the raw line that state begins.
  std::size_t begin = 0;
};

line_state state_of(std::string_view line) {
  line_state state;
  auto is_at_start = false;  // what comes next is written over what is there
  for (std::size_t at = 0; at < line.size();) {
    auto const each = next_token(line.substr(at));
    if (each.what == effect::to_line_start) {
      is_at_start = true;
    } else if (each.what == effect::back) {
      while (!state.text.empty() && is_continuation(state.text.back())) state.text.pop_back();
      if (!state.text.empty()) state.text.pop_back();
    } else if (each.what == effect::shown) {
      if (is_at_start && each.shown != "\n") {
        state.text.clear();
        state.begin = at;
      }
      is_at_start = false;
      state.text += each.shown;
    }
    at += each.length;
  }
  return state;
}

/// Part of a line is worth showing when whole ones alone would leave more than a quarter of the limit unused.
bool is_worth_splitting(std::size_t used, std::size_t limit) { return used == 0 || limit - used > limit / 4; }

}  // namespace

std::string plain(std::string_view raw) {
  std::string text;
  while (!raw.empty()) {
    auto const end = raw.find('\n');
    auto const line = raw.substr(0, end == raw.npos ? raw.size() : end + 1);
    text += state_of(line).text;
    raw.remove_prefix(line.size());
  }
  return text;
}

plain_part plain_head(std::string_view raw, std::size_t limit) {
  plain_part part;
  while (part.raw_bytes < raw.size()) {
    auto const end = raw.find('\n', part.raw_bytes);
    auto const line = raw.substr(part.raw_bytes, end == raw.npos ? raw.npos : end + 1 - part.raw_bytes);
    auto const state = state_of(line);
    if (part.text.size() + state.text.size() <= limit) {
      part.text += state.text;
      part.raw_bytes += line.size();
      continue;
    }
    if (!is_worth_splitting(part.text.size(), limit)) return part;
    for (auto at = state.begin; at < line.size();) {
      auto const each = next_token(line.substr(at));
      if (part.text.size() + each.shown.size() > limit) {
        part.raw_bytes += at;
        return part;
      }
      part.text += each.shown;
      at += each.length;
    }
    part.raw_bytes += line.size();  // only a line that was written over by single steps back comes here
    return part;
  }
  return part;
}

plain_part plain_tail(std::string_view raw, std::size_t limit) {
  std::vector<std::string> lines;  // the last one first
  std::size_t size = 0, begin = raw.size();
  while (begin > 0) {
    auto const before = begin < 2 ? raw.npos : raw.rfind('\n', begin - 2);
    auto const from = before == raw.npos ? 0 : before + 1;
    auto const line = raw.substr(from, begin - from);
    auto state = state_of(line);
    if (size + state.text.size() <= limit) {
      size += state.text.size();
      begin = from;
      lines.push_back(std::move(state.text));
      continue;
    }
    if (!is_worth_splitting(size, limit)) break;
    auto excess = size + state.text.size() - limit;
    while (excess < state.text.size() && is_continuation(state.text[excess])) ++excess;
    std::size_t passed = 0;
    auto at = state.begin;
    while (at < line.size() && passed < excess) {
      auto const each = next_token(line.substr(at));
      passed += each.shown.size();
      at += each.length;
    }
    lines.push_back(state.text.substr(excess));
    begin = from + at;
    break;
  }
  plain_part part;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) part.text += *line;
  part.raw_bytes = raw.size() - begin;
  return part;
}

std::string shortened_line(std::string_view text, std::size_t limit) {
  constexpr std::string_view mark = " ... ";
  auto line = plain(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  if (line.size() <= limit) return line;
  if (limit <= mark.size()) return plain_head(line, limit).text;
  auto const room = limit - mark.size();
  auto const head = plain_head(line, room * 2 / 3).text;
  return head + std::string(mark) + plain_tail(line, room - head.size()).text;
}

}  // namespace holdfast::core
