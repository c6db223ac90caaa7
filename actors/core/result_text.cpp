#include "actors/core/result_text.hpp"

#include <algorithm>
#include <numeric>

#include "actors/core/plain_text.hpp"
#include "actors/core/result_lines.hpp"

namespace holdfast::core {

namespace {

/// Stands for all that found no room at all, right above the last lines; its room is set aside first.
constexpr std::string_view rest_left_out = "[... more left out ...]\n";

/// A line shorter than this says too little.
constexpr std::size_t least_line = 40;

void end_line(std::string& text) {
  if (!text.empty() && text.back() != '\n') text += '\n';
}

/// Text that is made block by block, each within the room that is left.
struct space {
  std::size_t room = 0;
  bool something_left_out = false;

  std::string take(std::string block) {
    room -= std::min(room, block.size());
    return block;
  }
};

/// As many of the lines as fit into `limit` bytes, the last of them shortened; then how many more there are.
std::string fit_lines(space& left, std::vector<std::string> const& lines, std::size_t limit, std::string_view what) {
  std::string block;
  limit = std::min(limit, left.room);
  if (lines.empty()) return block;
  if (limit < std::min(lines.front().size() + 1, least_line)) {
    left.something_left_out = true;
    return block;
  }
  for (std::size_t at = 0; at < lines.size(); ++at) {
    auto const more = "[... " + std::to_string(lines.size() - at) + " more " + std::string(what) + " left out ...]\n";
    auto const is_tight = at == 0 && limit < more.size() + 2 * least_line;  // the first line says more than how many follow
    auto const reserved = at + 1 < lines.size() && !is_tight ? more.size() : 0;
    auto const used = block.size() + reserved + 1;
    if (at == 0 || used + std::min(lines[at].size(), 4 * least_line) <= limit) {
      auto const room = limit > used ? limit - used : limit > 0 ? limit - 1 : 0;
      block += (lines[at].size() <= room ? lines[at] : shortened_line(lines[at], room)) + "\n";
      continue;
    }
    if (block.size() + more.size() <= left.room)
      block += more;
    else
      left.something_left_out = true;
    break;
  }
  return left.take(std::move(block));
}

/// Front and end of plain text with a line between them that says how much is missing.
std::string fit_outcome(space& left, outcome_block const& outcome, std::size_t limit) {
  limit = std::min(limit, left.room);
  if (outcome.text.empty()) return {};
  if (outcome.text.size() < limit) {
    auto block = outcome.text;
    end_line(block);
    return left.take(std::move(block));
  }
  auto const mark = [&](std::size_t bytes) {
    return "[... " + std::to_string(bytes) + " bytes of the " + std::string(outcome.what) + " left out ...]\n";
  };
  auto const reserved = mark(outcome.text.size()).size() + 2;  // and the two ends of lines
  if (limit < reserved + least_line) {
    left.something_left_out = true;
    return {};
  }
  auto const room = limit - reserved;
  auto head = plain_head(outcome.text, outcome.end_matters ? room / 4 : room * 3 / 4);
  auto tail = plain_tail(std::string_view(outcome.text).substr(head.raw_bytes), room - head.text.size());
  end_line(head.text);
  end_line(tail.text);
  return left.take(head.text + mark(outcome.text.size() - head.raw_bytes - tail.raw_bytes) + tail.text);
}

/// All parts, with a line for each hole.
std::string whole_output(text_facts const& facts) {
  std::string text;
  std::uint64_t end = 0;
  auto const told_hole = [&](std::uint64_t from, std::uint64_t to) {
    if (from >= to) return;
    end_line(text);
    text += left_out_line(facts, to - from, from) + "\n";
  };
  for (auto const& part : facts.output.parts) {
    told_hole(end, part.offset);
    text += plain(part.text);
    end = part.offset + part.text.size();
  }
  told_hole(end, facts.output.total);
  end_line(text);
  return text;
}

/// Three quarters of the room for the front, the rest for the end, and one line for what lies between them.
std::string fit_output(space& left, text_facts const& facts) {
  auto const& output = facts.output;
  auto const longest_cut = left_out_line(facts, output.total, output.total).size() + 3;  // and three ends of lines
  if (left.room < longest_cut) {
    left.something_left_out = true;
    return {};
  }
  auto const room = left.room - longest_cut;
  plain_part head, tail;
  std::uint64_t from = 0, to = output.total;
  if (auto const& parts = output.parts; !parts.empty()) {
    if (auto const& first = parts.front(); first.offset == 0) {
      head = plain_head(first.text, room * 3 / 4);
      from = head.raw_bytes;
    }
    if (auto const& last = parts.back(); last.offset + last.text.size() == output.total) {
      auto const skip = from > last.offset ? from - last.offset : 0;
      tail = plain_tail(std::string_view(last.text).substr(skip), room - head.text.size());
      to = output.total - tail.raw_bytes;
    }
  }
  end_line(head.text);
  end_line(tail.text);
  return left.take(head.text + (from < to ? left_out_line(facts, to - from, from) + "\n" : "") + tail.text);
}

std::size_t size_of(std::vector<std::string> const& lines) {
  return std::accumulate(lines.begin(), lines.end(), std::size_t{0},
                         [](std::size_t sum, std::string const& line) { return sum + line.size() + 1; });
}

std::string in_lines(std::vector<std::string> const& lines) {
  std::string text;
  for (auto const& line : lines) text += line + "\n";
  return text;
}

}  // namespace

std::string result_text(text_facts const& facts, std::size_t limit) {
  auto const told = lines_told(facts);
  auto const displays = display_lines(facts);
  auto const outcome = outcome_of(facts);
  auto const state = state_lines(facts);
  auto last = last_line(facts);
  if (last.size() > limit / 2) last = last_line(facts, is_detailed::no);
  auto const output = whole_output(facts);

  auto outcome_text = outcome.text;
  end_line(outcome_text);
  auto const needed = size_of(told.lines) + output.size() + outcome_text.size() + size_of(displays) + size_of(state) + last.size();
  if (needed <= limit) return in_lines(told.lines) + output + outcome_text + in_lines(displays) + in_lines(state) + last;

  // In order of importance; the room that each leaves is the next one's. The order in the text is another.
  auto const fixed = last.size() + rest_left_out.size();
  space left{limit > fixed ? limit - fixed : 0};
  std::vector<std::string> const losses(told.lines.begin(), told.lines.begin() + static_cast<std::ptrdiff_t>(told.losses));
  std::vector<std::string> const news(told.lines.begin() + static_cast<std::ptrdiff_t>(told.losses), told.lines.end());
  auto text = fit_lines(left, losses, std::max(left.room / 2, 4 * least_line), "losses");
  auto const above_last = size_of(state) <= left.room / 2 ? left.take(in_lines(state)) : std::string();
  auto const shown_displays = fit_lines(left, displays, left.room / 4, "displays");
  text += fit_lines(left, news, left.room / 4, "notices");
  auto const for_output = std::min(output.size(), left.room / 2);
  auto const shown_outcome = fit_outcome(left, outcome, left.room - for_output);
  text += output.size() <= left.room ? left.take(output) : fit_output(left, facts);
  text += shown_outcome + shown_displays;
  if (left.something_left_out) text += rest_left_out;
  return text + above_last + last;
}

}  // namespace holdfast::core
