#include "actors/env/per_call_output.hpp"

#include <algorithm>
#include <utility>

#include "actors/base/defaults.hpp"
#include "actors/link/utf8.hpp"

namespace holdfast::env {

void per_call_output::add(link::output_stream which, std::string_view bytes) {
  auto& unfinished = of(which).unfinished;
  unfinished += bytes;
  auto rest = unfinished.substr(unfinished.size() - link::cut_short(unfinished));
  unfinished.resize(unfinished.size() - rest.size());
  auto text = link::is_utf8(unfinished) ? std::move(unfinished) : link::to_utf8(unfinished);
  unfinished = std::move(rest);
  add_text(which, std::move(text));
}

void per_call_output::add_text(link::output_stream which, std::string text) {
  if (text.empty()) return;
  auto& stream = of(which);
  auto const offset = streams_[0].bytes + streams_[1].bytes;
  stream.bytes += text.size();
  if (offset >= defaults::output_kept) {
    stream.newest += text;
    if (stream.newest.size() > 2 * defaults::stream_tail) stream.newest.erase(0, stream.newest.size() - defaults::stream_tail);
    return;
  }
  waiting_ += text.size();
  // The piece that crosses the limit is sent whole: its end is what comes before the newest.
  if (!ready_.empty() && ready_.back().which == which && ready_.back().offset + ready_.back().text.size() == offset)
    ready_.back().text += text;
  else
    ready_.push_back({which, offset, std::move(text)});
}

per_call_output::pieces per_call_output::finish() {
  for (auto const which : {link::output_stream::out, link::output_stream::err})
    add_text(which, link::to_utf8(std::exchange(of(which).unfinished, {})));
  auto last = take();
  auto end = streams_[0].bytes + streams_[1].bytes;
  auto const tail = last.size();
  for (auto const which : {link::output_stream::err, link::output_stream::out}) {
    auto& newest = of(which).newest;
    while (!newest.empty() && (static_cast<unsigned char>(newest.front()) & 0xc0) == 0x80) newest.erase(0, 1);
    if (newest.empty()) continue;
    end -= newest.size();
    last.insert(last.begin() + static_cast<std::ptrdiff_t>(tail), {which, end, std::move(newest)});
  }
  return last;
}

}  // namespace holdfast::env
