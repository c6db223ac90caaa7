// What the fronts of a gateway count of their clients. Written on the multiplexer thread, read there by the metrics; atomic, so that
// whoever else looks does no harm.
#pragma once

#include <atomic>
#include <cstdint>

namespace holdfast {

struct traffic {
  std::atomic<std::int64_t> connections{0};   // now
  std::atomic<std::uint64_t> accepted{0};     // connections, ever
  std::atomic<std::uint64_t> refused{0};      // connections, refused or closed to make room
  std::atomic<std::uint64_t> stream_lost{0};  // stream notifications that a client did not read in time
};

}  // namespace holdfast
