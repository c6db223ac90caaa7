// One link over a relay: frames travel in trips, each a command on the far side that attaches, carries them in, waits there and brings back
// what came out. Pure: whoever owns it runs the trips and says how they ended. A warm cell is one trip.
// Several may be underway: while one waits there for a cell, what must reach the kernel at once goes with another, whose attach ends the
// first. Whatever they bring twice is dropped by the window. Refuses to conclude anything from a trip that failed.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "actors/link/transport.hpp"
#include "actors/link/window.hpp"

namespace holdfast::link {

/// What a trip brought back.
struct brought {
  enum class ending {
    done,     ///< it has what it waited for, or as much as it may hold
    closed,   ///< the connection was taken over or closed, or nobody listens
    gone,     ///< the kernel's process is gone: proof, from where it was
    unknown,  ///< it cannot be told there whether the process is gone
  };
  ending end = ending::done;
  std::string message;         // for people
  std::uint64_t cells = 0;     // that the kernel is not done with
  std::uint64_t requests = 0;  // that it has not answered
  std::uint64_t jobs = 0;      // that live
  std::string frames;          // hello or refused first, then as they came
};

class relay_link final : public transport {
 public:
  struct trip {
    std::uint64_t number = 0;  // counts from 1
    attach message;            // without its token, which lies on the far side
    std::string frames;        // everything that is not known to have arrived
  };
  /// Starts a trip; never answers before it returns.
  using starter = std::function<void(trip)>;

  /// `recorded`: the highest seq from the peer whose effects are recorded.
  relay_link(std::uint64_t recorded, starter start) : start_(std::move(start)), recorded_(recorded) {}

  /// From now on trips say this attach; its ack is filled in. Starts the first.
  void open(attach message);
  /// Starts a trip if something is to be carried or waited for.
  void pump();
  /// Starts a trip for whatever may have come.
  void look();
  /// A trip has ended; the error is why nothing is known of it.
  std::vector<event> on_brought(std::uint64_t trip_number, tl::expected<brought, std::string> outcome);

  bool is_open() const override { return is_open_; }
  bool is_attached() const override { return attached_; }
  void close() override;
  /// Goes with the next pump().
  bool send(std::string payload) override { return window_.push(std::move(payload)); }
  void record(std::uint64_t seq) override;
  /// Never: an ack rides on the next trip.
  bool ack_due() const override { return false; }
  void write_ack() override {}
  std::uint64_t recorded() const override { return recorded_; }

  bool is_underway() const { return !underway_.empty(); }
  bool is_underway_beside(std::uint64_t trip_number) const { return underway_.size() > underway_.count(trip_number); }
  /// Jobs live, whose ends nobody waits for on the far side.
  bool has_jobs() const { return jobs_ > 0; }

 private:
  void start_trip();
  bool take(std::string const& frames, std::vector<event>& events);

  starter start_;
  window window_;
  attach attach_;
  std::uint64_t recorded_;   // survives connections; starts with what the link's row says
  std::uint64_t trips_ = 0;  // started so far
  std::set<std::uint64_t> underway_;
  std::uint64_t carried_ = 0;  // the highest seq of ours that a trip underway has with it
  std::uint64_t jobs_ = 0;     // as the last trip said
  bool waits_ = false;         // the last trip left something outstanding there
  bool is_open_ = false;
  bool attached_ = false;   // hello has come since it was opened
  bool had_hello_ = false;  // since this was made: the window may be resumed
};

}  // namespace holdfast::link
