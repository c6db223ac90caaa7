#include "bin/holdfast/catch_up.hpp"

#include "bin/holdfast/fields.hpp"

namespace holdfast::cli {

namespace {
constexpr std::chrono::milliseconds page_timeout{30'000};
constexpr std::int64_t page_bytes = 256 * 1024;
}  // namespace

catch_up::outcome catch_up::add(boost::json::object const& piece, front::client& connection,
                                front::client::on_notification const& notified) {
  if (!view_.shows_output() || !field(piece, "text")) return outcome::fine;
  auto const offset = static_cast<std::uint64_t>(number(piece, "offset"));
  if (offset > shown_) {
    if (auto const came = to(offset, connection, notified); came != outcome::fine) return came;
  }
  return show(piece);
}

catch_up::outcome catch_up::to(std::uint64_t end, front::client& connection, front::client::on_notification const& notified) {
  if (!view_.shows_output()) return outcome::fine;
  while (shown_ < end) {
    auto const before = shown_;
    auto const read = read_page(connection, notified);
    if (read.came != outcome::fine) return read.came;
    if (read.problem || shown_ == before) skip_to(end);
  }
  return outcome::fine;
}

catch_up::page catch_up::read_page(front::client& connection, front::client::on_notification const& notified) {
  page read;
  auto params = asks_;
  params["offset"] = shown_;
  params["limit"] = page_bytes;
  auto const answer = connection.call("cell.output", std::move(params), page_timeout, notified);
  if (!answer) {
    read.problem = answer.error();
    if (flag(answer.error().data, "closed") || flag(answer.error().data, "timeout")) read.came = outcome::connection_lost;
    return read;
  }
  auto const* output = answer->if_object();
  if (!output) return read;
  if (auto const* chunks = array_in(*output, "chunks")) {
    for (auto const& chunk : *chunks) {
      if (!chunk.is_object()) continue;
      skip_to(static_cast<std::uint64_t>(number(chunk.get_object(), "offset")));
      if (read.came = show(chunk.get_object()); read.came != outcome::fine) return read;
    }
  }
  skip_to(static_cast<std::uint64_t>(number(*output, "next_offset")));
  read.is_final = flag(*output, "final");
  read.has_more = static_cast<std::uint64_t>(number(*output, "total_bytes")) > shown_;
  return read;
}

catch_up::outcome catch_up::show(boost::json::object const& piece) {
  auto const offset = static_cast<std::uint64_t>(number(piece, "offset"));
  auto words = text(piece, "text");
  if (offset + words.size() <= shown_) return outcome::fine;
  words.remove_prefix(shown_ > offset ? shown_ - offset : 0);
  shown_ = offset + text(piece, "text").size();
  return view_.output(text(piece, "stream"), words) ? outcome::fine : outcome::reader_gone;
}

void catch_up::skip_to(std::uint64_t offset) {
  if (offset <= shown_) return;
  view_.left_out(offset - shown_);
  shown_ = offset;
}

}  // namespace holdfast::cli
