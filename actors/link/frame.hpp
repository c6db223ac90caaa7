// One frame of the wire as bytes: length(4) seq(8) ack(8), big-endian, then the payload (docs/wire.md).
// Used by transports and, the other way round, by decoder.hpp. Refuses to make a frame that a receiver would skip.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::link {

constexpr std::size_t header_bytes = 20;
/// A longer payload is never sent; a receiver skips it without buffering.
constexpr std::size_t max_payload = std::size_t{8} << 20;
/// Levels of objects and arrays in a payload, the outermost object being the first.
constexpr std::size_t max_depth = 64;

struct frame {
  std::uint64_t seq = 0;  // counts a direction's frames from 1; 0: handshake or bare ack
  std::uint64_t ack = 0;  // highest seq of the other direction that the sender has recorded
  std::string payload;    // JSON, at most max_payload bytes; empty in a bare ack
};

namespace detail {

template <class Unsigned>
void append_big_endian(std::string& out, Unsigned value) {
  char bytes[sizeof(Unsigned)];
  for (std::size_t i = sizeof(Unsigned); i-- > 0; value = static_cast<Unsigned>(value >> 8))
    bytes[i] = static_cast<char>(value & 0xff);
  out.append(bytes, sizeof(Unsigned));
}

/// Reads sizeof(Unsigned) bytes at `bytes`, which the caller has checked to be there.
template <class Unsigned>
Unsigned read_big_endian(char const* bytes) {
  Unsigned value = 0;
  for (std::size_t i = 0; i < sizeof(Unsigned); ++i)
    value = static_cast<Unsigned>(value << 8 | static_cast<unsigned char>(bytes[i]));
  return value;
}

}  // namespace detail

/// Appends the frame to `out`. A payload above max_payload is a bug of the caller.
inline void append(std::string& out, std::uint64_t seq, std::uint64_t ack, std::string_view payload) {
  assert(payload.size() <= max_payload);
  detail::append_big_endian(out, static_cast<std::uint32_t>(payload.size()));
  detail::append_big_endian(out, seq);
  detail::append_big_endian(out, ack);
  out.append(payload);
}

}  // namespace holdfast::link
