// How does it end on request? Interrupting a cell, resetting and closing the session, stopping its kernel.
#include <algorithm>

#include "actors/base/clock.hpp"
#include "actors/core/event_details.hpp"
#include "actors/core/job_view.hpp"
#include "actors/core/session_state.hpp"

namespace holdfast::core {

using std::chrono::steady_clock;

void session_state::on_interrupt(reply_to const& from, interrupt_cell const& what) {
  auto* cell = what.cell ? find(*what.cell) : foreground();
  if (cell == nullptr) {
    if (what.cell) return on_wait(from, {*what.cell, 0, false, 0});  // final already, or not there
    auto text = "nothing runs in session " + own_row.key.session;
    if (!cells.empty()) text += " but in the background, such as cell " + cells.front().row.cell.text + "; name the cell to end it";
    return answer_error(from, {error_code::not_found, std::move(text), {}});
  }
  add_waiter(*cell, from, std::nullopt, false, 0);
  if (cell->alone) {
    if (cell->ending == cell_ending::none) cell->ending = cell_ending::interrupt;
    return cell->alone->interpreter.interrupt();
  }
  auto* const at = holder(cell->row.kernel);
  if (at == nullptr) return (void)end_queued(*cell, storage::cell_status::interrupted, {});
  if (cell->ending == cell_ending::none) cell->ending = cell_ending::interrupt;
  if (cell->sent) send_interrupt(*at, *cell);  // else right behind its execute
  if (!cell->overdue || *cell->overdue > steady_clock::now() + shared->settings.interrupt_grace + defaults::kill_margin)
    set_overdue(*cell);
  guard_background();
}

void session_state::send_interrupt(slot const& at, live_cell const& cell) {
  at.kernel->port->send(link::to_json(link::interrupt{cell.row.cell, link::interrupt_reason::interrupt}));
}

/// A queued cell ends without having started, and is forgotten; false when that could not be recorded.
bool session_state::end_queued(live_cell& cell, storage::cell_status status, std::optional<link::cell_error> why) {
  auto row = cell.row;
  row.status = status;
  row.finished_at = now_ms();
  auto facts = facts_without_output(cell);
  facts.row = row;
  facts.kernel.reset();
  auto const why_ended = closing ? "close" : why ? why->name : std::string("interrupt");
  facts.error = std::move(why);
  row.result = result_json(facts);
  if (shared->commit({storage::put_cell{row}, storage::erase_outbox{row.session, row.number}})) {
    finish(std::move(row), why_ended);
    return true;
  }
  for (auto const& each : std::exchange(cell.waiters, {}))
    answer_current(cell, each.to, "the end of the cell could not be recorded yet; ask for it again");
  try_again_later();
  return false;
}

void session_state::end_kernel_for(slot& at, end_reason reason, end_kernel::how way) {
  if (!at.kernel || !at.kernel->actor) return;
  if (!at.kernel->ending) at.kernel->ending = reason;
  self->send(at.kernel->actor, end_kernel{way, reason});
}

/// No cell finds what is there now: kernels end, what is saved counts as reset.
result<void> session_state::forget_namespaces() {
  auto next = own_row;
  auto is_changed = false;
  for (auto& [number, at] : slots) {
    self->send(shared->files, remove_tree{shared->path(state_path(own_row.number, number) + ".damaged")});
    if (!at.kernel && std::exchange(slot_in(next, number).fresh_reason, "reset") != "reset") is_changed = true;
  }
  if (is_changed) {
    if (auto committed = shared->commit({storage::put_session{next}}); !committed) return committed;
    own_row = std::move(next);
    shared->move_later(own_row.number);
  }
  for (auto& [number, at] : slots) {
    if (!at.kernel) {
      settle_saved(at);
      continue;
    }
    end_cells_out(at, cell_ending::reset);
    at.kernel->ending = end_reason::reset;
    end_kernel_for(at, end_reason::reset, end_kernel::how::kill);
  }
  return {};
}

void session_state::on_reset(reply_to from) {
  reset_waiters.push_back(std::move(from));
  if (auto begun = forget_namespaces(); !begun) {
    answer_error(reset_waiters.back(), begun.error());
    return reset_waiters.pop_back();
  }
  (void)end_alone(cell_ending::reset);
  end_orphans();
  answer_resets();
}

void session_state::answer_resets() {
  for (auto const& [number, at] : slots)
    if ((at.kernel && at.kernel->ending == end_reason::reset) || (at.saved.row && is_unwanted(at))) return;
  if (auto const* cell = alone(); cell && cell->ending == cell_ending::reset) return;
  for (auto const& to : std::exchange(reset_waiters, {})) answer_text(to, row());
}

void session_state::on_stop(stop_session_kernel const& order) {
  auto* const at = holder(order.kernel);
  auto const given_up =
      std::find_if(orphans.begin(), orphans.end(), [&](auto const& each) { return each.row.kernel == order.kernel; });
  if (given_up != orphans.end()) {
    given_up->stop_waiters.push_back(order.from);
    return end_orphans(order.kernel);
  }
  if (at == nullptr)
    return answer_error(order.from,
                        {error_code::not_found, "no kernel " + order.kernel.text + "; kernel.list shows what there is", {}});
  auto const its_own = std::find_if(cells.begin(), cells.end(), [&](auto const& each) { return &place_of(each) == at; });
  if (its_own != cells.end())
    return answer_error(order.from,
                        {error_code::busy,
                         "kernel " + order.kernel.text + " is busy with cell " + its_own->row.cell.text + "; interrupt it first",
                         {}});
  if (auto const live = jobs_of(*at); !live.empty())
    return answer_error(
        order.from, {error_code::busy, "kernel " + order.kernel.text + " has live jobs: " + named(live) + "; stop them first", {}});
  if (at->saved.row || at->saved.now != saved_namespace::step::none)
    return answer_error(order.from,
                        {error_code::busy, "kernel " + order.kernel.text + " saves or restores its namespace now; ask again", {}});
  if (order.save && has_namespace(*at)) return save_and_end(*at, {order.kernel, end_reason::stop, "stop", true, order.from});
  at->stop_waiters.push_back(order.from);
  end_kernel_for(*at, end_reason::stop, end_kernel::how::shutdown);
}

void session_state::on_close(reply_to from) {
  close_waiters.push_back(std::move(from));
  if (closing) return;
  begin_close();
  for (auto& [number, at] : slots) end_kernel_for(at, end_reason::close, end_kernel::how::kill);
  (void)end_alone(cell_ending::close);
  end_orphans();
  if (runs_nothing()) on_close_ready();
}

/// Nothing is accepted any more, what waits is refused, what is queued ends without having started.
void session_state::begin_close() {
  closing = true;
  while (!arrivals.empty()) refuse_front(being_closed(own_row.key));
  for (std::size_t at = 0; at < cells.size();) {
    if (!is_queued(cells[at]))
      cells[at++].ending = cell_ending::close;
    else if (!end_queued(cells[at], storage::cell_status::interrupted, {}))
      ++at;
  }
}

/// Nothing runs any more: the records go, disk first, so that a crash in between leaves a session that says so.
void session_state::on_close_ready() {
  self->send(shared->disk, commit_to_disk{{storage::erase_session{own_row.number}}, address(), disk_tag::session_end});
}

void session_state::finish_close() {
  gone = true;
  if (auto committed = shared->commit({storage::erase_session{own_row.number}}); !committed)
    log::error("close-failed", "session {} is gone from disk and could not be removed from boot", own_row.number);
  self->send(shared->files, remove_tree{shared->path("output/" + std::to_string(own_row.number))});
  remove_state_files();
  refuse_copies(unknown_session(own_row.key));
  answer_fork(unknown_session(own_row.key));
  for (auto& [number, at] : slots) at.saved.row.reset();
  publish("session_closed", reason_details(close_waiters.empty() ? "fork_failed" : "close"));
  for (auto const& each : std::exchange(job_waiters, {}))
    answer_error(each.to, {error_code::not_found, "the session of job " + each.job.text + " was closed meanwhile", {}});
  for (auto const& to : std::exchange(close_waiters, {})) answer_text(to, row());
  shared->sessions.erase(own_row.key);
  on_retire();
}

// ---- a session that never came to be ----

bool session_state::is_blank() const {
  auto const is_as_made = [this](auto const& key) { return key.fresh_reason == "first" && !slots.at(key.number).saved.row; };
  return was_refused && last_number == 0 && own_row.restarts == 0 && notices.empty() && jobs.empty() &&
         std::all_of(own_row.slots.begin(), own_row.slots.end(), is_as_made);
}

void session_state::forget_blank() {
  held_back.emplace();
  self->send(shared->disk, commit_to_disk{{storage::erase_session{own_row.number}}, address(), disk_tag::session_end});
}

void session_state::on_blank_erased(std::optional<storage::failure> const& problem) {
  auto calls = *std::exchange(held_back, std::nullopt);
  was_refused = false;
  if (problem) {  // it stays as one that is new
    for (auto& call : calls) on_call(call);
    return shared->shutting_down ? on_wind_down(false) : void();
  }
  if (auto committed = shared->commit({storage::erase_session{own_row.number}}); !committed)
    log::error("close-failed", "session {} is gone from disk and could not be removed from boot", own_row.number);
  publish("session_closed", reason_details("refused"));
  unloaded = true;
  shared->sessions.erase(own_row.key);
  for (auto& call : calls) self->send(shared->supervisor, std::move(call));
  on_retire();
}

}  // namespace holdfast::core
