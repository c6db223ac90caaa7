// How does it end on request? Interrupting a cell, resetting and closing the session, stopping its kernel.
#include "actors/base/clock.hpp"
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
  if (!is_out(*cell)) return (void)end_queued(*cell, storage::cell_status::interrupted, {});
  if (cell->ending == cell_ending::none) cell->ending = cell_ending::interrupt;
  if (cell->sent) send_interrupt(*cell);  // else right behind its execute
  if (!cell->overdue || *cell->overdue > steady_clock::now() + shared->settings.interrupt_grace + defaults::kill_margin)
    set_overdue(*cell);
  guard_background();
}

void session_state::send_interrupt(live_cell const& cell) {
  own_kernel->port->send(link::to_json(link::interrupt{cell.row.cell, link::interrupt_reason::interrupt}));
}

/// A queued cell ends without having started, and is forgotten; false when that could not be recorded.
bool session_state::end_queued(live_cell& cell, storage::cell_status status, std::optional<link::cell_error> why) {
  auto row = cell.row;
  row.status = status;
  row.finished_at = now_ms();
  auto facts = facts_without_output(cell);
  facts.row = row;
  facts.kernel.reset();
  facts.error = std::move(why);
  row.result = result_json(facts);
  if (shared->commit({storage::put_cell{row}, storage::erase_outbox{row.session, row.number}})) {
    finish(std::move(row));
    return true;
  }
  for (auto const& each : std::exchange(cell.waiters, {}))
    answer_current(cell, each.to, "the end of the cell could not be recorded yet; ask for it again");
  try_again_later();
  return false;
}

void session_state::end_kernel_for(end_reason reason, end_kernel::how way) {
  if (!own_kernel || !own_kernel->actor) return;
  if (!own_kernel->ending) own_kernel->ending = reason;
  self->send(own_kernel->actor, end_kernel{way, reason});
}

void session_state::on_reset(reply_to from) {
  self->send(shared->files, remove_tree{shared->path(state_path(own_row.number) + ".damaged")});
  if (!own_kernel) {
    auto next = own_row;
    next.fresh_reason = "reset";
    if (auto committed = shared->commit({storage::put_session{next}}); !committed) return answer_error(from, committed.error());
    own_row = std::move(next);
    shared->move_later(own_row.number);
    if (!saved.row) return answer_text(from, row());
    reset_waiters.push_back(std::move(from));
    return settle_saved();
  }
  reset_waiters.push_back(std::move(from));
  end_cells_out(cell_ending::reset);
  own_kernel->ending = end_reason::reset;
  end_kernel_for(end_reason::reset, end_kernel::how::kill);
}

void session_state::on_stop(stop_session_kernel const& order) {
  if (!own_kernel || own_kernel->row.kernel != order.kernel)
    return answer_error(order.from,
                        {error_code::not_found, "no kernel " + order.kernel.text + "; kernel.list shows what there is", {}});
  if (!cells.empty())
    return answer_error(
        order.from, {error_code::busy,
                     "kernel " + order.kernel.text + " is busy with cell " + cells.front().row.cell.text + "; interrupt it first",
                     {}});
  if (auto const live = jobs_of_kernel(); !live.empty())
    return answer_error(
        order.from, {error_code::busy, "kernel " + order.kernel.text + " has live jobs: " + named(live) + "; stop them first", {}});
  if (saved.row || saved.now != saved_namespace::step::none)
    return answer_error(order.from,
                        {error_code::busy, "kernel " + order.kernel.text + " saves or restores its namespace now; ask again", {}});
  if (order.save && has_namespace_to_save()) return save_and_stop(order);
  stop_waiters.push_back(order.from);
  end_kernel_for(end_reason::stop, end_kernel::how::shutdown);
}

void session_state::on_close(reply_to from) {
  close_waiters.push_back(std::move(from));
  if (closing) return;
  begin_close();
  if (own_kernel) return end_kernel_for(end_reason::close, end_kernel::how::kill);
  on_close_ready();
}

/// Nothing is accepted any more, what waits is refused, what is queued ends without having started.
void session_state::begin_close() {
  closing = true;
  while (!arrivals.empty()) refuse_front(being_closed(own_row.key));
  for (std::size_t at = 0; at < cells.size();) {
    if (is_out(cells[at]))
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
  refuse_fork_copy(unknown_session(own_row.key));
  answer_fork(unknown_session(own_row.key));
  saved.row.reset();
  publish("session_closed", "{}");
  for (auto const& each : std::exchange(job_waiters, {}))
    answer_error(each.to, {error_code::not_found, "the session of job " + each.job.text + " was closed meanwhile", {}});
  for (auto const& to : std::exchange(close_waiters, {})) answer_text(to, row());
  shared->sessions.erase(own_row.key);
  on_retire();
}

}  // namespace holdfast::core
