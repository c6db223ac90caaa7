// Bytes in any pieces -> frames. The receiving half of frame.hpp; knows nothing of sockets, order or JSON.
// Any sequence of bytes is a sequence of frames, so there is no decoding error: only frames that are too long, which are skipped.
// Memory: what was fed and not yet taken, never more. A length field alone reserves nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "actors/link/frame.hpp"

namespace holdfast::link {

/// The header of a frame above max_payload. Its payload is dropped as it arrives.
struct oversized {
  std::uint64_t seq = 0;
  std::uint64_t ack = 0;
  std::uint64_t length = 0;
};

class decoder {
 public:
  using item = std::variant<frame, oversized>;

  /// Takes the next bytes of the stream.
  void feed(std::string_view bytes);
  /// The next whole frame, or an over-long one as soon as its header is there; none: feed more.
  std::optional<item> next();
  /// Bytes held: of frames not yet taken and of the one that is still incomplete.
  std::size_t buffered() const { return ready_bytes_ + header_.size() + (missing_ > 0 ? header_bytes : 0) + payload_.size(); }
  /// Memory kept for the frame that is incomplete; what a large frame needed goes away with it.
  std::size_t capacity() const { return header_.capacity() + payload_.capacity(); }

 private:
  void on_header();
  void on_frame();

  /// The header being gathered, shorter than header_bytes; empty while a payload is.
  std::string header_;
  /// The header of the payload being gathered; `frame::payload` stays empty in it.
  frame current_;
  /// What is there of the current payload; its capacity never exceeds twice what has arrived, nor the announced length.
  std::string payload_;
  /// Bytes of the current payload still to come; above 0 exactly while one is being gathered.
  std::size_t missing_ = 0;
  /// Bytes of an over-long payload still to be dropped. Never above 0 together with missing_.
  std::uint64_t skip_ = 0;
  /// Whole frames in order of arrival, not yet taken; gives its blocks back as it drains.
  std::deque<item> ready_;
  /// Sum of header and payload bytes in ready_.
  std::size_t ready_bytes_ = 0;
};

}  // namespace holdfast::link
