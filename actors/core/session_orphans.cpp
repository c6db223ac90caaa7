// What was given up? A kernel that could not be reached for as long as its budget lasts stays where it is, as an orphan of its session,
// which gets a fresh one. At the idle limit, or when the session is reset or closed, it is ended with its jobs, and only that is done to
// it: its results come too late. Before that: what is told of a silent one.
#include <algorithm>

#include "actors/base/clock.hpp"
#include "actors/base/failpoints.hpp"
#include "actors/base/identity.hpp"
#include "actors/core/event_details.hpp"
#include "actors/core/kernel.hpp"
#include "actors/core/session_state.hpp"

namespace holdfast::core {

using std::chrono::steady_clock;

namespace {

/// The slot gets that number, the highest one, in the row.
void renumber(storage::session_record& row, std::uint32_t from, std::uint32_t to) {
  auto const found = std::find_if(row.slots.begin(), row.slots.end(), [=](auto const& each) { return each.number == from; });
  if (found == row.slots.end()) return;
  found->number = to;
  std::rotate(found, std::next(found), row.slots.end());
  if (row.slot == from) row.slot = to;
}

}  // namespace

void session_state::on_silent(kernel_silent const& told) {
  auto* const at = holder(told.kernel);
  if (at == nullptr) return;
  if (!std::exchange(at->kernel->was_tried, true)) shared->look_at_kernels();
  answer_fork();  // it is there, and waited for
  if (ending_kernels) return end_idle_kernels();
  if (at->kernel->row.epoch == 0) return;  // one that starts slowly has nothing to lose
  auto const is_of_it = [&](auto const& each) { return each.kind == "silent" && names_kernel(each, told.kernel); };
  if (std::any_of(notices.begin(), notices.end(), is_of_it)) return;
  auto notice = make_notice(
      "silent",
      "the python kernel runs but has not answered since the daemon's restart, or since its connection was lost; it is waited for",
      {});
  name_kernel(notice, told.kernel);
  if (shared->commit({storage::put_notice{notice}})) add_notice(std::move(notice));
}

std::uint32_t session_state::renumbered(storage::session_record& row, slot const& at, storage::changes& unit) const {
  if (at.saved.row) return at.number;  // what it has not restored yet is there under this number
  auto const number = row.slots.back().number + 1;
  renumber(row, at.number, number);
  for (auto const& cell : cells) {
    if (!is_queued(cell) || cell.outbox.slot != at.number) continue;
    auto moved = cell.outbox;
    moved.slot = number;
    unit.push_back(storage::put_outbox{std::move(moved)});
  }
  return number;
}

void session_state::take_number(slot& at, std::uint32_t number) {
  if (number == at.number) return;
  for (auto& cell : cells)
    if (cell.outbox.slot == at.number) cell.outbox.slot = number;
  for (auto& [other, each] : slots)  // a start that fails goes back to the slot where it is then
    if (each.kernel && each.kernel->row_before) renumber(*each.kernel->row_before, at.number, number);
  auto node = slots.extract(at.number);
  node.key() = at.number = number;
  slots.insert(std::move(node));
}

void session_state::adopt_orphan(storage::link_record link) {
  auto const& settings = shared->settings;
  auto const limit = settings.scaled(settings.idle.count() > 0 ? settings.idle : defaults::idle);
  auto const is_gone = link.environment == "local" && inspect(link.process) == process_state::gone;
  auto const left =
      is_gone ? milliseconds(0) : std::clamp(milliseconds(link.idle_since - now_ms()) + limit, milliseconds(0), limit);
  orphans.push_back({std::move(link), steady_clock::now() + left});
  wake_at(orphans.back().due);
}

kernel_view session_state::view_of(orphan const& of) const {
  kernel_view view;
  view.key = own_row.key;
  view.kernel = of.row.kernel;
  view.environment = of.row.environment;
  view.python = of.row.python;
  view.tools = of.row.tools;
  view.pid = of.row.process.pid;
  view.is_orphan = true;
  view.jobs = jobs_of(of.row.kernel).size();
  view.started_at = of.row.started_at;
  view.idle_since = of.row.idle_since;
  return view;
}

void session_state::end_orphans(std::optional<kernel_id> const& only) {
  auto const now = steady_clock::now();
  for (auto& each : orphans) {
    if (only && each.row.kernel != *only) continue;
    each.due = std::min(each.due, now);
    each.waited_until = now + defaults::orphan_end;
  }
  look_at_orphans(now);
}

void session_state::look_at_orphans(steady_time now) {
  for (auto& each : orphans) {
    if (each.due > now) {
      wake_at(each.due);
    } else if (!each.actor) {
      each.actor = spawn_kernel_actor(self->system(), shared, {each.row, address(), {}, true});
    }
    if (each.waited_until > now) {
      wake_at(each.waited_until);
      continue;
    }
    for (auto const& to : std::exchange(each.stop_waiters, {}))
      answer_error(
          to,
          {error_code::unreachable, "kernel " + each.row.kernel.text + " was given up and has not ended yet; it is tried on", {}});
  }
  if (!closing && !ending_kernels) return;
  // Its row stays: the next start finds it, and that its session is gone.
  auto const is_late = [now](auto const& each) { return each.waited_until <= now; };
  for (auto const& each : orphans)
    if (is_late(each) && each.actor) self->send(each.actor, let_go{});
  if (std::erase_if(orphans, is_late) > 0) go_on_without_kernel();
}

void session_state::on_orphan_dead(kernel_dead const& told) {
  auto const found = std::find_if(orphans.begin(), orphans.end(), [&](auto const& each) { return each.row.kernel == told.kernel; });
  if (found == orphans.end()) return;
  auto const fallen = jobs_after_death(told.kernel, told.left);
  storage::changes unit{storage::erase_link{told.kernel}};
  for (auto const& job : fallen) unit.push_back(storage::put_job{job});
  if (failpoint(failpoint_id::core_before_orphan_forgotten) || !shared->commit(unit)) {  // as if it had not been looked at yet
    found->actor = {};
    found->due = steady_clock::now() + defaults::store_retry;
    return wake_at(found->due);
  }
  (void)failpoint(failpoint_id::core_after_orphan_forgotten);
  for (auto const& frame : told.left.frames) {
    auto const* what = std::get_if<link::from_kernel>(&frame.what);
    auto const* done = what ? std::get_if<link::done>(what) : nullptr;
    if (done == nullptr) continue;
    if (auto const row = stored(done->cell); row && row->status == storage::cell_status::lost)
      log::info("late-result", "kernel {}: the result of cell {} came too late and is dropped", told.kernel.text, done->cell.text);
  }
  log::info("orphan-ended", "orphan {}: ended", told.kernel.text);
  publish("orphan_ended", kernel_details(told.kernel, found->waited_until == steady_time{} ? "idle" : "order"));
  auto const ended = std::move(*found);
  orphans.erase(found);
  keep_jobs(fallen);
  for (auto const& to : ended.stop_waiters) answer_text(to, view_of(ended).to_json());
  shared->remove_kernel_files(ended.row);
  if (!slots.contains(ended.row.slot))  // what it saved at its grace means nothing
    for (auto const* ending : {"", ".part"})
      self->send(shared->files, remove_tree{shared->path(state_path(own_row.number, ended.row.slot) + ending)});
  go_on_without_kernel();
}

}  // namespace holdfast::core
