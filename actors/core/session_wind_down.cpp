// What becomes of it when the gateway ends? Whoever waits hears how things stand, and kernels are let go; or each is ended, its cell as
// interrupted, its namespace saved for the next gateway.
#include "actors/core/session_state.hpp"

namespace holdfast::core {

using std::chrono::steady_clock;

void session_state::on_wind_down(bool end_kernels) {
  if (held_back) return;  // on_blank_erased ends it
  if (!winding_down && end_alone(cell_ending::reset)) {
    winding_down = end_kernels;
    return;
  }
  if (end_kernels && (has_kernel() || !orphans.empty())) {
    if (!std::exchange(ending_kernels, true)) begin_to_end_kernels();
    return end_idle_kernels();
  }
  refuse_arrivals();
  for (auto& cell : cells) {
    if (cell.awaits_disk) answer_current(cell, cell.awaits_disk->from);
    cell.awaits_disk.reset();
    for (auto& each : cell.waiters) answer_current(cell, each.to, shared->farewell);
    cell.waiters.clear();
  }
  std::vector<std::vector<reply_to>*> all_waiting = {&reset_waiters, &close_waiters};
  for (auto& [number, at] : slots) all_waiting.push_back(&at.stop_waiters);
  for (auto& each : orphans) all_waiting.push_back(&each.stop_waiters);
  for (auto* waiting : all_waiting)
    for (auto const& to : std::exchange(*waiting, {}))
      answer_error(to, {error_code::shutting_down, "the daemon is shutting down", {}});
  refuse_copies({error_code::shutting_down, "the daemon is shutting down", {}});
  for (auto& [number, at] : slots)
    if (at.kernel) refuse_asked(at.kernel->row.kernel);
  answer_fork(error{error_code::shutting_down, "the daemon is shutting down; the session is made: session.get shows it", {}});
  answer_job_waiters(steady_time::max());
  for (auto& [number, at] : slots)
    if (at.kernel && at.kernel->actor) self->send(at.kernel->actor, let_go{});
  for (auto& each : orphans)
    if (each.actor) self->send(each.actor, let_go{});
  shared->sessions.erase(own_row.key);
  on_retire();
}

void session_state::begin_to_end_kernels() {
  end_orphans();
  refuse_arrivals();
  for (auto& cell : cells) {
    auto* const at = holder(cell.row.kernel);
    if (at == nullptr || cell.ending != cell_ending::none) continue;
    cell.ending = cell_ending::reset;
    if (at->is_attached() && cell.sent) send_interrupt(*at, cell);
    set_overdue(cell);  // one that does not obey is killed
  }
}

/// What an earlier incarnation left in a kernel that is attached only now.
void session_state::interrupt_unsent(slot& at) {
  for (auto& cell : cells) {
    if (cell.sent || !is_out(cell, at)) continue;
    if (cell.row.status == storage::cell_status::queued) send_execute(at, cell);
    cell.sent = true;
    send_interrupt(at, cell);
  }
}

/// Those in which nothing runs any more, saved first; and those that do not answer.
void session_state::end_idle_kernels() {
  for (auto& [number, at] : slots) {
    if (!at.kernel || at.kernel->ending || at.saved.now != saved_namespace::step::none) continue;
    if (!at.kernel->was_tried && has_namespace(at)) continue;  // it may be about to answer
    if (at.is_attached() && has_cells_out(at)) {
      interrupt_unsent(at);
      continue;
    }
    auto const is_saveable = at.is_attached() && has_namespace(at) && !at.saved.row && !at.kernel->has_not_saved;
    if (is_saveable)
      save_and_end(at, {at.kernel->row.kernel, end_reason::stop, "stop"});
    else
      end_kernel_for(at, end_reason::shutdown, end_kernel::how::kill);
  }
}

void session_state::end_all_at_once() {
  for (auto& [number, at] : slots)
    if (at.kernel) end_kernel_for(at, end_reason::shutdown, end_kernel::how::kill);
}

void session_state::refuse_arrivals() {
  error const ending{error_code::shutting_down, "the daemon is shutting down; send it again later", {}};
  while (!arrivals.empty()) refuse_front(ending);
  for (auto const& call : std::exchange(held_back, std::nullopt).value_or(std::vector<session_call>{}))
    answer_error(call.from, ending);
}

}  // namespace holdfast::core
