// What runs without a kernel? A cell for which none could be started runs once in an interpreter of its own: from that interpreter, which
// waits with nothing of the cell, over the record of acceptance and start in one, to the result. Later arrivals wait meanwhile.
#include <string.h>

#include <algorithm>

#include "actors/base/clock.hpp"
#include "actors/base/failpoints.hpp"
#include "actors/core/event_details.hpp"
#include "actors/core/session_state.hpp"
#include "actors/link/json_writer.hpp"

namespace holdfast::core {

using storage::cell_status;

live_cell* session_state::alone() {
  auto const found = std::find_if(cells.begin(), cells.end(), [](auto const& each) { return each.alone != nullptr; });
  return found == cells.end() ? nullptr : &*found;
}

bool session_state::end_alone(cell_ending why) {
  auto* cell = alone();
  if (cell == nullptr) return false;
  cell->ending = why;
  cell->alone->interpreter.kill();
  return true;
}

bool session_state::run_front_alone() {
  auto& front = arrivals.front();
  if (front.interpreter || !on_disk || foreground() != nullptr || shared->shutting_down || closing) return false;
  auto const before = own_row;
  (void)take_settings(front.what);  // recorded with its acceptance
  auto const key = key_for(front.what);
  env::per_call_plan plan{++interpreters,
                          shared->settings,
                          shared->variables,
                          as_map(own_row.variables),
                          key.python,
                          own_row.cwd,
                          milliseconds(front.what.timeout_ms)};
  own_row = before;
  // Where its kernel would have been: what is for another environment, a sandbox perhaps, does not run here.
  auto started = key.environment == "local"
                     ? env::start_per_call(self->system(), shared->interpreters, address(), std::move(plan))
                     : env::start_per_call_there(shared->environment_of(key.environment), address(), std::move(plan));
  if (started) {
    front.interpreter.emplace(std::move(*started));
    return false;
  }
  refuse_front_alone(started.error().message);
  return true;
}

/// Nothing ran: it hears why no kernel was started.
void session_state::refuse_front_alone(std::string const& why) {
  log::warn("fallback-failed", "session {} could not run a cell without a kernel: {}", own_row.number, why);
  refuse_front(error(*arrivals.front().no_kernel));
}

void session_state::on_per_call_ready(env::per_call_ready const& told) {
  if (arrivals.empty() || !arrivals.front().interpreter || arrivals.front().interpreter->number() != told.number) return;
  record_front_alone();
  advance();
}

void session_state::on_per_call_refused(env::per_call_refused const& told) {
  if (auto* cell = alone(); cell && cell->alone->interpreter.number() == told.number) {
    // Accepted, and it never got its source.
    env::per_call_ended ended;
    ended.number = told.number;
    ended.reply.emplace().status = cell_status::error;
    ended.reply->error = link::cell_error{"start_failed", "its interpreter ended before it began; nothing ran", {}};
    return on_per_call_ended(std::move(ended));
  }
  if (arrivals.empty() || !arrivals.front().interpreter || arrivals.front().interpreter->number() != told.number) return;
  refuse_front_alone(told.why);
  advance();
}

/// One transaction for acceptance and start: from then on it is never run again, whatever comes. Only then its interpreter gets the source.
void session_state::record_front_alone() {
  auto& front = arrivals.front();
  auto& what = front.what;
  auto before = own_row;
  auto const refuse = [&](error problem) {
    take_row(std::move(before));
    refuse_front(std::move(problem));
  };
  auto const number = make_slot(key_for(what));  // its key is the session's last one, though no kernel has it
  if (!number) return refuse(number.error());
  own_row.slot = *number;
  (void)take_settings(what);
  auto record = row_of_front();
  record.status = cell_status::running;
  record.started_at = record.queued_at;
  auto notice =
      make_notice("fallback",
                  "cell " + record.cell.text + " ran without a kernel, as none could be started: " + front.no_kernel->message +
                      ". It did not see the session's variables, and its own are gone",
                  {record.cell.text});
  if (failpoint(failpoint_id::core_before_accept_recorded))
    return refuse({error_code::store_full, "cannot record cell " + record.cell.text + "; nothing ran, send it again", {}});
  if (auto committed = shared->commit({storage::put_session{own_row}, storage::put_cell{record}, storage::put_notice{notice}});
      !committed)
    return refuse(committed.error());
  (void)failpoint(failpoint_id::core_after_accept_recorded);
  ++last_number;
  shared->move_later(own_row.number, record.number);
  shared->move_later(own_row.number);

  auto& cell = cells.emplace_back(make_live(record, {own_row.number, record.number, std::move(what.code), false, *number, ""}));
  auto accepted = std::move(front);
  arrivals.pop_front();
  cell.sent = true;
  cell.alone = std::make_unique<kernelless_run>(kernelless_run{std::move(*accepted.interpreter), std::move(notice)});
  accepted.interpreter.reset();
  if (accepted.what.reset)
    if (auto begun = forget_namespaces(); !begun)
      log::warn("reset-failed", "session {}: {}", own_row.number, begun.error().message);
  if (shared->settings.strict_durability) {
    cell.awaits_disk = std::move(accepted);
    self->send(shared->disk, commit_to_disk{{storage::put_cell{record}}, address(), disk_tag::first_cell + record.number});
    return;
  }
  tell_accepted(cell, accepted);
  begin_alone(cell);
}

void session_state::begin_alone(live_cell& cell) {
  cell.alone->interpreter.go(std::exchange(cell.outbox.code, {}));
  if (cell.ending == cell_ending::interrupt) cell.alone->interpreter.interrupt();
  link::json_writer details;
  details.text("cell", cell.row.cell.text).text("reason", cell.alone->notice.text);
  publish("fallback", details.take());
  publish("cell_started", started_details(cell.row, "fallback"));
}

void session_state::on_per_call_said(env::per_call_said const& told) {
  auto* cell = alone();
  if (cell == nullptr || cell->alone->interpreter.number() != told.number) return;
  for (auto const& each : told.pieces) on_output(*cell, each.which, each.offset, each.text);
}

/// The final row of a cell whose interpreter has ended; without a word of that it is lost, unless it was ended on purpose.
storage::cell_record session_state::ended_alone(live_cell& cell, env::per_call_ended const& told) {
  auto row = cell.row;
  row.finished_at = std::max(now_ms(), row.started_at);
  cell.output.count_at_least(told.out_bytes, told.err_bytes);
  row.output_bytes = std::max(row.output_bytes, cell.output.total());
  auto facts = facts_of(cell);
  auto const failed = told.reply ? told.reply->status == cell_status::error : true;
  if (told.reply) {
    row.status = told.reply->status;
    facts.value = told.reply->value;
    facts.error = told.reply->error;
    facts.exit_code = told.reply->exit_code;
  } else {
    row.status = cell_status::lost;
  }
  if (failed && told.timed_out) row.status = cell_status::timeout;
  if (failed && cell.ending == cell_ending::interrupt) row.status = cell_status::interrupted;
  if (cell.ending == cell_ending::reset || cell.ending == cell_ending::close) row.status = cell_status::interrupted;
  std::string why = row.status == cell_status::timeout ? "the cell ran longer than its timeout" : "the cell was interrupted";
  if (row.status == cell_status::timeout && told.cut_to.count() > 0)
    why = "the cell ran longer than the " + std::to_string(told.cut_to.count()) +
          " ms that one command may take there without a kernel";
  if (facts.error && facts.error->name == "KeyboardInterrupt" && facts.error->message.empty()) facts.error->message = why;
  if (!told.reply && row.status != cell_status::lost)
    facts.error = link::cell_error{"KeyboardInterrupt", why + "; its interpreter was killed", {}};
  if (row.status == cell_status::lost) {
    auto& death = facts.death.emplace();
    auto const is_signal = told.exit_code && *told.exit_code < 0;
    death.cause = !told.exit_code ? "unknown" : is_signal ? "signal" : "exit";
    if (is_signal)
      death.signal = "SIG" + std::string(::sigabbrev_np(-*told.exit_code));
    else
      death.exit_code = told.exit_code;
  }
  facts.row = row;
  facts.notices = notices;
  facts.notices.push_back(cell.alone->notice);
  row.result = result_json(facts);
  return row;
}

void session_state::on_per_call_ended(env::per_call_ended told) {
  auto* const cell = alone();
  if (cell == nullptr || cell->alone->interpreter.number() != told.number) return;
  auto row = ended_alone(*cell, told);
  auto riding = notices;
  riding.push_back(cell->alone->notice);
  storage::changes unit{storage::put_cell{row}, storage::erase_outbox{row.session, row.number}};
  for (auto const& each : riding) unit.push_back(storage::erase_notice{each.session, each.notice});
  std::optional<storage::notice_record> unread;
  if (cell->waiters.empty() && !closing) unit.push_back(storage::put_notice{*(unread = cell_finished_notice(row))});
  if (failpoint(failpoint_id::core_before_result_recorded) || !shared->commit(unit)) {
    cell->alone->ended = std::move(told);
    for (auto const& each : std::exchange(cell->waiters, {}))
      answer_current(*cell, each.to, "what became of the cell could not be stored yet; it is kept and tried again");
    store_retry_at = std::chrono::steady_clock::now() + defaults::store_retry;
    return wake_at(*store_retry_at);
  }
  (void)failpoint(failpoint_id::core_after_result_recorded);
  publish("notice", notice_json(riding.back()));
  notices.clear();
  for (auto const& each : riding) shared->forget_later(each.session, each.notice);
  if (unread) add_notice(std::move(*unread));
  finish(std::move(row), told.reply ? "done" : "exit");
  answer_resets();
  if (closing && runs_nothing()) return on_close_ready();
  if (winding_down) return on_wind_down(*winding_down);
  advance();
}

}  // namespace holdfast::core
