// What is lost? A kernel that did not start, was proven dead, was given up, or turned out to be another home's.
#include <algorithm>

#include "actors/base/clock.hpp"
#include "actors/base/failpoints.hpp"
#include "actors/core/event_details.hpp"
#include "actors/core/job_view.hpp"
#include "actors/core/outcome.hpp"
#include "actors/core/result_lines.hpp"
#include "actors/core/saved_words.hpp"
#include "actors/core/session_state.hpp"
#include "actors/link/json_writer.hpp"

namespace holdfast::core {

namespace {

death_facts death_of(remains const& left, std::optional<end_reason> ordered) {
  death_facts death;
  if (ordered == end_reason::deadline) death.cause = "unresponsive";
  if (!left.exit) return death;
  if (ordered != end_reason::deadline) death.cause = left.exit->cause;
  death.signal = left.exit->signal;
  death.exit_code = left.exit->exit_code;
  death.log_tail = left.exit->log_tail;
  return death;
}

storage::unix_ms last_end_in(std::vector<said> const& frames) {
  storage::unix_ms last = 0;
  for (auto const& each : frames)
    if (auto const* what = std::get_if<link::from_kernel>(&each.what))
      if (auto const* done = std::get_if<link::done>(what)) last = std::max(last, done->finished_at);
  return last;
}

/// It never said hello and was given no cell: nothing ran in it, and nothing is lost with it.
kernel_start_failed failed_start(kernel_dead const& told) {
  auto const death = death_of(told.left, {});
  auto text = "kernel " + told.kernel.text +
              (told.given_up ? " could not be reached: " + *told.given_up : " died while it started: " + death_in_words(death));
  if (!death.log_tail.empty()) text += "; its last words: " + death.log_tail;
  return {told.kernel, {error_code::start_failed, std::move(text), {}}, true};
}

/// That would be untrue when the kernel is gone.
bool tells_of_living(storage::notice_record const& notice) {
  return notice.kind == "reattached" || notice.kind == "restored" || notice.kind == "silent";
}

}  // namespace

storage::notice_record session_state::make_notice(std::string kind, std::string text, std::vector<std::string> const& lost,
                                                  std::vector<storage::job_record> const& of_jobs) const {
  auto const quoted = [](std::string const& id) { return "\"" + id + "\""; };
  return {notice_id("n-" + make_ulid()),
          own_row.number,
          std::move(kind),
          std::move(text),
          "{\"jobs\":" + job_details(of_jobs) + ",\"cells\":" + link::json_list(lost, quoted) + ",\"skipped\":[]}",
          now_ms()};
}

void name_kernel(storage::notice_record& notice, kernel_id const& kernel) {
  notice.details = R"({"kernel":")" + kernel.text + R"(",)" + notice.details.substr(1);
}

bool names_kernel(storage::notice_record const& notice, kernel_id const& kernel) {
  return notice.details.starts_with(R"({"kernel":")" + kernel.text + '"');
}

void session_state::add_notice(storage::notice_record notice) {
  publish("notice", notice_json(notice));
  notices.push_back(std::move(notice));
}

/// Settings that came with a run that was never accepted are forgotten.
storage::session_record session_state::row_after_failed_start(slot const& at) const {
  auto next = own_row;
  auto const& before = at.kernel->row_before;
  if (!before) return next;
  if (cells.empty()) {
    next.cwd = before->cwd;
    next.variables = before->variables;
  }
  if (std::any_of(cells.begin(), cells.end(), [&](auto const& cell) { return cell.outbox.slot == at.number; })) return next;
  auto const is_own = [&](auto const& each) { return each.number == at.number; };
  auto const known = std::find_if(before->slots.begin(), before->slots.end(), is_own);
  auto const here = std::find_if(next.slots.begin(), next.slots.end(), is_own);
  if (known != before->slots.end())
    *here = *known;
  else
    next.slots.erase(here);
  // The one before may have been given up meanwhile, and have another number.
  auto const is_last = [&](auto const& each) { return each.number == before->slot; };
  auto const is_there = std::any_of(next.slots.begin(), next.slots.end(), is_last);
  if (next.slot == at.number) next.slot = is_there ? before->slot : next.slots.back().number;
  return next;
}

/// Nothing ran in it: those who wait for acceptance are refused. Cells that were accepted for an earlier kernel get another try, three at
/// most, then end as an error.
void session_state::on_start_failed(kernel_start_failed const& told) {
  auto* const at = holder(told.kernel);
  if (at == nullptr) return;
  log::error("start-failed", "kernel {} did not start: {}", told.kernel.text, told.problem.message);
  shared->metrics.on_start_failed();
  auto next = row_after_failed_start(*at);
  storage::changes unit{storage::erase_link{told.kernel}, storage::put_session{next}};
  std::vector<storage::cell_record> rows;
  for (auto& cell : cells) {
    // A kernel of another key may start well: only what wanted this one has had its try.
    if (!is_queued(cell) || cell.outbox.slot != at->number) continue;
    auto row = cell.row;
    row.kernel = {};
    row.generation = 0;
    if (++row.requeues > defaults::requeues_most) {
      row.status = storage::cell_status::error;
      row.finished_at = now_ms();
      auto facts = facts_without_output(cell);
      facts.row = row;
      facts.kernel.reset();
      facts.error = link::cell_error{"start_failed", told.problem.message, {}};
      row.result = result_json(facts);
    }
    unit.push_back(storage::put_cell{row});
    rows.push_back(std::move(row));
  }
  auto const committed = shared->commit(unit);
  // A death may have been an accident; a refusal would only come again.
  auto const is_last = !told.died || (!arrivals.empty() && arrivals.front().deaths >= defaults::requeues_most);
  auto const wanted_it = [&] { return find_slot(key_for(arrivals.front().what)) == at; };
  auto const runs_alone = is_last && shared->settings.fallback_per_call && !arrivals.empty() && wanted_it();
  if (runs_alone) arrivals.front().no_kernel = told.problem;  // those behind it try for a kernel first
  while (is_last && !runs_alone && !arrivals.empty() && wanted_it()) refuse_front(told.problem);
  for (auto& each : arrivals) ++each.deaths;
  if (!committed) return stall(*at, told);
  auto const stop_waiters = std::exchange(at->stop_waiters, {});
  auto const view = view_of(*at);
  shared->remove_kernel_files(at->kernel->row);
  at->kernel.reset();
  take_row(std::move(next));  // the slot may be gone with it
  shared->move_later(own_row.number);
  publish("kernel_ended", kernel_details(told.kernel, "start_failed"));
  for (auto& row : rows) {
    if (storage::is_final(row.status)) {
      finish(std::move(row), "start_failed");
    } else if (auto* cell = find(row.cell)) {
      cell->row = std::move(row);
      cell->sent = false;
    }
  }
  if (fork_asked) {  // the clone: without it there is no such session
    answer_fork({error_code::cannot_fork, "cannot fork into session " + own_row.key.session + ": " + told.problem.message, {}});
    begin_close();
    for (auto& [number, each] : slots) end_kernel_for(each, end_reason::close, end_kernel::how::kill);
  }
  answer_resets();
  for (auto const& to : stop_waiters) answer_text(to, view.to_json());
  go_on_without_kernel();
}

/// What becomes of a cell that was with the dead kernel, by the table of outcome.hpp: its next row, final or queued again.
storage::cell_record session_state::settled(slot const& at, live_cell& cell, kernel_dead const& told,
                                            std::vector<storage::notice_record> const& riding) const {
  evidence known;
  known.sent = cell.row.generation > 0;
  known.started = cell.row.status == storage::cell_status::running;
  known.spool_readable = told.left.spool_readable && !told.given_up;  // what one that was given up has not said it may still do
  known.requeues = cell.row.requeues;
  auto row = cell.row;
  // The time of one that has not started has not begun to run: its kernel was silent before.
  auto const is_undisturbed = cell.ending == cell_ending::none || cell.ending == cell_ending::timeout;
  if (is_undisturbed && fate_of(known) == fate::requeue) {
    row.kernel = {};
    row.generation = 0;
    ++row.requeues;
    return row;
  }
  switch (cell.ending) {
    case cell_ending::none: row.status = storage::cell_status::lost; break;
    case cell_ending::timeout: row.status = storage::cell_status::timeout; break;
    default: row.status = storage::cell_status::interrupted; break;
  }
  row.finished_at = now_ms();
  row.output_bytes = std::max(row.output_bytes, cell.output.total());
  auto facts = facts_of(cell);
  row.displays =
      std::max(row.displays, static_cast<std::uint32_t>(facts.displays.size()));  // an earlier incarnation kept them, perhaps
  facts.row = row;
  if (!told.given_up) facts.death = death_of(told.left, at.kernel->ending);
  if (facts.kernel) {
    facts.kernel->ended = !told.given_up;
    facts.kernel->state_lost = cell.ending != cell_ending::reset && cell.ending != cell_ending::close;
    facts.kernel->state_reset = facts.kernel->state_reset || cell.ending == cell_ending::reset;
    if (row.status == storage::cell_status::lost)
      facts.kernel->note = "the kernel " +
                           (told.given_up ? "could not be reached any more and was given up during this cell"
                                          : "ended during this cell (" + death_in_words(*facts.death) + ")") +
                           ": its effects are unknown, it is not run again";
  }
  facts.notices = riding;
  row.result = result_json(facts);
  return row;
}

void session_state::on_dead(kernel_dead told) {
  auto* const found = holder(told.kernel);
  if (found == nullptr) return on_orphan_dead(told);
  auto& at = *found;
  if (at.kernel->row.epoch == 0 && at.kernel->row.generation == 0 && !at.kernel->ending && !closing)
    return on_start_failed(failed_start(told));
  auto const last_seen = view_of(at);
  at.kernel->attached = false;
  refuse_asked(told.kernel);
  auto const last_ran = take_last_words(at, told.left);
  if (!last_ran) return stall(at, std::move(told));
  if (waits_for_saved(at, told, *last_ran)) return;
  if (auto* front = most_likely(at); front && told.left.exit)
    for (auto const& rest : std::exchange(told.left.exit->rest, {}))
      on_output(*front, rest.stream == "stderr" ? link::output_stream::err : link::output_stream::out, front->output.end(),
                rest.text);

  auto const ordered = at.kernel->ending;
  auto loss = loss_of(at, told);
  auto const is_refused = told.given_up && failpoint(failpoint_id::core_before_orphan_recorded);
  if (is_refused || !shared->commit(loss.unit)) return stall(at, std::move(told));
  if (told.given_up) (void)failpoint(failpoint_id::core_after_orphan_recorded);
  take_loss(at, told, std::move(loss));
  answer_resets();
  for (auto const& to : std::exchange(at.stop_waiters, {})) answer_text(to, last_seen.to_json());
  // Nor is one kept that never had a cell, as a saved namespace was to be restored first: at its grace it would save over that.
  if (told.given_up && (closing || ending_kernels || ordered || at.saved.row)) end_orphans(told.kernel);
  go_on_without_kernel();
}

/// What it said and printed, as if it had just arrived. Frames that came and could not be recorded are in the spool as well.
std::optional<storage::unix_ms> session_state::take_last_words(slot& at, remains& left) {
  auto const& journal = left.journal;
  for (auto const& each : journal.records) {
    auto* cell = find(each.cell);
    if (cell == nullptr)
      on_late_output(at, {each.cell, each.stream, each.offset, each.text});
    else if (is_out(*cell, at))
      on_output(*cell, each.stream, each.offset, each.text);
  }
  if (auto* cell = journal.records.empty() ? nullptr : find(journal.records.back().cell); cell && is_out(*cell, at))
    cell->output.count_at_least(journal.out_bytes, journal.err_bytes);
  if (auto* waiting = std::get_if<kernel_said>(&at.stalled); waiting && !left.spool_readable)
    left.frames = std::move(waiting->frames);
  at.stalled = {};
  auto const last = std::max(at.kernel->row.idle_since, last_end_in(left.frames));
  if (!take(at, left.frames)) return std::nullopt;
  left.frames.clear();
  return last;
}

kernel_loss session_state::loss_of(slot const& at, kernel_dead const& told) {
  kernel_loss loss;
  auto const& link = at.kernel->row;
  if (told.given_up) {
    loss.orphan = link;
    loss.orphan->state = storage::link_state::orphan;
    loss.orphan->idle_since = now_ms();
    loss.unit.push_back(storage::put_link{*loss.orphan});
  } else {
    loss.unit.push_back(storage::erase_link{told.kernel});
  }
  auto has_result = false;
  for (auto& cell : cells) {
    if (!is_out(cell, at)) continue;
    // Notices ride on the first result only.
    loss.cells.push_back(settled(at, cell, told, has_result ? std::vector<storage::notice_record>{} : notices));
    auto const& row = loss.cells.back();
    loss.unit.push_back(storage::put_cell{row});
    if (row.status == storage::cell_status::lost) loss.lost.push_back(row.cell.text);
    has_result = has_result || storage::is_final(row.status);
  }
  for (auto const& each : notices)
    if (has_result || (tells_of_living(each) && names_kernel(each, told.kernel))) {
      loss.withdrawn.push_back(each.notice);
      loss.unit.push_back(storage::erase_notice{each.session, each.notice});
    }
  if (!told.given_up) loss.jobs = jobs_after_death(told.kernel, told.left);
  for (auto const& job : loss.jobs) loss.unit.push_back(storage::put_job{job});
  loss.row = own_row;
  auto& fresh_reason = slot_in(loss.row, at.number).fresh_reason;
  if (at.kernel->ending == end_reason::reset)
    fresh_reason = "reset";
  else  // with one that was never used nothing is lost: the next is what it would have been
    fresh_reason = link.generation == 0 ? link.reason : "died";
  ++loss.row.restarts;
  loss.number = told.given_up ? renumbered(loss.row, at, loss.unit) : at.number;
  loss.unit.push_back(storage::put_session{loss.row});
  loss.notice = notice_of_loss(at, told, loss);
  if (loss.notice) loss.unit.push_back(storage::put_notice{*loss.notice});
  return loss;
}

std::optional<storage::notice_record> session_state::notice_of_loss(slot const& at, kernel_dead const& told,
                                                                    kernel_loss const& loss) const {
  auto const& ordered = at.kernel->ending;
  auto const has_result =
      std::any_of(loss.cells.begin(), loss.cells.end(), [](auto const& each) { return storage::is_final(each.status); });
  // One that was ended at a cell's deadline is told with the result of that cell, unless it had not started there.
  auto const is_untold = !ordered || (*ordered == end_reason::deadline && (!has_result || told.given_up));
  if (!is_untold || closing) return std::nullopt;
  std::string lost;
  for (auto const& cell : loss.lost) lost += (lost.empty() ? "; lost: cell " : ", cell ") + cell;
  if (told.given_up) {
    auto const left = jobs_of(at);
    auto text = "the previous python kernel could not be reached (" + *told.given_up +
                ") and was given up; a fresh one takes its place" + lost;
    if (!left.empty()) text += "; left in it until it is ended: " + named(left);
    return make_notice("unreachable", std::move(text), loss.lost, left);
  }
  if (at.saved.row && at.saved.row->kernel == told.kernel) return std::nullopt;  // nothing is lost
  auto const death = death_of(told.left, ordered);
  auto const* foreign = told.was_foreign ? ", it spoke another protocol than this daemon" : "";
  auto text = "the python kernel was found dead (" + death_in_words(death) + foreign + "); a fresh one takes its place" + lost;
  if (!loss.jobs.empty()) text += std::string(lost.empty() ? "; " : ", ") + "ended with it: " + named(loss.jobs);
  if (auto const why = why_not_saved(death.log_tail)) text += "; its namespace was not saved: " + *why;
  return make_notice("restarted", std::move(text), loss.lost, loss.jobs);
}

/// It is recorded: the session has it so, without that kernel.
void session_state::take_loss(slot& at, kernel_dead const& told, kernel_loss loss) {
  auto const death = death_of(told.left, at.kernel->ending);
  if (ending_kernels && has_namespace(at) && !at.saved.row) {
    ++shared->not_saved;
    log::warn("not-saved", "the namespace of session {} is lost with kernel {}", own_row.key.session, told.kernel.text);
  }
  auto why = told.given_up ? std::string("unreachable") : death.cause;
  if (at.kernel->ending) why = to_string(*at.kernel->ending);
  own_row = std::move(loss.row);
  shared->move_later(own_row.number);
  forget_notices(loss.withdrawn);
  for (auto const& each : loss.withdrawn) shared->forget_later(own_row.number, each);
  keep_jobs(loss.jobs);
  if (loss.notice) add_notice(std::move(*loss.notice));
  if (loss.orphan) {
    take_number(at, loss.number);
    log::warn("kernel-orphaned", "kernel {} of session {} is an orphan: {}", told.kernel.text, own_row.number, *told.given_up);
    publish("kernel_orphaned", kernel_details(told.kernel, *told.given_up));
    adopt_orphan(std::move(*loss.orphan));
  } else {
    log::info("kernel-ended", "kernel {} {}", told.kernel.text, death_in_words(death));
    publish("kernel_ended", kernel_details(told.kernel, why));
    shared->remove_kernel_files(at.kernel->row);
  }
  at.kernel.reset();
  for (auto& row : loss.cells) {
    if (storage::is_final(row.status)) {
      finish(std::move(row), why);
    } else if (auto* cell = find(row.number)) {
      cell->row = std::move(row);
      cell->sent = false;
      cell->ending = cell_ending::none;
      cell->overdue.reset();
    }
  }
}

void session_state::go_on_without_kernel() {
  if (closing && runs_nothing()) return on_close_ready();
  if (ending_kernels && !has_kernel() && orphans.empty()) return on_wind_down(false);
  advance();
}

/// Another home has the kernel: this one knows nothing more of it. Its namespace is out of reach, so it counts as died.
void session_state::on_left(kernel_left const& told) {
  kernel_dead absent{told.kernel, {}};
  auto* const at = holder(told.kernel);
  if (at == nullptr) return;
  at->kernel->row.directory = "run/" + told.kernel.text + ".left";  // never remove what another home uses
  on_dead(std::move(absent));
}

}  // namespace holdfast::core
