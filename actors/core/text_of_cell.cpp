#include "actors/core/text_of_cell.hpp"

#include <algorithm>

#include "actors/base/clock.hpp"
#include "actors/base/defaults.hpp"
#include "actors/core/output_log.hpp"

namespace holdfast::core {

namespace {

/// Of the tail of a stream in a result, what is certainly behind its line about the middle.
constexpr std::size_t certain_tail = defaults::stream_tail - 16;

std::string_view without_split_character(std::string_view text) {
  while (!text.empty() && (static_cast<unsigned char>(text.front()) & 0xc0) == 0x80) text.remove_prefix(1);
  return text;
}

/// One text for the chunks of either stream that follow each other.
void add_page(written_output& written, output_page const& page) {
  for (auto const& each : page.chunks) {
    auto& parts = written.parts;
    if (!parts.empty() && parts.back().offset + parts.back().text.size() == each.offset)
      parts.back().text += each.text;
    else
      parts.push_back({each.offset, each.text});
  }
}

/// Begins behind the first end of a line, so that the front is neither half an escape sequence nor half a progress bar.
void add_tail(written_output& written, output_page page) {
  if (!page.chunks.empty()) {
    auto& first = page.chunks.front();
    auto const end = first.text.find_first_of("\n\r");
    auto const kept = end == first.text.npos ? without_split_character(first.text) : std::string_view(first.text).substr(end + 1);
    auto const cut = first.text.size() - kept.size();
    first.offset += cut;
    first.text.erase(0, cut);
  }
  add_page(written, page);
}

/// The end of what a stream wrote beyond the `in_file` bytes of it that the file holds.
std::string_view rest_of(stream_text const& stream, std::uint64_t in_file) {
  if (stream.bytes <= in_file) return {};
  auto const wanted = std::min<std::uint64_t>(stream.bytes - in_file, certain_tail);
  auto const text = std::string_view(stream.text);
  return without_split_character(text.substr(text.size() - std::min<std::size_t>(text.size(), wanted)));
}

}  // namespace

written_output read_written(std::filesystem::path const& output_file, recorded_facts const& recorded, std::uint64_t total,
                            std::size_t limit) {
  output_log log(output_file, defaults::output_kept);
  written_output written;
  written.total = std::max(total, log.end());
  auto const window = std::max(defaults::text_window_least, 4 * limit);
  auto const front = log.read(0, window);
  add_page(written, front);
  if (front.next_offset < log.end()) {
    auto const from = std::max(front.next_offset, log.end() - std::min<std::uint64_t>(log.end(), window));
    auto const back = log.read(from, window);
    if (from == front.next_offset)
      add_page(written, back);
    else
      add_tail(written, back);
  }
  auto rest = std::string(rest_of(recorded.out, log.bytes(link::output_stream::out)));
  rest += rest_of(recorded.err, log.bytes(link::output_stream::err));
  auto const seen = written.parts.empty() ? 0 : written.parts.back().offset + written.parts.back().text.size();
  if (!rest.empty() && written.total > seen) {
    auto const room = written.total - seen;
    if (rest.size() > room) rest = std::string(without_split_character(std::string_view(rest).substr(rest.size() - room)));
    output_page const page{{{link::output_stream::out, written.total - rest.size(), std::move(rest)}}, {}, 0};
    add_page(written, page);
  }
  return written;
}

std::string text_of(storage::cell_record const& row, std::string_view result_json, std::filesystem::path const& output_file,
                    std::size_t limit) {
  auto recorded = read_text_facts(result_json);
  auto& facts = recorded.facts;
  if (!storage::is_final(row.status)) facts.duration_ms = now_ms() - (row.started_at != 0 ? row.started_at : row.queued_at);
  facts.output = read_written(output_file, recorded, row.output_bytes, limit);
  return result_text(facts, limit);
}

}  // namespace holdfast::core
