#include "actors/link/relay_link.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::link {

namespace {

constexpr std::size_t trips_most = 3;  // at once: one waits there, one carries what is urgent, one what came meanwhile

}  // namespace

void relay_link::open(attach message) {
  close();
  is_open_ = true;
  attach_ = std::move(message);
  start_trip();
}

void relay_link::close() {
  // What is underway may still carry its frames in; the kernel drops what comes twice, and what they bring is brought again.
  underway_.clear();
  is_open_ = attached_ = waits_ = false;
  carried_ = 0;
}

void relay_link::start_trip() {
  trip next;
  next.number = ++trips_;
  next.message = attach_;
  next.message.ack = recorded_;
  if (had_hello_) {
    window_.resume_same(0, 0);  // all of it again: which trip arrives first is not known
    while (auto const frame = window_.take_unsent()) {
      append(next.frames, frame->seq, window_.ack(), frame->payload);
      carried_ = frame->seq;
    }
    window_.ack_sent();
  }
  underway_.insert(next.number);
  start_(std::move(next));
}

void relay_link::pump() {
  if (!attached_ || underway_.size() >= trips_most) return;
  auto const is_new = window_.next_seq() > carried_ + 1 && window_.unacked_frames() > 0;
  // While something that came is not recorded, another trip would only bring it again.
  auto const may_wait = underway_.empty() && window_.ack() >= window_.received();
  if (is_new || (waits_ && may_wait)) start_trip();
}

void relay_link::look() {
  if (attached_ && underway_.empty()) start_trip();
}

void relay_link::record(std::uint64_t seq) {
  recorded_ = std::max(recorded_, seq);
  window_.record(seq);
}

/// Whether it brought us further.
bool relay_link::take(std::string const& frames, std::vector<event>& events) {
  decoder bytes;
  bytes.feed(frames);
  auto first = bytes.next();
  if (!first) return false;
  auto const* opening = std::get_if<frame>(&*first);
  auto answer = opening ? parse_hello(opening->payload) : tl::unexpected<std::string>("over-long handshake");
  if (!answer) {
    events.emplace_back(broken{answer.error()});
    return false;
  }
  if (auto* no = std::get_if<refused>(&*answer)) {
    events.emplace_back(std::move(*no));
    return false;
  }
  auto const unacked = window_.unacked_frames();
  auto const received = window_.received();
  auto said = std::move(std::get<hello>(*answer));
  if (had_hello_)
    window_.resume_same(said.ack, said.first);
  else
    window_ = window::fresh(recorded_, said.ack, said.first);
  had_hello_ = true;
  auto const is_first = !std::exchange(attached_, true);
  if (is_first) events.emplace_back(std::move(said));
  while (auto item = bytes.next()) {
    auto const [seq, ack] = std::visit([](auto const& header) { return std::pair{header.seq, header.ack}; }, *item);
    switch (window_.on_frame(seq, ack)) {
      case window::receipt::fresh: std::visit([&](auto& whole) { events.emplace_back(std::move(whole)); }, *item); break;
      case window::receipt::duplicate: break;
      case window::receipt::gap: events.emplace_back(broken{"frames are missing before seq " + std::to_string(seq)}); return false;
    }
  }
  return is_first || window_.unacked_frames() < unacked || window_.received() > received;
}

std::vector<event> relay_link::on_brought(std::uint64_t trip_number, tl::expected<brought, std::string> outcome) {
  std::vector<event> events;
  if (underway_.erase(trip_number) == 0) return events;
  // Of an earlier one it is no news how it ended: the newest took its connection over.
  auto const is_newest = trip_number == trips_;
  // All that is not acked goes again with the next one.
  if (underway_.empty()) carried_ = 0;
  if (!outcome) {
    if (is_newest) events.emplace_back(broken{std::move(outcome.error())});
    return events;
  }
  auto const came_further = take(outcome->frames, events);
  if (outcome->end == brought::ending::gone) {
    events.emplace_back(gone{});
    return events;
  }
  if (!is_newest) return events;
  jobs_ = outcome->jobs;
  waits_ = outcome->cells > 0 || outcome->requests > 0;
  // A next one must not be started at once when nothing changes.
  auto const is_stuck = !came_further && underway_.empty() && window_.unacked_frames() > 0;
  if (outcome->end != brought::ending::done)
    events.emplace_back(broken{outcome->message.empty() ? "the kernel closed the connection" : std::move(outcome->message)});
  else if (is_stuck)
    events.emplace_back(broken{"the kernel takes nothing"});
  return events;
}

}  // namespace holdfast::link
