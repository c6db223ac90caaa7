// A cell without a kernel: an interpreter that is started for it and ends with it (bin/kernel/per_call.py), here attended by a thread, in
// an environment that is reached by commands by one command. Collaborators: whoever starts it, who hears per_call_ready or
// per_call_refused, then per_call_said any number of times, then per_call_ended; messages carry the number that was given. Refuses to give
// it the source before go(): until then nothing of the cell can have run. Records nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/allowed_unsafe_message_type.hpp>

#include "actors/base/caf.hpp"
#include "actors/base/config.hpp"
#include "actors/base/errors.hpp"
#include "actors/env/per_call_places.hpp"
#include "actors/env/variables.hpp"
#include "actors/link/messages.hpp"

namespace holdfast::env {

/// It runs and waits for the source.
struct per_call_ready {
  std::uint64_t number = 0;
};
/// It did not come to that; nothing ran.
struct per_call_refused {
  std::uint64_t number = 0;
  std::string why;
};
/// What the cell wrote, whole characters; at most defaults::output_kept bytes, and of what is beyond the newest at the end.
struct per_call_said {
  struct piece {
    link::output_stream which = link::output_stream::out;
    std::uint64_t offset = 0;  // in the cell's combined output
    std::string text;
  };
  std::uint64_t number = 0;
  std::vector<piece> pieces;
};
/// What it says of its own end.
struct per_call_reply {
  storage::cell_status status = storage::cell_status::ok;  // ok error exit
  std::optional<std::string> value;
  std::optional<link::cell_error> error;
  std::optional<std::int64_t> exit_code;
};
/// The interpreter and its process group are gone.
struct per_call_ended {
  std::uint64_t number = 0;
  std::optional<per_call_reply> reply;  // none: it ended without one
  std::optional<int> exit_code;         // of the process, minus the signal's number when one ended it; none: not known
  bool timed_out = false;               // its time was over before it had replied
  milliseconds cut_to{0};               // the time that it had, where that was less than it asked for; 0: all of it
  std::uint64_t out_bytes = 0, err_bytes = 0;
};

struct per_call_plan {
  std::uint64_t number = 0;
  config settings;
  variables gateway;       // of this process
  variables session;       // the session's own
  std::string python;      // empty: the configured one, elsewhere the environment's
  std::string cwd;         // empty: the home of the user
  milliseconds timeout{};  // from go(); 0: none. Then it is interrupted, and killed after the interrupt grace
};

/// A running one. On destruction it is killed.
class per_call {
 public:
  /// What it is told, wherever it is.
  struct orders {
    virtual ~orders() = default;
    virtual void go(std::string source) = 0;
    virtual void interrupt() = 0;
    virtual void kill() = 0;
  };

  per_call(std::uint64_t number, std::shared_ptr<orders> to) : number_(number), orders_(std::move(to)) {}
  per_call(per_call&&) = default;
  per_call& operator=(per_call&& other) noexcept {
    std::swap(number_, other.number_);
    orders_.swap(other.orders_);
    return *this;
  }
  ~per_call();

  std::uint64_t number() const { return number_; }
  /// Runs this source. Once, after per_call_ready.
  void go(std::string source);
  /// As at its deadline: KeyboardInterrupt, and killed after the interrupt grace.
  void interrupt();
  void kill();

 private:
  std::uint64_t number_;
  std::shared_ptr<orders> orders_;
};

/// Starts one in its turn and returns at once; an error when nothing can wake its thread.
result<per_call> start_per_call(caf::actor_system& system, std::shared_ptr<per_call_places> const& places, caf::actor const& asker,
                                per_call_plan plan);
/// The same in an environment that is reached by commands, where defaults::per_call_most run at once; it says by itself when it is refused.
result<per_call> start_per_call_there(caf::actor const& environment, caf::actor const& asker, per_call_plan plan);

/// To such an environment. Ready is said once an interpreter has run there and has gone again; go() is the one command that has the cell.
struct run_per_call {
  caf::actor asker;
  per_call_plan plan;
};
struct order_per_call {
  enum class what : std::uint8_t { go, interrupt, kill };
  caf::actor asker;
  std::uint64_t number = 0;
  what order = what::kill;
  std::string source;  // of go
};

/// The outcome as per_call.py writes it; none: it is not one.
std::optional<per_call_reply> read_per_call_reply(std::string_view line);

}  // namespace holdfast::env

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::env::per_call_ready)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::env::per_call_refused)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::env::per_call_said)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::env::per_call_ended)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::env::run_per_call)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::env::order_per_call)
