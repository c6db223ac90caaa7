// What did the kernel say? Frames are taken in batches: one transaction in `boot`, then the ack, then the answers.
#include <algorithm>
#include <functional>

#include "actors/base/clock.hpp"
#include "actors/base/failpoints.hpp"
#include "actors/core/event_details.hpp"
#include "actors/core/job_view.hpp"
#include "actors/core/session_batch.hpp"
#include "actors/link/handshake.hpp"

namespace holdfast::core {

using std::chrono::steady_clock;

namespace {

bool has(std::vector<storage::notice_record> const& among, storage::notice_record const& wanted) {
  return std::any_of(among.begin(), among.end(), [&](auto const& each) { return each.notice == wanted.notice; });
}

}  // namespace

void session_state::on_live(kernel_live const& told) {
  auto* const at = holder(told.kernel);
  if (at == nullptr) return;
  auto link = at->kernel->row;
  link.state = storage::link_state::live;
  link.nursery = told.nursery;
  link.python = told.python;
  link.program = told.program;
  link.process = told.process;
  storage::changes unit{storage::put_link{link}};
  // From now on there is a namespace to lose: also to a reboot, which leaves nothing else that says so.
  auto next = own_row;
  slot_in(next, at->number).fresh_reason = "died";
  if (cells.empty()) next.slot = at->number;  // it runs: what names no key gets it from now on
  unit.push_back(storage::put_session{next});
  std::optional<storage::notice_record> notice;
  // One is enough, however many kernels die before one has a cell.
  auto const is_told = std::any_of(notices.begin(), notices.end(), [](auto const& each) { return each.kind == "state_lost"; });
  if (link.reason == "died" && !is_told) {
    notice = make_notice(
        "state_lost",
        "a fresh kernel was started and is empty: variables and imports of the earlier one are gone; define them again", {});
    unit.push_back(storage::put_notice{*notice});
  }
  if (auto committed = shared->commit(unit); !committed) {
    // Without its row it must not get a cell: whoever waits may send again, and the kernel ends unused.
    while (!arrivals.empty()) refuse_front(committed.error());
    return end_kernel_for(*at, end_reason::unrecorded, end_kernel::how::kill);
  }
  at->kernel->row = std::move(link);
  own_row = std::move(next);
  shared->move_later(own_row.number);
  settle_kept_jobs();  // those that outlived an earlier kernel and have ended since do not count
  if (notice) add_notice(std::move(*notice));
  publish("kernel_started", kernel_details(told.kernel, at->kernel->row.reason));
  advance();
}

void session_state::on_attached(kernel_attached const& told) {
  auto* const at = holder(told.kernel);
  if (at == nullptr) return;
  auto link = at->kernel->row;
  auto const is_fresh = link.epoch == 0;
  link.epoch = told.epoch;
  link.process = told.process;
  storage::changes unit{storage::put_link{link}};
  std::optional<storage::notice_record> notice;
  std::vector<notice_id> withdrawn;
  if (told.reattached) {
    std::vector<std::string> running;
    for (auto const& cell : cells)
      if (cell.row.kernel == link.kernel) running.push_back(cell.row.cell.text);
    std::string text = "the python kernel reattached; its variables carried on. ";
    auto const of_kernel = jobs_of(*at);
    if (running.empty() && of_kernel.empty())
      text += "nothing was running";
    else
      text += "still running or finished meanwhile: " + (running.empty() ? "" : "cell " + running.front()) +
              (running.empty() || of_kernel.empty() ? "" : ", ") + named(of_kernel);
    notice = make_notice("reattached", std::move(text), running, of_kernel);
    name_kernel(*notice, link.kernel);
    // One is enough, however often the daemon was restarted since the last result.
    for (auto const& each : notices)
      if (each.kind == "reattached" && names_kernel(each, link.kernel)) {
        unit.push_back(storage::erase_notice{each.session, each.notice});
        withdrawn.push_back(each.notice);
      }
    unit.push_back(storage::put_notice{*notice});
  }
  if (shared->commit(unit)) {
    at->kernel->row = std::move(link);
    if (notice) {
      std::erase_if(notices, [&](auto const& each) { return each.kind == "reattached" && names_kernel(each, told.kernel); });
      for (auto const& each : withdrawn) shared->forget_later(own_row.number, each);
      add_notice(std::move(*notice));
    }
  }
  if (is_fresh) shared->metrics.on_kernel_ready(milliseconds(std::max<std::int64_t>(0, now_ms() - at->kernel->row.started_at)));
  // Recorded or not: from now on a death is no failed start, and what it ran is looked for in its spool.
  at->kernel->row.epoch = told.epoch;
  at->kernel->row.process = told.process;
  at->kernel->port = told.port;
  at->kernel->is_foreign = told.protocol != link::protocol;
  at->kernel->attached = at->kernel->was_tried = true;
  auto const reason = is_fresh ? "started" : told.reattached ? "restart" : "reconnect";
  publish("kernel_attached", attached_details(told.kernel, told.epoch, reason));
  answer_fork();
  if (told.reattached || is_stale(at->kernel->row)) shared->look_at_kernels();  // it may be over its idle limit
  // What this incarnation sent is resent by the link; what an earlier one sent is sent again and the kernel drops repeats.
  advance();
}

void session_state::on_unreachable(kernel_unreachable const& told) {
  auto* const at = holder(told.kernel);
  if (at == nullptr) return;
  at->kernel->attached = false;
  if (!std::exchange(at->kernel->was_tried, true)) shared->look_at_kernels();  // nobody waits for it any more
  publish("kernel_dropped", kernel_details(told.kernel, told.why));
  answer_fork();  // it is there, and looked for
  if (ending_kernels) end_idle_kernels();
}

void session_state::on_said(kernel_said told) {
  auto* const at = holder(told.kernel);
  if (at == nullptr) return;
  if (auto* earlier = std::get_if<kernel_said>(&at->stalled)) {  // behind frames that could not be recorded yet
    std::move(told.frames.begin(), told.frames.end(), std::back_inserter(earlier->frames));
    return;
  }
  if (take(*at, told.frames)) return advance();
  stall(*at, std::move(told));
}

/// The store did not take it: those who wait for a cell hear how it stands, and the same is tried again.
void session_state::stall(slot& at, news told) {
  for (auto& cell : cells)
    if (&place_of(cell) == &at)
      for (auto const& each : std::exchange(cell.waiters, {}))
        answer_current(cell, each.to, "what became of the cell could not be stored yet; it is kept and tried again");
  if (!std::holds_alternative<kernel_said>(told)) {
    error const why{error_code::store_full, "the end of the kernel could not be stored yet; it is tried again", {}};
    for (auto* waiting : {&reset_waiters, &at.stop_waiters, &close_waiters})
      for (auto const& to : std::exchange(*waiting, {})) answer_error(to, why);
    closing = false;
  }
  at.stalled = std::move(told);
  store_retry_at = steady_clock::now() + defaults::store_retry;
  wake_at(*store_retry_at);
}

/// The cell, if that kernel has it: no frame of a kernel, which runs its user's code, touches another one.
live_cell* session_state::at_work(slot const& at, cell_id const& cell, std::uint64_t generation) {
  auto* found = find(cell);
  return found && is_out(*found, at) && found->row.generation == generation ? found : nullptr;
}

bool session_state::take(slot& at, std::vector<said> const& frames) {
  batch changed{at};
  for (auto const& frame : frames) {
    if (frame.seq <= at.kernel->row.last_seq) continue;
    changed.last_seq = frame.seq;
    if (auto* why = std::get_if<unreadable>(&frame.what)) {
      take_unreadable(changed, frame, *why);
      continue;
    }
    auto const& what = std::get<link::from_kernel>(frame.what);
    if (auto* start = std::get_if<link::started>(&what)) {
      take_started(changed, *start);
    } else if (auto* behind = std::get_if<link::background>(&what)) {
      take_background(changed, *behind);
    } else if (auto* done = std::get_if<link::done>(&what)) {
      take_done(changed, *done);
    } else if (auto* output = std::get_if<link::output>(&what)) {
      auto* cell = find(output->cell);
      if (cell == nullptr)
        on_late_output(at, *output);
      else if (is_out(*cell, at))
        on_output(*cell, output->stream, output->offset, output->text);
    } else if (auto* shown = std::get_if<link::display>(&what)) {
      on_display(at, *shown);
    } else if (auto* answer = std::get_if<link::answered>(&what)) {
      changed.answers.push_back(*answer);
    } else if (!take_job_frame(changed, what)) {
      auto const& bad = std::get<link::bad_frame>(what);
      log::warn("bad-frame", "kernel {} could not read our frame {}: {}", at.kernel->row.kernel.text, bad.seq, bad.message);
    }
  }
  if (changed.last_seq == 0) return true;
  if (!changed.is_recorded())
    // Output alone changes no row: it is in its file. A restart takes it again, which is harmless.
    at.kernel->row.last_seq = changed.last_seq;
  else if (!record_batch(at, changed))
    return false;
  if (at.kernel && at.kernel->port) at.kernel->port->record(changed.last_seq);
  for (auto& each : changed.answers) on_answered(std::move(each));
  return true;
}

/// One transaction for all of it, then the session has it so.
bool session_state::record_batch(slot& at, batch& changed) {
  auto link = at.kernel->row;
  link.last_seq = changed.last_seq;
  auto const has_start = changed.has_start();
  auto const has_result = changed.has_result();
  // The clock of another host may be off: there the end is when it is heard of.
  if (auto const end = changed.last_end(); end != 0)
    link.idle_since = std::max(link.idle_since, link.environment == "local" ? std::min(end, now_ms()) : now_ms());
  storage::changes unit{storage::put_link{link}};
  for (auto const& each : changed.cells) {
    unit.push_back(storage::put_cell{each.row});
    if (!each.has_result()) unit.push_back(storage::erase_outbox{each.row.session, each.row.number});  // a final row takes it along
  }
  for (auto const& each : changed.jobs) unit.push_back(storage::put_job{each});
  std::vector<storage::notice_record> told, made;
  if (changed.notices) {
    std::copy_if(notices.begin(), notices.end(), std::back_inserter(told),
                 [&](auto const& each) { return !has(*changed.notices, each); });
    std::copy_if(changed.notices->begin(), changed.notices->end(), std::back_inserter(made),
                 [&](auto const& each) { return !has(notices, each); });
  }
  for (auto const& each : told) unit.push_back(storage::erase_notice{each.session, each.notice});
  for (auto const& each : made) unit.push_back(storage::put_notice{each});
  if (has_start && failpoint(failpoint_id::core_before_started_recorded)) return false;
  if (has_result && failpoint(failpoint_id::core_before_result_recorded)) return false;
  if (!shared->commit(unit)) return false;
  if (has_start) (void)failpoint(failpoint_id::core_after_started_recorded);
  if (has_result) (void)failpoint(failpoint_id::core_after_result_recorded);
  at.kernel->row = std::move(link);
  if (changed.notices) notices = std::move(*changed.notices);
  for (auto const& each : told) shared->forget_later(each.session, each.notice);
  for (auto const& each : changed.cells)
    if (each.has_start) publish("cell_started", started_details(each.row, kernel_facts_of(at, each.row).reason));
  keep_jobs(changed.jobs);
  for (auto const& each : made) publish("notice", notice_json(each));
  for (auto& each : changed.cells) {
    if (each.has_result()) {
      finish(std::move(each.row), changed.kernel_ended ? "unresponsive" : "done");
    } else if (auto* cell = find(each.row.number)) {
      each.row.output_bytes = cell->row.output_bytes;  // may have grown since the start
      each.row.displays = cell->row.displays;
      cell->row = std::move(each.row);
      std::string().swap(cell->outbox.code);
    }
  }
  if (changed.kernel_ended) end_kernel_for(at, end_reason::deadline, end_kernel::how::kill);
  return true;
}

void session_state::take_started(batch& into, link::started const& frame) {
  auto* cell = at_work(into.at, frame.cell, frame.generation);
  if (cell == nullptr) return;
  auto& changed = into.of(*cell);
  if (changed.row.status != storage::cell_status::queued) return;
  changed.row.status = storage::cell_status::running;
  changed.row.started_at = frame.at;
  changed.has_start = true;
}

void session_state::take_background(batch& into, link::background const& frame) {
  auto* cell = find(frame.cell);
  if (cell == nullptr || !is_out(*cell, into.at)) return;
  auto& row = into.of(*cell).row;
  row.background = row.status == storage::cell_status::running;
}

void session_state::take_done(batch& into, link::done const& frame) {
  auto* cell = at_work(into.at, frame.cell, frame.generation);
  if (cell == nullptr || into.of(*cell).has_result()) {
    log::info("late-result", "kernel {}: the result of cell {} came too late and is dropped", into.at.kernel->row.kernel.text,
              frame.cell.text);
    return;
  }
  auto& changed = into.of(*cell);
  auto& row = changed.row;
  row.status = frame.status;
  row.started_at = frame.started_at;
  row.finished_at = frame.finished_at;
  row.output_bytes = frame.output_bytes;
  auto facts = facts_without_output(*cell);
  facts.row = row;
  facts.out = frame.out;
  facts.err = frame.err;
  facts.value = frame.value;
  facts.displays = cell->displays.inline_ones();
  row.displays = static_cast<std::uint32_t>(facts.displays.size());
  facts.error = frame.error;
  facts.exit_code = frame.exit_code;
  facts.notices = into.ride(*this);
  if (frame.kernel_ended && facts.kernel) {
    facts.kernel->ended = facts.kernel->state_lost = true;
    facts.kernel->note = "the cell did not end in time and was killed with its kernel; the next cell starts empty";
    facts.death.emplace().cause = "unresponsive";
    into.kernel_ended = true;
  }
  row.result = result_json(facts);
  if (cell->waiters.empty() && !closing) into.add_news(*this, cell_finished_notice(row));
}

/// A frame that cannot be read: if it was about a cell, the one in the foreground ends with an error of that name, without one the oldest
/// in the background. The link stays.
void session_state::take_unreadable(batch& into, said const& frame, unreadable const& why) {
  log::warn("bad-frame", "kernel {} sent a bad frame at seq {}: {}", into.at.kernel->row.kernel.text, frame.seq, why.reason);
  if (why.type != "started" && why.type != "done") return;
  auto* cell = most_likely(into.at);
  if (cell == nullptr) return;
  auto& changed = into.of(*cell);
  if (changed.has_result()) return;
  auto& row = changed.row;
  row.status = storage::cell_status::error;
  row.finished_at = now_ms();
  auto facts = facts_of(*cell);
  facts.row = row;
  facts.error = link::cell_error{"bad_frame", "the kernel's " + why.type + " could not be read: " + why.reason, {}};
  facts.notices = into.ride(*this);
  row.result = result_json(facts);
}

void session_state::on_output(live_cell& cell, link::output_stream which, std::uint64_t offset, std::string_view text) {
  if (!cell.output.append(which, offset, text))
    log::warn("output-lost", "output of cell {} could not be written: {} bytes at {}", cell.row.cell.text, text.size(), offset);
  cell.row.output_bytes = std::max(cell.row.output_bytes, offset + text.size());
  for (auto& each : cell.waiters)
    if (each.stream) notify_output(each, cell, which, offset, text);
}

/// Of a cell that is final: its threads and processes go on writing. The result stays as it is, cell.output has it.
void session_state::on_late_output(slot const& at, link::output const& frame) {
  if (!late || late->cell != frame.cell) {
    auto const row = stored(frame.cell);
    if (!row || row->kernel != at.kernel->row.kernel) return;  // no cell of this kernel, or its record has expired
    late.emplace(late_output{frame.cell, output_log(output_file(*row), defaults::output_kept)});
  }
  if (!late->output.append(frame.stream, frame.offset, frame.text))
    log::warn("output-lost", "late output of cell {} could not be written: {} bytes at {}", frame.cell.text, frame.text.size(),
              frame.offset);
}

/// Kept in its file first; a replay writes the same again and is not told again.
void session_state::on_display(slot const& at, link::display shown) {
  auto* cell = find(shown.cell);
  if (cell == nullptr || !is_out(*cell, at)) return;
  auto const is_new = shown.index >= cell->row.displays;
  auto notified = shown;
  if (!cell->displays.keep(std::move(shown)))
    log::warn("display-lost", "display {} of cell {} could not be kept", notified.index, notified.cell.text);
  if (!is_new) return;
  cell->row.displays = static_cast<std::uint32_t>(notified.index + 1);
  for (auto& each : cell->waiters)
    if (each.stream) notify_display(each, *cell, notified);
}

steady_time::duration session_state::waited_since(kernel_id const& kernel, steady_time::duration& seen) const {
  auto const* at = holder(kernel);
  if (at == nullptr || !at->kernel->port) return {};
  auto const all = at->kernel->port->waited();
  return all - std::exchange(seen, all);
}

/// The kernel keeps the deadline; if it cannot (stopped, or its interpreter held), it is killed some time after. Counted from the send, by
/// our own clock, without the time for which it waited to be carried; only a cell of an earlier incarnation is counted by wall clocks, ours
/// where the kernel's is behind it.
void session_state::set_overdue(live_cell& cell) {
  auto waited = cell.waited;
  (void)waited_since(cell.row.kernel, waited);
  if (cell.ending != cell_ending::none) {
    cell.waited = waited;
    wake_at(*(cell.overdue = steady_clock::now() + shared->settings.interrupt_grace + defaults::kill_margin));
    return;
  }
  if (cell.row.timeout_ms <= 0) return;
  auto const began = std::max(cell.row.started_at, cell.row.queued_at);
  auto const ran = cell.row.started_at == 0 ? 0 : std::clamp<std::int64_t>(now_ms() - began, 0, cell.row.timeout_ms);
  auto const due =
      steady_clock::now() + milliseconds(cell.row.timeout_ms - ran) + shared->settings.interrupt_grace + defaults::kill_margin;
  if (!cell.overdue || due < *cell.overdue) {  // an interrupt may have set a nearer one
    cell.overdue = due;
    cell.waited = waited;
  }
  wake_at(*cell.overdue);
}

/// While the foreground cell may hold the interpreter, one in the background cannot obey: its time counts anew from then on.
void session_state::guard_background() {
  auto const* front = foreground();
  for (auto& cell : cells) {
    if (!cell.row.background) continue;
    if (front && is_out(*front) && front->row.kernel == cell.row.kernel)
      cell.overdue.reset();
    else if (!cell.overdue)
      set_overdue(cell);
  }
}

}  // namespace holdfast::core
