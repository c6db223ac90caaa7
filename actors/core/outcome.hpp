// What becomes of a cell whose kernel is proven dead: one table, as a pure function.
// Collaborators: session (carries it out). Refuses to guess: what cannot be known is `lost`.
#pragma once

#include <cstdint>

#include "actors/base/defaults.hpp"

namespace holdfast::core {

/// Everything that is known once the spool has been read as if its frames had arrived.
struct evidence {
  bool sent = false;           // execute was handed to this kernel's channel, or may have been
  bool started = false;        // `started` is recorded, or was in the spool
  bool spool_readable = true;  // false: nothing can be excluded
  std::uint32_t requeues = 0;  // fresh kernels that the cell has been moved to so far
};

enum class fate : std::uint8_t {
  requeue,  ///< it cannot have started: a fresh kernel runs it
  lost,     ///< it started, or may have: effects unknown, never rerun
};

constexpr fate fate_of(evidence const& known) {
  if (!known.sent) return fate::requeue;
  if (known.started || !known.spool_readable) return fate::lost;
  return known.requeues < defaults::requeues_most ? fate::requeue : fate::lost;
}

}  // namespace holdfast::core
