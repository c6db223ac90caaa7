#include "actors/core/events.hpp"

#include <algorithm>

#include <caf/send.hpp>

#include "actors/base/clock.hpp"
#include "actors/base/defaults.hpp"
#include "actors/core/key_json.hpp"
#include "actors/link/json_writer.hpp"

namespace holdfast::core {

bool event_hub::wants(subscriber const& each, event const& what) {
  if (each.owner && *each.owner != what.owner) return false;
  return each.kinds.empty() || std::find(each.kinds.begin(), each.kinds.end(), what.kind) != each.kinds.end();
}

void event_hub::publish(std::string_view kind, session_key const& key, std::string details) {
  link::json_writer text;
  text.number("seq", ++seq_).text("at", rfc3339(now_ms())).text("kind", kind);
  write_key(text, key).json("details", details);
  ring_.push_back({seq_, std::string(kind), key.owner, text.take()});
  if (ring_.size() > defaults::event_ring) ring_.pop_front();
  for (auto const& each : subscribers_)
    if (wants(each, ring_.back())) caf::anon_send(each.to.front, notification{each.to.connection, "event", ring_.back().text});
}

event_hub::subscribed event_hub::subscribe(reply_to const& to, subscribe_events const& wanted) {
  unsubscribe(to.front, to.connection);
  subscriber made{to, wanted.types, wanted.owner};
  subscribed answer{seq_, 0};
  if (wanted.since) {
    auto const oldest = ring_.empty() ? seq_ + 1 : ring_.front().seq;
    if (*wanted.since + 1 < oldest) answer.missed = oldest - *wanted.since - 1;
    for (auto const& each : ring_)
      if (each.seq > *wanted.since && wants(made, each)) caf::anon_send(to.front, notification{to.connection, "event", each.text});
  }
  subscribers_.push_back(std::move(made));
  return answer;
}

void event_hub::unsubscribe(caf::actor const& front, std::uint64_t connection) {
  std::erase_if(subscribers_, [&](auto const& each) { return each.to.front == front && each.to.connection == connection; });
}

}  // namespace holdfast::core
