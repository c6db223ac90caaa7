// What a command that follows a cell (run, wait, logs -f) does next. Pure: an event and the state so far give the next actions; follow.cpp
// carries them out. Here is decided what survives a daemon: when it dies the cell is asked for again, and sent again only if the daemon
// answers that it never knew it (its id then runs at most once); after a clean stop nothing is restarted.
#pragma once

#include <chrono>
#include <deque>
#include <variant>
#include <vector>

#include "actors/base/errors.hpp"

namespace holdfast::cli {

using steady_time = std::chrono::steady_clock::time_point;

/// More lost connections than this within the window, and something is wrong that another start does not repair.
inline constexpr std::size_t restarts_limit = 5;
inline constexpr std::chrono::seconds restarts_window{60};
/// A daemon that is being killed may take another connection after it has lost ours: what is lost within this time of a loss is the same.
inline constexpr std::chrono::milliseconds same_loss{200};

enum class interrupt_state {
  none,
  asked,    // cell.interrupt is on its way on this connection
  pending,  // to be sent as soon as a daemon knows the cell
};

struct follow_state {
  bool may_run = false;         // `run`: the code may be sent; the others only ask for a cell that exists
  bool detaches = false;        // `run --detach`: any answer is the end
  bool interrupts_cell = true;  // the first ^C ends the cell; `logs -f` only stops following

  bool is_connected = false;
  bool run_sent = false;     // a daemon may have the cell: from now on ask before sending it again
  bool is_waiting = false;   // the open request is cell.wait, not run
  bool is_accepted = false;  // a daemon has said that the cell is recorded
  interrupt_state interrupt = interrupt_state::none;
  std::deque<steady_time> losses;  // lost connections within the window, oldest first
};

namespace happened {
struct begun {};
struct connected {};
struct no_service {};  // no daemon answers and none could be started
struct connection_lost {
  steady_time at;
};
struct accepted {};  // cell.accepted
struct answered {
  bool is_final = false;
};  // the result of run or cell.wait
struct refused {
  error_code code;
};  // the error of run or cell.wait
struct interrupt_refused {
  error_code code;
};
struct user_interrupt {};  // ^C
struct reader_gone {};     // nobody reads our stdout any more
}  // namespace happened

using follow_event = std::variant<happened::begun, happened::connected, happened::no_service, happened::connection_lost,
                                  happened::accepted, happened::answered, happened::refused, happened::interrupt_refused,
                                  happened::user_interrupt, happened::reader_gone>;

enum class action {
  connect,  // to the daemon, starting one when none answers
  send_run,
  send_wait,  // cell.wait from the offset that was shown last
  send_interrupt,
  // the ends:
  finish,         // show the result; exit as it says
  detach,         // the cell goes on: say how to come back
  refuse,         // show the error
  abandon,        // interrupted before anything ran
  fail_start,     // no daemon could be started
  fail_restarts,  // the daemon keeps dying
};

/// No action means: go on listening.
using actions = std::vector<action>;

/// Changes `state` by what happened and returns what to do, in order.
actions next_step(follow_state& state, follow_event const& event);

}  // namespace holdfast::cli
