#include "bin/holdfast/follow_steps.hpp"

namespace holdfast::cli {

namespace {

struct decide {
  follow_state& state;

  actions operator()(happened::begun const&) const { return {action::connect}; }

  actions operator()(happened::connected const&) const {
    state.is_connected = true;
    if (state.may_run && !state.run_sent) return send_run();
    state.is_waiting = true;
    if (state.interrupt == interrupt_state::none) return {action::send_wait};
    // The daemon that was asked may have died with the request: interrupting the same cell twice is harmless.
    state.interrupt = interrupt_state::asked;
    return {action::send_wait, action::send_interrupt};
  }

  actions operator()(happened::no_service const&) const { return {action::fail_start}; }

  actions operator()(happened::connection_lost const& event) const {
    state.is_connected = false;
    while (!state.losses.empty() && event.at - state.losses.front() >= restarts_window) state.losses.pop_front();
    if (state.losses.empty() || event.at - state.losses.back() >= same_loss) state.losses.push_back(event.at);
    if (state.losses.size() > restarts_limit) return {action::fail_restarts};
    return {action::connect};
  }

  actions operator()(happened::accepted const&) const {
    state.is_accepted = true;
    if (state.interrupt != interrupt_state::pending) return {};
    state.interrupt = interrupt_state::asked;
    return {action::send_interrupt};
  }

  actions operator()(happened::answered const& event) const {
    if (event.is_final || state.detaches) return {action::finish};
    // We set no wait_ms: a result that is not final means that the daemon was told to stop (or could not record the end).
    // Whoever stopped it does not want it started again.
    return {action::detach};
  }

  actions operator()(happened::refused const& event) const {
    // Nothing ran, and this daemon will not run it; the next one will. It closes the connection when it is done: go on then.
    if (event.code == error_code::shutting_down) return {};
    // One that was accepted and is not known any more has lost its record, with its home or its session: it may have run.
    if (event.code == error_code::not_found && state.is_waiting && state.may_run && !state.is_accepted) {
      // The daemon died before it had recorded the cell, so it has not run.
      if (state.interrupt != interrupt_state::none) return {action::abandon};
      return send_run();
    }
    return {action::refuse};
  }

  actions operator()(happened::interrupt_refused const& event) const {
    // The request overtook the cell's acceptance.
    if (event.code == error_code::not_found && !state.is_accepted) state.interrupt = interrupt_state::pending;
    return {};
  }

  actions operator()(happened::user_interrupt const&) const {
    if (!state.interrupts_cell || state.interrupt != interrupt_state::none) return {action::detach};
    if (!state.is_connected && !state.run_sent) return {state.may_run ? action::abandon : action::detach};
    if (!state.is_connected) {
      state.interrupt = interrupt_state::pending;
      return {};
    }
    state.interrupt = interrupt_state::asked;
    return {action::send_interrupt};
  }

  actions operator()(happened::reader_gone const&) const { return {action::detach}; }

 private:
  actions send_run() const {
    state.run_sent = true;
    state.is_waiting = false;
    return {action::send_run};
  }
};

}  // namespace

actions next_step(follow_state& state, follow_event const& event) { return std::visit(decide{state}, event); }

}  // namespace holdfast::cli
