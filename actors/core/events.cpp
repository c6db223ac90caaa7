#include "actors/core/events.hpp"

#include <algorithm>

#include <caf/send.hpp>

#include "actors/base/clock.hpp"
#include "actors/base/defaults.hpp"
#include "actors/core/key_json.hpp"
#include "actors/link/json_writer.hpp"

namespace holdfast::core {

bool event_hub::wants(subscriber const& each, event const& what) {
  if (each.owner && *each.owner != what.key.owner) return false;
  return each.kinds.empty() || std::find(each.kinds.begin(), each.kinds.end(), what.kind) != each.kinds.end();
}

std::string event_hub::params_of(event const& what) {
  link::json_writer text;
  text.number("seq", what.seq).text("at", rfc3339(what.at)).text("kind", what.kind);
  return write_key(text, what.key).json("details", what.details).take();
}

void event_hub::publish(std::string_view kind, session_key const& key, std::string details) {
  metrics_.on_event(kind, details);
  ring_.push_back({++seq_, now_ms(), std::string(kind), key, std::move(details)});
  if (ring_.size() > defaults::event_ring) ring_.pop_front();
  for (auto const& each : subscribers_)
    if (wants(each, ring_.back()))
      caf::anon_send(each.to.front, notification{each.to.connection, "event", params_of(ring_.back())});
}

event_hub::subscribed event_hub::subscribe(reply_to const& to, subscribe_events const& wanted) {
  unsubscribe(to.front, to.connection);
  subscriber made{to, wanted.types, wanted.owner};
  subscribed answer{seq_, 0};
  if (wanted.since) {
    auto const since = std::max(*wanted.since, base_);  // of an earlier daemon: all of this one's
    auto const oldest = ring_.empty() ? seq_ + 1 : ring_.front().seq;
    if (since + 1 < oldest) answer.missed = oldest - since - 1;
    for (auto const& each : ring_)
      if (each.seq > since && wants(made, each)) caf::anon_send(to.front, notification{to.connection, "event", params_of(each)});
  }
  metrics_.on_events_lost(answer.missed);
  subscribers_.push_back(std::move(made));
  return answer;
}

void event_hub::unsubscribe(caf::actor const& front, std::uint64_t connection) {
  std::erase_if(subscribers_, [&](auto const& each) { return each.to.front == front && each.to.connection == connection; });
}

}  // namespace holdfast::core
