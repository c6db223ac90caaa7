// The gateway's events: a bounded ring with sequence numbers and the connections that subscribed. Each is counted in the metrics.
// Lives on the multiplexer thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/base/messages.hpp"
#include "actors/core/metrics.hpp"

namespace holdfast::core {

class event_hub {
 public:
  explicit event_hub(gateway_metrics& counted) : metrics_(counted) {}

  /// Sequence numbers of an incarnation begin above those of all earlier ones.
  void begin(std::uint64_t incarnation) { base_ = seq_ = incarnation << 32; }
  /// Sends the event to its subscribers. `details` is a JSON object as text, the reason in it.
  void publish(std::string_view kind, session_key const& key, std::string details);

  struct subscribed {
    std::uint64_t seq = 0;     // of the newest event so far
    std::uint64_t missed = 0;  // events of this incarnation after `since` that the ring has no more
  };
  /// From now on `to` gets matching events; first those after `since` that the ring still has.
  subscribed subscribe(reply_to const& to, subscribe_events const& wanted);
  void unsubscribe(caf::actor const& front, std::uint64_t connection);

 private:
  struct event {
    std::uint64_t seq;
    storage::unix_ms at;
    std::string kind;
    session_key key;
    std::string details;  // a JSON object
  };
  struct subscriber {
    reply_to to;
    std::vector<std::string> kinds;    // empty: all
    std::optional<std::string> owner;  // none: every owner
  };
  static bool wants(subscriber const& each, event const& what);
  /// The params of its notification: written for those who want it only.
  static std::string params_of(event const& what);

  gateway_metrics& metrics_;
  std::uint64_t base_ = 0;  // seq_ before the first event
  std::uint64_t seq_ = 0;
  std::deque<event> ring_;  // the newest, at most defaults::event_ring
  std::vector<subscriber> subscribers_;
};

}  // namespace holdfast::core
