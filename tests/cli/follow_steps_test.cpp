#include <catch2/catch.hpp>

#include "bin/holdfast/follow_steps.hpp"

using namespace holdfast::cli;
using holdfast::error_code;

namespace {

/// One followed cell: what is told to it comes back as what it does.
struct followed {
  follow_state state;
  steady_time now{};

  actions tell(follow_event const& event) { return next_step(state, event); }
  actions lose_connection() { return tell(happened::connection_lost{now}); }
  /// Begun and connected.
  void reach_daemon() {
    tell(happened::begun{});
    tell(happened::connected{});
  }
};

followed a_run() {
  followed cell;
  cell.state.may_run = true;
  return cell;
}

followed a_wait() { return {}; }

}  // namespace

TEST_CASE("a run connects, sends the cell and ends with its result") {
  auto cell = a_run();

  CHECK(cell.tell(happened::begun{}) == actions{action::connect});
  CHECK(cell.tell(happened::connected{}) == actions{action::send_run});
  CHECK(cell.tell(happened::accepted{}).empty());
  CHECK(cell.tell(happened::answered{true}) == actions{action::finish});
}

TEST_CASE("after a lost daemon a run asks for its cell before it sends it again") {
  auto cell = a_run();
  cell.reach_daemon();

  CHECK(cell.lose_connection() == actions{action::connect});
  CHECK(cell.tell(happened::connected{}) == actions{action::send_wait});
  CHECK(cell.tell(happened::answered{true}) == actions{action::finish});
}

TEST_CASE("a cell that the next daemon does not know is sent again, once for each such answer") {
  auto cell = a_run();
  cell.reach_daemon();
  cell.lose_connection();
  cell.tell(happened::connected{});

  CHECK(cell.tell(happened::refused{error_code::not_found}) == actions{action::send_run});
  CHECK(cell.tell(happened::refused{error_code::not_found}) == actions{action::refuse});
}

TEST_CASE("a cell that was accepted is never sent again, even when its record is gone") {
  auto cell = a_run();
  cell.reach_daemon();
  cell.tell(happened::accepted{});
  cell.lose_connection();
  cell.tell(happened::connected{});

  CHECK(cell.tell(happened::refused{error_code::not_found}) == actions{action::refuse});
}

TEST_CASE("a wait never sends code: an unknown cell is refused") {
  auto cell = a_wait();
  cell.tell(happened::begun{});

  CHECK(cell.tell(happened::connected{}) == actions{action::send_wait});
  CHECK(cell.tell(happened::refused{error_code::not_found}) == actions{action::refuse});
}

TEST_CASE("a result that is not final means a clean stop: nothing is started again") {
  auto cell = a_run();
  cell.reach_daemon();
  cell.tell(happened::accepted{});

  CHECK(cell.tell(happened::answered{false}) == actions{action::detach});
}

TEST_CASE("run --detach ends with any answer") {
  auto cell = a_run();
  cell.state.detaches = true;
  cell.reach_daemon();

  CHECK(cell.tell(happened::answered{false}) == actions{action::finish});
}

TEST_CASE("a daemon that is shutting down is waited for, then the next one is asked") {
  auto cell = a_run();
  cell.reach_daemon();

  CHECK(cell.tell(happened::refused{error_code::shutting_down}).empty());
  CHECK(cell.lose_connection() == actions{action::connect});
  CHECK(cell.tell(happened::connected{}) == actions{action::send_wait});
  CHECK(cell.tell(happened::refused{error_code::not_found}) == actions{action::send_run});
}

TEST_CASE("every other refusal is the end: nothing ran") {
  for (auto const code : {error_code::cell_conflict, error_code::cell_expired, error_code::queue_full, error_code::start_failed,
                          error_code::store_full, error_code::invalid_params}) {
    auto cell = a_run();
    cell.reach_daemon();

    CHECK(cell.tell(happened::refused{code}) == actions{action::refuse});
  }
}

TEST_CASE("without a daemon that can be started it ends") {
  auto cell = a_run();
  cell.tell(happened::begun{});

  CHECK(cell.tell(happened::no_service{}) == actions{action::fail_start});
}

TEST_CASE("more than five losses within a minute are given up") {
  auto cell = a_run();
  cell.reach_daemon();

  for (std::size_t loss = 0; loss < restarts_limit; ++loss) {
    cell.now += std::chrono::seconds(2);
    CHECK(cell.lose_connection() == actions{action::connect});
    cell.tell(happened::connected{});
  }

  cell.now += same_loss;
  CHECK(cell.lose_connection() == actions{action::fail_restarts});
}

TEST_CASE("connections that a dying daemon takes are one loss, however many") {
  auto cell = a_run();
  cell.reach_daemon();
  std::size_t lost = 0;

  for (; lost < 100 && cell.lose_connection() == actions{action::connect}; ++lost) {
    cell.now += same_loss / 10;
    cell.tell(happened::connected{});
  }

  CHECK(lost == restarts_limit * 10);  // it is bounded all the same
}

TEST_CASE("losses that are far apart never add up") {
  auto cell = a_run();
  cell.reach_daemon();

  for (int loss = 0; loss < 50; ++loss) {
    cell.now += std::chrono::seconds(13);
    REQUIRE(cell.lose_connection() == actions{action::connect});
    cell.tell(happened::connected{});
  }
  CHECK(cell.state.losses.size() <= restarts_limit);
}

TEST_CASE("the first interrupt ends the cell, the second leaves it running") {
  auto cell = a_run();
  cell.reach_daemon();
  cell.tell(happened::accepted{});

  CHECK(cell.tell(happened::user_interrupt{}) == actions{action::send_interrupt});
  CHECK(cell.tell(happened::user_interrupt{}) == actions{action::detach});
}

TEST_CASE("an interrupt before anything was sent abandons the run") {
  auto cell = a_run();
  cell.tell(happened::begun{});

  CHECK(cell.tell(happened::user_interrupt{}) == actions{action::abandon});
}

TEST_CASE("an interrupt that overtakes the acceptance is sent again after it") {
  auto cell = a_run();
  cell.reach_daemon();

  CHECK(cell.tell(happened::user_interrupt{}) == actions{action::send_interrupt});
  CHECK(cell.tell(happened::interrupt_refused{error_code::not_found}).empty());
  CHECK(cell.tell(happened::accepted{}) == actions{action::send_interrupt});
}

TEST_CASE("an interrupt outlives the daemon that it was sent to") {
  auto cell = a_run();
  cell.reach_daemon();
  cell.tell(happened::accepted{});
  cell.tell(happened::user_interrupt{});

  CHECK(cell.lose_connection() == actions{action::connect});
  CHECK(cell.tell(happened::connected{}) == actions{action::send_wait, action::send_interrupt});
}

TEST_CASE("an interrupt while there is no daemon is sent to the next one") {
  auto cell = a_run();
  cell.reach_daemon();
  cell.lose_connection();

  CHECK(cell.tell(happened::user_interrupt{}).empty());
  CHECK(cell.tell(happened::connected{}) == actions{action::send_wait, action::send_interrupt});
}

TEST_CASE("an interrupted cell that no daemon knows is not sent again") {
  auto cell = a_run();
  cell.reach_daemon();
  cell.tell(happened::user_interrupt{});
  cell.lose_connection();
  cell.tell(happened::connected{});

  CHECK(cell.tell(happened::refused{error_code::not_found}) == actions{action::abandon});
}

TEST_CASE("logs -f stops following at the first interrupt and leaves the cell alone") {
  auto cell = a_wait();
  cell.state.interrupts_cell = false;
  cell.reach_daemon();

  CHECK(cell.tell(happened::user_interrupt{}) == actions{action::detach});
}

TEST_CASE("when nobody reads the output any more the cell goes on without us") {
  auto cell = a_run();
  cell.reach_daemon();

  CHECK(cell.tell(happened::reader_gone{}) == actions{action::detach});
}
