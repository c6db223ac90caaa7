// Two windows over a wire that lies: it cuts connections in mid-frame, repeats, loses and swaps frames, and one end may be started
// anew from its records. Virtual: no clock, no socket; the same seed does the same.
// Payload number n of a direction is its frame n, so that a receiver can tell any frame out of place.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "actors/link/decoder.hpp"
#include "actors/link/window.hpp"

namespace holdfast::link::test {

/// One in so many; 0: never.
struct fault_rates {
  std::uint32_t repeat = 300;    // a frame is written twice
  std::uint32_t swap = 2000;     // a frame changes places with the next one written
  std::uint32_t lose = 2000;     // a frame vanishes
  std::uint32_t cut = 200;       // deliveries until the connection breaks, mostly in mid-frame
  std::uint32_t restart = 1500;  // of cuts and broken connections: the daemon is started anew
};

/// What a receiver with a defect does; the checker must notice.
enum class defect { none, delivers_duplicates, ignores_gaps, acks_before_recording, forgets_unacked };

struct plan {
  std::uint64_t seed = 1;
  std::uint64_t frames = 1'000'000;  // each way
  limits bounds{64, 4096};
  fault_rates faults;
  defect planted = defect::none;
};

struct report {
  std::string violation;  // empty: every frame arrived exactly once, in order, within the bounds
  std::uint64_t delivered[2] = {0, 0};
  std::uint64_t repeats = 0, swaps = 0, losses = 0, cuts = 0, mid_frame_cuts = 0, gaps = 0, duplicates = 0, restarts = 0;
};

/// Runs until both ends have everything, or until the first violation.
report run_wire(plan const& plan);

/// The payload of frame n: its number, and padding of a length that depends on n.
std::string payload_of(std::uint64_t n);
/// The number in such a payload; 0 if it is none.
std::uint64_t number_in(std::string_view payload);

/// Writes frames with faults; used by the model and by the tests with a real peer.
class lying_writer {
 public:
  lying_writer(fault_rates rates, report& counts) : rates_(rates), counts_(counts) {}
  /// Appends the frame to `wire` faithfully, twice, not at all, or behind the next one.
  template <class Random>
  void write(std::string& wire, Random& random, std::uint64_t seq, std::uint64_t ack, std::string_view payload) {
    auto const strikes = [&](std::uint32_t rate) { return rate > 0 && random() % rate == 0; };
    if (seq > 0 && strikes(rates_.lose)) {
      ++counts_.losses;
      return;
    }
    if (seq > 0 && held_back_.empty() && strikes(rates_.swap)) {
      ++counts_.swaps;
      append(held_back_, seq, ack, payload);
      return;
    }
    append(wire, seq, ack, payload);
    if (strikes(rates_.repeat)) {
      ++counts_.repeats;
      append(wire, seq, ack, payload);
    }
    wire += held_back_;
    held_back_.clear();
  }
  /// A new connection: what was held back is lost with the old one.
  void reset() { held_back_.clear(); }

 private:
  fault_rates rates_;
  report& counts_;
  std::string held_back_;  // the bytes of at most one frame
};

}  // namespace holdfast::link::test
