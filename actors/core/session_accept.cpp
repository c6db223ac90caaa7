// May this cell run, and where? From a run call to the execute frame: replay or conflict, a kernel, the record, then the send.
#include <algorithm>

#include <spdlog/fmt/fmt.h>

#include "actors/base/clock.hpp"
#include "actors/base/failpoints.hpp"
#include "actors/base/hash.hpp"
#include "actors/core/kernel.hpp"
#include "actors/core/key_json.hpp"
#include "actors/core/session_state.hpp"
#include "actors/env/interpreter.hpp"
#include "actors/link/handshake.hpp"
#include "actors/link/json_writer.hpp"
#include "actors/link/utf8.hpp"

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

std::string cell_details(cell_id const& cell) { return "{\"cell\":\"" + cell.text + "\"}"; }

error conflict(cell_id const& cell) {
  return {error_code::cell_conflict, "cell " + cell.text + " exists with other code; use a new id for new code", {}};
}

std::map<std::string, std::string> as_map(std::vector<std::string> const& variables) {
  std::map<std::string, std::string> out;
  for (auto const& each : variables)
    if (auto const split = each.find('='); split != std::string::npos) out[each.substr(0, split)] = each.substr(split + 1);
  return out;
}

/// Why the kernel of this link must be replaced before that cell; none: it need not be.
std::optional<end_reason> fresh_kernel_for(storage::outbox_record const& cell, storage::link_record const& link) {
  if (cell.python != link.asked_python) return end_reason::environment_changed;
  if (cell.reset && (link.generation > 0 || link.reason == "restored" || link.reason == "forked")) return end_reason::reset;
  return std::nullopt;
}

}  // namespace

void session_state::on_run(reply_to from, run_cell what) {
  if (closing) return answer_error(from, being_closed(own_row.key));
  if (arrivals.size() >= defaults::max_queue_per_session)
    return answer_error(from, {error_code::queue_full,
                               "session " + own_row.key.session + " has " + std::to_string(arrivals.size()) +
                                   " cells waiting for a kernel; wait for one",
                               {}});
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
  answer_error(arrivals.front().from, std::move(problem));
  arrivals.pop_front();
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
  if (what.if_kernel && (!own_kernel || own_kernel->ending || own_kernel->row.kernel != *what.if_kernel))
    return error{error_code::kernel_changed,
                 "session " + own_row.key.session + " does not have kernel " + what.if_kernel->text + " any more",
                 {}};
  if (what.if_kernel && (what.reset || (what.python && *what.python != own_kernel->row.asked_python)))
    return error{
        error_code::kernel_changed,
        "a cell for kernel " + what.if_kernel->text + " alone cannot ask for a fresh one; leave out if_kernel, or reset and python",
        {}};
  if (what.python && *what.python != (own_kernel ? own_kernel->row.asked_python : own_row.python)) {
    // Looked for before the session's kernel is ended for it; whether it runs is seen later.
    auto variables = as_map(own_row.variables);
    for (auto const& [name, value] : what.env) variables[name] = value;
    if (auto const found = env::find_interpreter(*what.python, shared->settings, shared->variables, variables); !found)
      return found.error();
  }
  auto const waiting = std::count_if(cells.begin(), cells.end(), [this](auto const& each) { return !is_out(each); });
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
    publish("refused", "{\"reason\":\"" + std::string(to_string(refusal->code)) + "\"}");
    refuse_front(std::move(*refusal));
    return true;
  }
  if (!on_disk) ask_for_row();
  if (!own_kernel) start_kernel();
  if (!on_disk || !own_kernel || own_kernel->ending || own_kernel->row.state != storage::link_state::live) return false;
  record_front();
  return true;
}

/// The one step after which a cell is accepted; a store that does not take it refuses it.
void session_state::record_front() {
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
  storage::changes unit;
  auto const before = own_row;
  take_settings(what, unit);
  storage::outbox_record outbox{own_row.number, record.number,   what.code,
                                what.reset,     python_of(what), what.if_kernel ? what.if_kernel->text : ""};
  auto link = own_kernel->row;
  auto const is_strict = shared->settings.strict_durability;
  auto const at_once =
      !is_strict && foreground() == nullptr && own_kernel->attached && may_send() && !fresh_kernel_for(outbox, link);
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
  own_kernel->row = std::move(link);
  shared->move_later(own_row.number, record.number);

  auto& cell = cells.emplace_back(make_live(record, std::move(outbox)));
  auto accepted = std::move(front);
  arrivals.pop_front();
  if (is_strict) {
    cell.awaits_disk = std::move(accepted);
    self->send(shared->disk, commit_to_disk{{storage::put_cell{record}}, address(), disk_tag::first_cell + record.number});
    return;
  }
  if (at_once) send_execute(cell);
  tell_accepted(cell, accepted);
}

void session_state::tell_accepted(live_cell& cell, arrival const& accepted) {
  publish("cell_accepted", cell_details(cell.row.cell));
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
    if (!shared->commit({storage::erase_cell{own_row.number, number}, storage::erase_outbox{own_row.number, number}}))
      log::error("store-failed", "cell {} of session {} was refused and could not be removed", number, own_row.number);
    cells.erase(found);
  } else {
    tell_accepted(*found, accepted);
  }
  advance();
}

/// The interpreter that a cell wants; one that names none wants that of the cell before it, or the one that the session last ran with.
std::string session_state::python_of(run_cell const& what) const {
  if (what.python) return *what.python;
  if (cells.empty()) return own_row.python;
  return is_out(cells.back()) ? own_kernel->row.asked_python : cells.back().outbox.python;
}

/// The session's last cwd and variables.
void session_state::take_settings(run_cell const& what, storage::changes& unit) {
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
  if (!changed) return;
  unit.push_back(storage::put_session{own_row});
  shared->move_later(own_row.number);
}

/// Makes the intended link, unless there is one by the records, and asks for its kernel.
void session_state::start_kernel() {
  if (shared->shutting_down || closing) return;
  if (!own_kernel) {
    // The first arrival says how. Its settings are recorded with the link: taken back if that kernel does not start.
    storage::changes unit;
    auto before = own_row;
    if (cells.empty() && !arrivals.empty()) take_settings(arrivals.front().what, unit);
    storage::link_record link;
    link.kernel = kernel_id("k-" + make_ulid());
    link.session = own_row.number;
    auto const wanted = !cells.empty()     ? cells.front().outbox.python
                        : arrivals.empty() ? own_row.python
                                           : python_of(arrivals.front().what);
    link.python = link.asked_python = wanted;
    link.token = random_hex(32);
    link.directory = "run/" + link.kernel.text;
    link.protocol = link::protocol;
    link.reason = next_kernel_reason(link.asked_python);
    link.started_at = link.idle_since = now_ms();
    unit.push_back(storage::put_link{link});
    auto committed = shared->commit(unit);
    if (committed && failpoint(failpoint_id::core_after_spawn_recorded)) {
      (void)shared->commit({storage::erase_link{link.kernel}});
      committed = fail(error_code::store_full, "cannot record a kernel; nothing ran");
    }
    if (!committed) {
      own_row = std::move(before);
      while (!arrivals.empty()) refuse_front(committed.error());
      if (!cells.empty()) try_again_later();
      return;
    }
    own_kernel = session_kernel{{}, std::move(link), {}, false, {}};
    own_kernel->row_before = std::move(before);
  }
  env::spawn_kernel request{
      {},          own_kernel->row.kernel,    own_kernel->row.token,     own_kernel->row.directory, own_kernel->row.asked_python,
      own_row.cwd, as_map(own_row.variables), state_path(own_row.number)};
  own_kernel->actor = spawn_kernel_actor(self->system(), shared, {own_kernel->row, address(), std::move(request)});
}

/// The store did not take what the first cell needs; nothing else would come back to it.
void session_state::try_again_later() {
  dispatch_retry_at = steady_clock::now() + defaults::store_retry;
  wake_at(*dispatch_retry_at);
}

/// Hands the foreground cell to an attached kernel that does not have it yet.
void session_state::dispatch() {
  if (!own_kernel || !own_kernel->attached || own_kernel->ending || shared->shutting_down || !may_send()) return;
  // Those that an earlier incarnation left in the background are there; an end asked for before the kernel was attached is told now.
  for (auto& cell : cells)
    if (cell.row.background && !std::exchange(cell.sent, true) && cell.ending == cell_ending::interrupt) send_interrupt(cell);
  auto* const first = foreground();
  if (first == nullptr) return;
  auto& front = *first;
  if (front.sent || front.awaits_disk) return;
  auto& link = own_kernel->row;
  if (front.row.kernel != link.kernel) {
    if (!front.outbox.if_kernel.empty() && front.outbox.if_kernel != link.kernel.text) {
      link::cell_error why{
          "kernel_changed", "the session does not have kernel " + front.outbox.if_kernel + " any more; nothing ran", {}};
      if (end_queued(front, storage::cell_status::error, std::move(why))) dispatch();
      return;
    }
    if (auto const reason = fresh_kernel_for(front.outbox, link)) {
      // A reset ends what goes on in the background; another python waits for it.
      if (*reason != end_reason::reset && has_cells_out()) return;
      end_cells_out(cell_ending::reset);
      return end_kernel_for(*reason, end_kernel::how::kill);
    }
    auto row = front.row;
    auto next = link;
    row.kernel = link.kernel;
    row.generation = ++next.generation;
    if (!shared->commit({storage::put_cell{row}})) return try_again_later();
    front.row = std::move(row);
    link = std::move(next);
  }
  if (front.row.status == storage::cell_status::queued)
    send_execute(front);
  else
    front.sent = true;                                                // it runs there already
  if (front.ending == cell_ending::interrupt) send_interrupt(front);  // asked for before the kernel was attached
}

void session_state::send_execute(live_cell& cell) {
  link::execute message{cell.row.cell,         cell.row.generation,
                        cell.outbox.code,      static_cast<std::uint64_t>(cell.row.timeout_ms),
                        defaults::output_kept, static_cast<std::uint64_t>(cell.row.background_after_ms)};
  own_kernel->port->send_execute(link::to_json(message));
  cell.sent = true;
  if (cell.ending == cell_ending::none) cell.overdue.reset();  // counted anew
  set_overdue(cell);
}

}  // namespace holdfast::core
