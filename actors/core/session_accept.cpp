// May this cell run, and where? From a run call to the execute frame: replay or conflict, a kernel, the record, then the send.
#include <algorithm>

#include <spdlog/fmt/fmt.h>

#include "actors/base/clock.hpp"
#include "actors/base/failpoints.hpp"
#include "actors/base/hash.hpp"
#include "actors/core/event_details.hpp"
#include "actors/core/key_json.hpp"
#include "actors/core/session_state.hpp"
#include "actors/env/interpreter.hpp"
#include "actors/link/handshake.hpp"
#include "actors/link/json_writer.hpp"
#include "actors/link/utf8.hpp"
#include "bin/kernel/program.hpp"

namespace holdfast::core {

using std::chrono::steady_clock;

namespace {

/// The first characters of a source, for lists.
std::string shown(std::string const& code) {
  std::size_t at = 0;
  for (std::size_t count = 0; count < defaults::source_shown && at < code.size(); ++count)
    at += std::max<std::size_t>(1, link::utf8_length(std::string_view(code).substr(at)));
  return code.substr(0, at);
}

error conflict(cell_id const& cell) {
  return {error_code::cell_conflict, "cell " + cell.text + " exists with other code; use a new id for new code", {}};
}

}  // namespace

std::map<std::string, std::string> as_map(std::vector<std::string> const& variables) {
  std::map<std::string, std::string> out;
  for (auto const& each : variables)
    if (auto const split = each.find('='); split != std::string::npos) out[each.substr(0, split)] = each.substr(split + 1);
  return out;
}

void session_state::on_run(reply_to from, run_cell what) {
  if (closing) return answer_error(from, being_closed(own_row.key));
  if (arrivals.size() >= defaults::max_queue_per_session) {
    publish("refused", refused_details(error_code::queue_full, what.cell));
    return answer_error(from, {error_code::queue_full,
                               "session " + own_row.key.session + " has " + std::to_string(arrivals.size()) +
                                   " cells waiting for a kernel; wait for one",
                               {}});
  }
  arrival made{
      std::move(from), std::move(what), {}, steady_clock::now() + shared->settings.scaled(shared->settings.admission_timeout)};
  made.code = sha256(made.what.code);
  arrivals.push_back(std::move(made));
  advance();
  if (!arrivals.empty()) wake_at(arrivals.back().deadline);
}

void session_state::accept_arrivals() {
  while (!arrivals.empty() && accept_front()) {
  }
}

void session_state::refuse_front(error problem) {
  publish("refused", refused_details(problem.code, arrivals.front().what.cell));
  answer_error(arrivals.front().from, std::move(problem));
  arrivals.pop_front();
  was_refused = true;
}

/// True when the front arrival was answered or will be by a cell that exists.
bool session_state::replay(arrival& front) {
  auto const& what = front.what;
  if (what.cell.empty()) return false;
  if (auto* live = find(what.cell)) {
    if (live->row.code != front.code)
      answer_error(front.from, conflict(what.cell));
    else
      add_waiter(*live, front.from, what.wait_ms, what.stream, 0);
    return true;
  }
  auto known = shared->stores->find_cell(own_row.number, what.cell);
  if (!known) {
    answer_error(front.from, from_storage(known.error()));
    return true;
  }
  if (!*known) return false;
  if ((*known)->code != front.code)
    answer_error(front.from, conflict(what.cell));
  else
    on_wait(front.from, {what.cell, what.wait_ms, what.stream, 0});
  return true;
}

std::optional<error> session_state::why_refused(run_cell const& what) const {
  if (shared->store_failed)
    return error{error_code::store_failed, "the store has failed; mend the disk and restart the daemon", {}};
  auto const* wanted = what.if_kernel ? holder(*what.if_kernel) : nullptr;
  if (what.if_kernel && (wanted == nullptr || wanted->kernel->ending))
    return error{error_code::kernel_changed,
                 "session " + own_row.key.session + " does not have kernel " + what.if_kernel->text + " any more",
                 {}};
  if (what.environment && !shared->environment_of(*what.environment)) return shared->unknown_environment(*what.environment);
  if (shared->barrier.is_refused() && key_for(what).environment != "local")
    return error{error_code::store_full,
                 "the disk has no room for what concerns kernels elsewhere; nothing ran, make room and send it again",
                 {}};
  if (wanted != nullptr && (what.reset || find_slot(key_for(what)) != wanted))
    return error{error_code::kernel_changed,
                 "a cell for kernel " + what.if_kernel->text +
                     " alone cannot ask for another one; leave out if_kernel, or reset, environment, python and tools",
                 {}};
  auto const waiting = std::count_if(cells.begin(), cells.end(), [this](auto const& each) { return is_queued(each); });
  if (static_cast<std::size_t>(waiting) >= defaults::max_queue_per_session)
    return error{error_code::queue_full,
                 "session " + own_row.key.session + " has " + std::to_string(waiting) + " cells waiting; wait for one",
                 {}};
  return std::nullopt;
}

/// Handles the first of the arrivals; false when it must wait for something.
bool session_state::accept_front() {
  auto& front = arrivals.front();
  if (replay(front)) {
    arrivals.pop_front();
    return true;
  }
  if (auto refusal = why_refused(front.what)) {
    refuse_front(std::move(*refusal));
    return true;
  }
  if (!on_disk) ask_for_row();
  if (runs_alone()) return false;
  if (front.no_kernel) return run_front_alone();
  auto const key = key_for(front.what);
  auto const waiting = arrivals.size();
  if (auto const* at = find_slot(key); at == nullptr || !at->kernel) start_kernel(key, &front.what);
  if (arrivals.size() < waiting) return true;  // refused, perhaps with all the others
  auto* at = find_slot(key);
  if (!on_disk || at == nullptr || !at->kernel || at->kernel->ending || at->kernel->row.state != storage::link_state::live)
    return false;
  record_front(*at);
  return true;
}

/// The row of the first of the arrivals, which has an id from now on.
storage::cell_record session_state::row_of_front() {
  auto& front = arrivals.front();
  auto& what = front.what;
  if (what.cell.empty()) what.cell = cell_id("c-" + make_ulid());
  storage::cell_record record;
  record.session = own_row.number;
  record.number = last_number + 1;
  record.cell = what.cell;
  record.code = front.code;
  record.source = shown(what.code);
  record.queued_at = now_ms();
  record.timeout_ms = what.timeout_ms;
  record.background_after_ms = what.background_after_ms;
  return record;
}

/// The one step after which a cell is accepted; a store that does not take it refuses it.
void session_state::record_front(slot& at) {
  auto& front = arrivals.front();
  auto& what = front.what;
  auto record = row_of_front();
  storage::changes unit;
  auto const before = own_row;
  auto is_changed = take_settings(what);
  if (std::exchange(own_row.slot, at.number) != at.number) is_changed = true;
  if (is_changed) unit.push_back(storage::put_session{own_row});
  storage::outbox_record outbox{own_row.number, record.number, what.code,
                                what.reset,     at.number,     what.if_kernel ? what.if_kernel->text : ""};
  auto link = at.kernel->row;
  auto const at_once = !shared->settings.strict_durability && !what.reset && foreground() == nullptr && at.takes_cells();
  if (at_once) {
    record.kernel = link.kernel;
    record.generation = ++link.generation;  // the link's own row follows with the start; load() takes the higher one
  }
  unit.push_back(storage::put_cell{record});
  unit.push_back(storage::put_outbox{outbox});
  if (failpoint(failpoint_id::core_before_accept_recorded)) {
    own_row = before;
    return refuse_front({error_code::store_full, "cannot record cell " + what.cell.text + "; nothing ran, send it again", {}});
  }
  if (auto committed = shared->commit(unit); !committed) {
    own_row = before;
    return refuse_front(committed.error());
  }
  (void)failpoint(failpoint_id::core_after_accept_recorded);
  ++last_number;
  at.kernel->row = std::move(link);
  shared->move_later(own_row.number, record.number);
  if (is_changed) shared->move_later(own_row.number);

  auto& cell = cells.emplace_back(make_live(record, std::move(outbox)));
  auto accepted = std::move(front);
  arrivals.pop_front();
  if (shared->settings.strict_durability) {
    cell.awaits_disk = std::move(accepted);
    if (key_of(at).environment == "local") unit = {storage::put_cell{record}};  // elsewhere its source outlives a reboot, too
    self->send(shared->disk, commit_to_disk{std::move(unit), address(), disk_tag::first_cell + record.number});
    return;
  }
  if (at_once) send_execute(at, cell);
  tell_accepted(cell, accepted);
}

void session_state::tell_accepted(live_cell& cell, arrival const& accepted) {
  publish("cell_accepted", accepted_details(cell.row));
  if (accepted.what.stream) {
    link::json_writer params;
    write_key(params, own_row.key).text("cell", cell.row.cell.text);
    self->send(accepted.from.front, notification{accepted.from.connection, "cell.accepted", params.take()});
  }
  add_waiter(cell, accepted.from, accepted.what.wait_ms, accepted.what.stream, 0);
}

/// Strict durability: the id of an accepted cell is synced, so it may be told and sent; or it is not, and then it never was.
void session_state::on_cell_synced(cell_number number, std::optional<storage::failure> const& problem) {
  auto found = std::find_if(cells.begin(), cells.end(), [&](auto const& each) { return each.row.number == number; });
  if (found == cells.end() || !found->awaits_disk) return;
  auto const accepted = std::move(*found->awaits_disk);
  found->awaits_disk.reset();
  if (problem) {
    answer_error(accepted.from, from_storage(*problem));
    for (auto const& each : found->waiters) answer_error(each.to, from_storage(*problem));
    storage::changes unit{storage::erase_cell{own_row.number, number}, storage::erase_outbox{own_row.number, number}};
    if (found->alone) unit.push_back(storage::erase_notice{own_row.number, found->alone->notice.notice});
    if (!shared->commit(unit))
      log::error("store-failed", "cell {} of session {} was refused and could not be removed", number, own_row.number);
    cells.erase(found);
  } else {
    tell_accepted(*found, accepted);
    if (found->alone) begin_alone(*found);
  }
  advance();
}

/// The session's last cwd and variables; whether they are others now.
bool session_state::take_settings(run_cell const& what) {
  auto changed = false;
  if (what.cwd && *what.cwd != own_row.cwd) {
    own_row.cwd = *what.cwd;
    changed = true;
  }
  if (!what.env.empty()) {
    auto merged = as_map(own_row.variables);
    for (auto const& [name, value] : what.env) merged[name] = value;
    std::vector<std::string> lines;
    lines.reserve(merged.size());
    for (auto const& [name, value] : merged) lines.push_back(fmt::format("{}={}", name, value));
    if (lines != own_row.variables) {
      own_row.variables = std::move(lines);
      changed = true;
    }
  }
  return changed;
}

/// Makes the intended link of a kernel of that key and asks for it. `asking`: the first arrival, whose settings are recorded with the link
/// and taken back if that kernel does not start; null: accepted cells need it.
void session_state::start_kernel(storage::kernel_slot const& key, run_cell const* asking) {
  if (shared->shutting_down || closing || !is_admitted(key, asking == nullptr)) return;
  auto before = own_row;
  auto const is_changed = asking != nullptr && cells.empty() && take_settings(*asking);
  auto const number = make_slot(key);
  if (!number) {
    take_row(std::move(before));
    return refuse_front(number.error());  // a key that has cells has a slot
  }
  auto& at = slots.at(*number);
  auto const& row = key_of(at);
  storage::link_record link;
  link.kernel = kernel_id("k-" + make_ulid());
  link.session = own_row.number;
  link.slot = at.number;
  link.environment = row.environment;
  link.python = link.asked_python = row.python;
  link.tools = row.tools;
  link.token = random_hex(32);
  link.directory = "run/" + link.kernel.text;
  link.protocol = link::protocol;
  link.program = program_digest();
  link.reason = next_kernel_reason(at, asking != nullptr ? asking->reset : foreground()->outbox.reset);
  link.started_at = link.idle_since = now_ms();
  storage::changes unit{storage::put_link{link}};  // it tells of a new slot until its kernel is live
  if (is_changed) unit.push_back(storage::put_session{own_row});
  auto committed = shared->commit(unit);
  if (committed && failpoint(failpoint_id::core_after_spawn_recorded)) {
    (void)shared->commit({storage::put_session{before}, storage::erase_link{link.kernel}});
    committed = fail(error_code::store_full, "cannot record a kernel; nothing ran");
  }
  if (!committed) {
    take_row(std::move(before));
    while (!arrivals.empty()) refuse_front(committed.error());
    if (!cells.empty()) try_again_later();
    return;
  }
  if (is_changed) shared->move_later(own_row.number);
  at.kernel = session_kernel{{}, std::move(link), {}, false, {}};
  at.kernel->row_before = std::move(before);
  at.kernel->place = shared->kernels->enter(own_row.key.owner, key.environment == "local");
  spawn_kernel(at);
}

/// The store did not take what the first cell needs; nothing else would come back to it.
void session_state::try_again_later() {
  dispatch_retry_at = steady_clock::now() + defaults::store_retry;
  wake_at(*dispatch_retry_at);
}

/// Hands the foreground cell to an attached kernel that does not have it yet.
void session_state::dispatch() {
  if (shared->shutting_down) return;
  // Those that an earlier incarnation left in the background are there; an end asked for before the kernel was attached is told now.
  for (auto& cell : cells) {
    if (!cell.row.background || cell.sent) continue;
    auto& at = place_of(cell);
    if (!at.takes_cells()) continue;
    cell.sent = true;
    if (cell.ending == cell_ending::interrupt) send_interrupt(at, cell);
  }
  auto* const first = foreground();
  if (first == nullptr || first->sent || first->awaits_disk) return;
  auto& front = *first;
  auto& at = place_of(front);
  if (!at.takes_cells()) return;
  if (front.row.kernel != at.kernel->row.kernel) {
    if (!front.outbox.if_kernel.empty() && front.outbox.if_kernel != at.kernel->row.kernel.text) {
      link::cell_error why{
          "kernel_changed", "the session does not have kernel " + front.outbox.if_kernel + " any more; nothing ran", {}};
      if (end_queued(front, storage::cell_status::error, std::move(why))) dispatch();
      return;
    }
    if (front.outbox.reset && begins_with_reset(front)) return;
    auto row = front.row;
    auto next = at.kernel->row;
    row.kernel = next.kernel;
    row.generation = ++next.generation;
    if (!shared->commit({storage::put_cell{row}})) return try_again_later();
    front.row = std::move(row);
    at.kernel->row = std::move(next);
  }
  if (front.row.status == storage::cell_status::queued)
    send_execute(at, front);
  else
    front.sent = true;                                                    // it runs there already
  if (front.ending == cell_ending::interrupt) send_interrupt(at, front);  // asked for before the kernel was attached
}

/// Whether anything that the cell is not to find is still there; it is being ended then, in all kernels of the session.
bool session_state::begins_with_reset(live_cell const& cell) {
  auto next = own_row;
  auto is_ending = false, is_forgotten = false;
  for (auto& [number, at] : slots) {
    if (!at.kernel) {
      if (!at.saved.row || is_unwanted(at) || number == cell.outbox.slot) continue;
      slot_in(next, number).fresh_reason = "reset";
      is_forgotten = true;
    } else if (has_namespace(at)) {
      is_ending = true;
      if (at.kernel->ending) continue;
      end_cells_out(at, cell_ending::reset);
      end_kernel_for(at, end_reason::reset, end_kernel::how::kill);
    }
  }
  if (!is_forgotten) return is_ending;
  if (!shared->commit({storage::put_session{next}})) return try_again_later(), true;
  own_row = std::move(next);
  shared->move_later(own_row.number);
  for (auto& [number, at] : slots) settle_saved(at);
  return is_ending;
}

void session_state::send_execute(slot& at, live_cell& cell) {
  link::execute message{cell.row.cell,         cell.row.generation,
                        cell.outbox.code,      static_cast<std::uint64_t>(cell.row.timeout_ms),
                        defaults::output_kept, static_cast<std::uint64_t>(cell.row.background_after_ms)};
  at.kernel->port->send_execute(link::to_json(message));
  cell.sent = true;
  cell.sent_at = steady_clock::now();
  if (cell.ending == cell_ending::none) cell.overdue.reset();  // counted anew
  set_overdue(cell);
}

}  // namespace holdfast::core
