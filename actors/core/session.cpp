#include "actors/core/session.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <caf/io/middleman.hpp>
#include <caf/send.hpp>

#include "actors/base/clock.hpp"
#include "actors/core/event_details.hpp"
#include "actors/core/kernel.hpp"
#include "actors/core/session_state.hpp"
#include "actors/env/messages.hpp"

namespace holdfast::core {

/// To itself, when nothing can be sent to it any more: what is in the mailbox was answered.
struct retire {};

}  // namespace holdfast::core

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::retire)

namespace holdfast::core {

using std::chrono::steady_clock;

session_state::session_state(caf::io::broker* broker, shared_context context, storage::session_record record, bool fresh)
    : self(broker), shared(std::move(context)), own_row(std::move(record)), on_disk(!fresh) {}

std::filesystem::path session_state::output_file(storage::cell_record const& cell) const {
  return shared->settings.home / "output" / std::to_string(cell.session) / std::to_string(cell.number);
}

std::filesystem::path session_state::display_directory(storage::cell_record const& cell) const {
  return shared->settings.home / "output" / std::to_string(cell.session) / (std::to_string(cell.number) + ".displays");
}

live_cell session_state::make_live(storage::cell_record row, storage::outbox_record outbox) const {
  output_log output(output_file(row), defaults::output_kept);
  display_store displays(display_directory(row));
  return {std::move(row), std::move(outbox), {}, false, {}, {}, {}, {}, std::move(output), std::move(displays), {}};
}

live_cell* session_state::find(cell_id const& wanted) {
  auto found = std::find_if(cells.begin(), cells.end(), [&](auto const& each) { return each.row.cell == wanted; });
  return found == cells.end() ? nullptr : &*found;
}

live_cell* session_state::find(cell_number wanted) {
  auto found = std::find_if(cells.begin(), cells.end(), [&](auto const& each) { return each.row.number == wanted; });
  return found == cells.end() ? nullptr : &*found;
}

live_cell const* session_state::foreground() const {
  auto found = std::find_if(cells.begin(), cells.end(), [](auto const& each) { return !each.row.background; });
  return found == cells.end() ? nullptr : &*found;
}

live_cell* session_state::foreground() { return const_cast<live_cell*>(std::as_const(*this).foreground()); }

bool session_state::has_cells_out(slot const& at) const {
  return std::any_of(cells.begin(), cells.end(), [&](auto const& each) { return is_out(each, at); });
}

live_cell* session_state::most_likely(slot const& at) {
  auto* front = foreground();
  if (front != nullptr && is_out(*front, at)) return front;
  auto found = std::find_if(cells.begin(), cells.end(), [&](auto const& each) { return is_out(each, at); });
  return found == cells.end() ? nullptr : &*found;
}

void session_state::end_cells_out(slot const& at, cell_ending why) {
  for (auto& cell : cells)
    if (is_out(cell, at) && cell.ending == cell_ending::none) cell.ending = why;
}

void session_state::load(std::vector<storage::link_record> links, session_records records) {
  auto const is_orphan = [](auto const& link) { return link.state == storage::link_state::orphan; };
  auto const first_orphan = std::stable_partition(links.begin(), links.end(), std::not_fn(is_orphan));
  std::for_each(first_orphan, links.end(), [this](auto& link) { adopt_orphan(std::move(link)); });
  links.erase(first_orphan, links.end());
  for (auto const& link : links) take_key(link);
  take_row(std::move(own_row));
  if (!on_disk) {
    ask_for_row();
    publish("session_created", reason_details(links.empty() ? "run" : "fork"));
    if (links.empty()) return;
    for (auto const& link : links) publish("kernel_started", kernel_details(link.kernel, link.reason));
  }
  auto& stores = *shared->stores;
  last_number = records.last_number;
  notices = std::move(records.notices);
  for (auto& each : records.saved)
    if (auto const at = slots.find(each.slot); at != slots.end()) at->second.saved.row = std::move(each);
  std::copy_if(records.jobs.begin(), records.jobs.end(), std::back_inserter(jobs),
               [](auto const& each) { return !storage::has_ended(each.state); });
  for (auto& link : links) {
    auto const found = slots.find(link.slot);
    if (found == slots.end() || found->second.kernel) {  // no such rows were written
      log::error("recovery-incomplete", "kernel {} of session {} has no slot", link.kernel.text, own_row.number);
      continue;
    }
    auto& at = found->second;
    at.kernel = session_kernel{{}, link, {}, false, {}};
    at.kernel->place = shared->kernels->enter(own_row.key.owner, link.environment == "local");
    if (link.state == storage::link_state::intended)
      spawn_kernel(at);  // asked for again: starting is idempotent by kernel id
    else
      at.kernel->actor = spawn_kernel_actor(self->system(), shared, {link, address(), {}});
  }
  // A daemon that died behind the end of a link has perhaps not ended its kernel. Here its directory was removed at the start; elsewhere it
  // would live on, and at its grace save what it had over the file that its successor may have saved to.
  for (auto const& [number, at] : slots)
    if (auto const& environment = key_of(at).environment; at.saved.row && !at.kernel && environment != "local")
      if (auto const there = shared->environment_of(environment)) self->send(there, env::remove_kernel{at.saved.row->kernel, {}});
  std::vector<live_cell> unknown;
  for (auto& record : records.open) {
    auto cell = make_live(record, {});
    auto outbox = stores.outbox(own_row.number, record.number);
    if (outbox && *outbox) cell.outbox = **outbox;
    auto const has_slot = outbox && *outbox && slots.contains((*outbox)->slot);
    auto const known = record.status == storage::cell_status::running ? holder(record.kernel) != nullptr : has_slot;
    if (known)
      cells.push_back(std::move(cell));
    else
      unknown.push_back(std::move(cell));
  }
  // Nothing can tell what became of these: their kernel's records are gone with a reboot or another home.
  for (auto& cell : unknown) {
    cell.row.status = storage::cell_status::lost;
    cell.row.finished_at = now_ms();
    cell.row.output_bytes = std::max(cell.row.output_bytes, cell.output.total());
    auto facts = facts_of(cell);
    cell.row.displays = static_cast<std::uint32_t>(facts.displays.size());
    facts.row = cell.row;
    facts.death = death_facts{};
    facts.kernel.reset();
    cell.row.result = result_json(facts);
    if (shared->commit({storage::put_cell{cell.row}, storage::erase_outbox{cell.row.session, cell.row.number}})) {
      publish("cell_finished", finished_details(cell.row, "records_gone"));
      shared->move_later(cell.row.session, cell.row.number);
    }
  }
  for (auto& cell : cells) {
    auto* const at = holder(cell.row.kernel);
    if (at == nullptr) continue;
    at->kernel->row.generation = std::max(at->kernel->row.generation, cell.row.generation);
    set_overdue(cell);
  }
  advance();
}

void session_state::advance() {
  if (ending_kernels) return end_idle_kernels();
  // Before those that came later: the room for its kernel is not given to them.
  if (auto* first = foreground(); first && !first->alone)
    if (auto& at = place_of(*first); !at.kernel) start_kernel(key_of(at), nullptr);
  accept_arrivals();
  for (auto& [number, at] : slots) settle_saved(at);
  dispatch();
  guard_background();
}

void session_state::on_call(session_call& call) {
  if (unloaded) return self->send(shared->supervisor, std::move(call));
  if (held_back) return held_back->push_back(std::move(call));
  auto& from = call.from;
  auto const is_run = std::holds_alternative<run_cell>(call.what);
  if (gone && is_run) return answer_error(from, being_closed(own_row.key));
  if (gone || (closing && !is_run && !std::holds_alternative<close_session>(call.what)))
    return answer_error(from, unknown_session(own_row.key));
  if (shared->shutting_down)
    return answer_error(from, {error_code::shutting_down, "the daemon is shutting down; send it again later", {}});
  std::visit(
      [&](auto& what) {
        using request = std::decay_t<decltype(what)>;
        if constexpr (requires { what.text_limit; }) from.text_limit = what.text_limit;
        if constexpr (std::is_same_v<request, run_cell>)
          on_run(from, std::move(what));
        else if constexpr (std::is_same_v<request, get_cell>)
          on_get(from, what.cell);
        else if constexpr (std::is_same_v<request, wait_cell>)
          on_wait(from, what);
        else if constexpr (std::is_same_v<request, list_cells>)
          on_list(from, what);
        else if constexpr (std::is_same_v<request, read_output>)
          on_read_output(from, what);
        else if constexpr (std::is_same_v<request, read_display>)
          on_read_display(from, what);
        else if constexpr (std::is_same_v<request, list_variables>)
          on_list_variables(from, what);
        else if constexpr (std::is_same_v<request, interrupt_cell>)
          on_interrupt(from, what);
        else if constexpr (std::is_same_v<request, get_session>)
          answer_text(from, row());
        else if constexpr (std::is_same_v<request, fork_session>)
          on_fork(from, what);
        else if constexpr (std::is_same_v<request, reset_session>)
          on_reset(from);
        else
          on_close(from);
      },
      call.what);
}

void session_state::ask_for_row() {
  if (!std::exchange(row_asked, true))
    self->send(shared->disk, commit_to_disk{{storage::put_session{own_row}}, address(), disk_tag::session_row});
}

void session_state::on_disk_committed(disk_committed const& answer) {
  if (answer.problem) shared->on_refused(*answer.problem);
  if (answer.tag >= disk_tag::first_cell) return on_cell_synced(answer.tag - disk_tag::first_cell, answer.problem);
  if (answer.tag == disk_tag::session_end) {
    if (held_back) return on_blank_erased(answer.problem);
    if (!answer.problem) return finish_close();
    for (auto const& to : std::exchange(close_waiters, {})) answer_error(to, from_storage(*answer.problem));
    closing = false;
    return;
  }
  if (answer.tag >= disk_tag::copy_put)
    return on_copy_recorded(static_cast<std::uint32_t>(answer.tag - disk_tag::copy_put), answer.problem);
  auto const of_slot = [&](disk_tag tag) {
    auto const found = slots.find(static_cast<std::uint32_t>(answer.tag - tag));
    return found == slots.end() ? nullptr : &found->second;
  };
  if (answer.tag >= disk_tag::saved_erased) {
    if (auto* at = of_slot(disk_tag::saved_erased)) on_saved_erased(*at, answer.problem);
    return;
  }
  if (answer.tag >= disk_tag::saved_put) {
    if (auto* at = of_slot(disk_tag::saved_put)) on_saved_recorded(*at, answer.problem);
    return;
  }
  row_asked = false;
  // Nothing was accepted yet: whoever waits for that may send again.
  while (answer.problem && !arrivals.empty()) refuse_front(from_storage(*answer.problem));
  on_disk = !answer.problem;
  advance();
}

/// What the store did not take is told again, as if it had just come.
void session_state::retry_stalled() {
  std::vector<news> all;  // a slot may be gone with what was told of it
  for (auto& [number, at] : slots) all.push_back(std::exchange(at.stalled, {}));
  for (auto& told : all)
    if (auto* frames = std::get_if<kernel_said>(&told))
      on_said(std::move(*frames));
    else if (auto* death = std::get_if<kernel_dead>(&told))
      on_dead(std::move(*death));
    else if (auto* failed = std::get_if<kernel_start_failed>(&told))
      on_start_failed(*failed);
  if (auto* cell = alone(); cell && cell->alone->ended) on_per_call_ended(std::move(*cell->alone->ended));
}

void session_state::on_wake() {
  auto const now = steady_clock::now();
  auto const due = [&](std::optional<steady_time>& when) { return wake.due(self, when, now); };
  if (due(store_retry_at)) retry_stalled();
  look_at_orphans(now);
  refuse_asked();
  answer_job_waiters(now);
  std::set<slot*> overdue;
  for (auto& cell : cells) {
    for (auto& each : cell.waiters)
      if (each.until && *each.until <= now)
        answer_current(cell, each.to);
      else if (each.until)
        wake_at(*each.until);
    std::erase_if(cell.waiters, [&](auto const& each) { return each.until && *each.until <= now; });
    // A result that waits for the store is no reason to kill.
    auto& at = place_of(cell);
    if (std::holds_alternative<std::monostate>(at.stalled) && due(cell.overdue)) {
      if (auto const waited = waited_since(cell.row.kernel, cell.waited); waited.count() > 0) {
        wake_at(*(cell.overdue = now + waited));
        continue;
      }
      if (cell.ending == cell_ending::none) cell.ending = cell_ending::timeout;
      overdue.insert(&at);
    }
  }
  for (auto* at : overdue) end_kernel_for(*at, end_reason::deadline, end_kernel::how::abort);
  while (!arrivals.empty() && arrivals.front().deadline <= now) refuse_front(not_admitted());
  for (auto const& each : arrivals) wake_at(each.deadline);
  if (due(admission_until)) end_unadmitted();
  if (due(dispatch_retry_at)) advance();
}

void session_state::on_retire() {
  self->send(shared->supervisor, session_ended{});
  self->send(self, retire{});
}

caf::actor spawn_session(caf::actor_system& system, shared_context const& shared, session_seed const& seed) {
  auto made = system.middleman().spawn_broker([shared, seed](caf::io::broker* self) -> caf::behavior {
    set_handlers(self, "session");
    auto state = std::make_shared<session_state>(self, shared, seed.row, seed.fresh);
    shared->sessions[seed.row.key].face = state.get();
    // However it ends, nobody may look at it or send to it afterwards.
    self->attach_functor([shared, key = seed.row.key, id = self->id()] {
      auto found = shared->sessions.find(key);
      if (found != shared->sessions.end() && found->second.actor.id() == id) shared->sessions.erase(found);
    });
    state->fork_asked = seed.asked;
    state->load(seed.links, seed.records);
    auto const handled = [state](auto&& handle) {
      handle();
      state->after_message();
    };
    state->wake_at(steady_clock::now());  // it may have nothing to do
    return {
        [=](session_call& call) { handled([&] { state->on_call(call); }); },
        [=](stop_session_kernel const& order) { handled([&] { state->on_stop(order); }); },
        [=](hibernate_kernel const& order) { handled([&] { state->on_hibernate(order); }); },
        [=](room_for_kernel) { handled([&] { state->on_room(); }); },
        [=](job_call const& call) { handled([&] { state->on_job_call(call); }); },
        [=](job_group_ended const& told) { handled([&] { state->on_job_group_ended(told); }); },
        [=](wind_down order) { order.at_once ? state->end_all_at_once() : state->on_wind_down(order.end_kernels); },
        [=](kernel_live const& told) { handled([&] { state->on_live(told); }); },
        [=](kernel_start_failed const& told) { handled([&] { state->on_start_failed(told); }); },
        [=](kernel_attached const& told) { handled([&] { state->on_attached(told); }); },
        [=](kernel_said& told) { handled([&] { state->on_said(std::move(told)); }); },
        [=](kernel_unreachable const& told) { handled([&] { state->on_unreachable(told); }); },
        [=](kernel_silent const& told) { handled([&] { state->on_silent(told); }); },
        [=](kernel_dead& told) { handled([&] { state->on_dead(std::move(told)); }); },
        [=](kernel_left const& told) { handled([&] { state->on_left(told); }); },
        [=](env::per_call_ready const& told) { handled([&] { state->on_per_call_ready(told); }); },
        [=](env::per_call_refused const& told) { handled([&] { state->on_per_call_refused(told); }); },
        [=](env::per_call_said const& told) { handled([&] { state->on_per_call_said(told); }); },
        [=](env::per_call_ended& told) { handled([&] { state->on_per_call_ended(std::move(told)); }); },
        [=](file_copied const& told) { handled([&] { state->on_file_copied(told); }); },
        [=](disk_committed const& answer) { handled([&] { state->on_disk_committed(answer); }); },
        [=](wake_up const& message) {
          if (state->wake.take(message)) handled([&] { state->on_wake(); });
        },
        [self](retire) { self->quit(); },
    };
  });
  shared->sessions[seed.row.key].actor = made;
  return made;
}

}  // namespace holdfast::core
