#include "actors/link/window.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "actors/link/frame.hpp"

namespace holdfast::link {

window window::fresh(std::uint64_t recorded, std::uint64_t peer_ack, std::uint64_t peer_first, limits bounds) {
  window made{bounds};
  made.next_seq_ = peer_ack + 1;
  made.acked_ = made.sent_ = made.ever_sent_ = peer_ack;
  // The attach that led here has told the peer what is recorded, and what it has none of needs no ack.
  made.skip_to(std::max(recorded + 1, peer_first));
  made.announced_ = made.recorded_;
  return made;
}

bool window::push(std::string payload) {
  assert(payload.size() <= max_payload);
  auto const size = payload.size();
  if (unacked_.size() >= bounds_.frames || size > bounds_.bytes || unacked_bytes_ > bounds_.bytes - size) return false;
  unacked_.push_back(std::move(payload));
  unacked_bytes_ += size;
  ++next_seq_;
  return true;
}

std::optional<window::outgoing> window::take_unsent() {
  if (!has_unsent()) return std::nullopt;
  ++sent_;
  ever_sent_ = std::max(ever_sent_, sent_);
  return outgoing{sent_, unacked_[static_cast<std::size_t>(sent_ - acked_ - 1)]};
}

void window::on_ack(std::uint64_t ack) {
  if (ack > ever_sent_) {
    ++bogus_acks_;
    return;
  }
  for (; acked_ < ack; ++acked_) {
    unacked_bytes_ -= unacked_.front().size();
    unacked_.pop_front();
  }
  // An ack may overtake a resend: the peer had received the frame on the connection before and has recorded it meanwhile.
  sent_ = std::max(sent_, acked_);
}

window::receipt window::on_frame(std::uint64_t seq, std::uint64_t ack) {
  on_ack(ack);
  if (seq <= received_) return receipt::duplicate;
  if (seq > received_ + 1) return receipt::gap;
  received_ = seq;
  return receipt::fresh;
}

void window::record(std::uint64_t seq) { recorded_ = std::max(recorded_, std::min(seq, received_)); }

void window::resume_same(std::uint64_t peer_ack, std::uint64_t peer_first) {
  on_ack(peer_ack);
  sent_ = acked_;
  if (peer_first > 0) skip_to(peer_first);
}

void window::skip_to(std::uint64_t peer_first) {
  recorded_ = std::max(recorded_, peer_first - 1);
  received_ = std::max(received_, recorded_);
}

}  // namespace holdfast::link
