// Exactly once, in order, over connections that break: the seq/ack state of one end of a link, for both directions.
// A pure value: the caller moves bytes (frame.hpp, decoder.hpp), records effects, and says what happened.
// The same rules as holdfast_kernel/window.py; tests/vectors/window.json is replayed by both.
// Refuses to hold more than its limits, and to believe an ack for something that it never sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::link {

/// What may wait unacked in one direction.
struct limits {
  std::size_t frames = 4096;
  std::size_t bytes = std::size_t{64} << 20;  // payloads, without headers
};

class window {
 public:
  window() : window(limits{}) {}
  explicit window(limits bounds) : bounds_(bounds) {}

  /// A new incarnation of the daemon: it has recorded the peer's frames up to `recorded`, and its own go on above what the peer
  /// has taken. `peer_ack` and `peer_first` are hello.ack and hello.first.
  static window fresh(std::uint64_t recorded, std::uint64_t peer_ack, std::uint64_t peer_first, limits bounds = {});

  // Sending.

  /// Queues a payload under the next seq. False: it would exceed the limits, and nothing has changed.
  bool push(std::string payload);

  struct outgoing {
    std::uint64_t seq = 0;
    std::string_view payload;  // valid until the frame is acked: until the next on_frame() or resume_same()
  };
  /// The next frame to write, oldest first; marks it as sent on this connection.
  std::optional<outgoing> take_unsent();
  bool has_unsent() const { return sent_ + 1 < next_seq_; }

  // Receiving.

  enum class receipt {
    fresh,      ///< the next one: handle it, then record() it
    duplicate,  ///< seen before, or a bare ack: drop it
    gap,        ///< frames are missing: the connection is broken, close it and attach again
  };
  /// A frame's header has arrived. The ack counts whatever the answer is.
  receipt on_frame(std::uint64_t seq, std::uint64_t ack);

  /// The effects of everything up to `seq` are recorded, so that it may be acked. Never lifts ack() above received().
  void record(std::uint64_t seq);
  /// What to announce in every header: the highest seq recorded.
  std::uint64_t ack() const { return recorded_; }
  /// The peer has not been told ack() yet: send a bare ack if no frame goes out anyway.
  bool ack_due() const { return recorded_ > announced_; }
  /// A frame that carries ack() was written.
  void ack_sent() { announced_ = recorded_; }

  // Reconnecting.

  /// Attached again within one incarnation. `peer_ack`: what the peer has of ours; drops that and resends the rest.
  /// `peer_first`: the next frame that the peer can send; those before it are gone, and are no gap. 0: not stated.
  void resume_same(std::uint64_t peer_ack, std::uint64_t peer_first);

  // Looking.

  std::uint64_t received() const { return received_; }
  std::uint64_t next_seq() const { return next_seq_; }
  std::size_t unacked_frames() const { return unacked_.size(); }
  std::size_t unacked_bytes() const { return unacked_bytes_; }
  /// Acks refused because they were above everything ever sent: the peer is broken.
  std::uint64_t bogus_acks() const { return bogus_acks_; }

 private:
  void on_ack(std::uint64_t ack);
  /// The peer has nothing before `peer_first`, so there is nothing before it to wait for or to record.
  void skip_to(std::uint64_t peer_first);

  // Seqs of our frames: acked_ <= sent_ <= ever_sent_ < next_seq_.

  limits bounds_;
  /// Payloads of the frames acked_ + 1 .. next_seq_ - 1, ascending; within bounds_ at all times.
  std::deque<std::string> unacked_;
  /// Sum of the sizes in unacked_.
  std::size_t unacked_bytes_ = 0;
  /// The seq that push() gives next; only grows, by one.
  std::uint64_t next_seq_ = 1;
  /// Everything up to here is the peer's; only grows.
  std::uint64_t acked_ = 0;
  /// Everything up to here was written to the present connection, or is acked; falls back to acked_ when one is resumed.
  std::uint64_t sent_ = 0;
  /// The highest seq that went out on any connection; only grows. A peer cannot know more.
  std::uint64_t ever_sent_ = 0;
  /// Only grows.
  std::uint64_t bogus_acks_ = 0;

  // Seqs of the peer's frames: announced_ <= recorded_ <= received_.

  /// The highest seq taken; the only one that is fresh is the next. Only grows.
  std::uint64_t received_ = 0;
  /// The highest seq up to which all effects are recorded, or gone with the peer. Only grows.
  std::uint64_t recorded_ = 0;
  /// The highest seq that a written header has acked. Only grows.
  std::uint64_t announced_ = 0;
};

}  // namespace holdfast::link
