// Is there room for its kernel, and may that be ended for others? Waiting for admission, what the eviction policy looks at, hibernation on
// the supervisor's order, and leaving memory when nothing is left to do.
#include <algorithm>

#include <spdlog/fmt/fmt.h>

#include "actors/base/clock.hpp"
#include "actors/core/event_details.hpp"
#include "actors/core/session_state.hpp"

namespace holdfast::core {

using std::chrono::steady_clock;
using step = saved_namespace::step;

// ---- admission ----

bool session_state::is_admitted(storage::kernel_slot const& key, bool for_cells) {
  auto const is_here = key.environment == "local";
  short_of = shared->kernels->shortage_for(own_row.key.owner, turn, is_here);
  if (short_of == shortage::none) {
    leave_queue();
    return true;
  }
  if (!turn) turn = shared->kernels->wait(own_row.key.owner, address(), is_here);
  if (for_cells && !admission_until) {
    admission_until = steady_clock::now() + shared->settings.scaled(shared->settings.admission_timeout);
    wake_at(*admission_until);
  }
  return false;
}

void session_state::leave_queue() {
  turn = {};
  admission_until.reset();
}

void session_state::on_room() {
  if (turn) advance();
}

std::string session_state::shortage_in_words() const {
  auto const& roll = *shared->kernels;
  auto const& limits = roll.limits();
  auto const& owner = own_row.key.owner;
  if (short_of == shortage::of_owner)
    return fmt::format("owner {} has {} kernels and max_kernels_per_owner is {}", owner, roll.of(owner), limits.kernels_per_owner);
  if (short_of == shortage::memory)
    return fmt::format("{} kernels use {} MiB and max_memory_mb is {}", roll.kernels(), roll.memory_bytes() / defaults::mib,
                       limits.memory_bytes / defaults::mib);
  return fmt::format("there are {} kernels and max_kernels_hard is {}", roll.kernels(), limits.kernels_hard);
}

/// What a cell that has waited in vain is answered with.
error session_state::not_admitted() const {
  if (!turn && !arrivals.empty() && arrivals.front().interpreter)
    return {error_code::at_capacity,
            fmt::format(
                "no kernel could be started for session {}, and no interpreter was free for the cell in time: at most {} run at "
                "once; send it again",
                own_row.key.session, defaults::per_call_most),
            {}};
  if (!turn)
    return {
        error_code::at_capacity, fmt::format("no kernel was ready for session {} in time; send it again", own_row.key.session), {}};
  auto const patience = std::chrono::duration<double>(shared->settings.scaled(shared->settings.admission_timeout));
  return {error_code::at_capacity,
          fmt::format("no kernel for session {} in {} s: {}, and none of them can be hibernated; send it again, or end one with "
                      "session.reset or session.close",
                      own_row.key.session, patience.count(), shortage_in_words()),
          {}};
}

/// Accepted cells that have waited for room since their kernel was gone end without having run.
void session_state::end_unadmitted() {
  auto const why = not_admitted();
  leave_queue();
  publish("refused", refused_details(error_code::at_capacity, {}));
  for (std::size_t at = 0; at < cells.size();)
    if (!is_queued(cells[at]) || place_of(cells[at]).kernel ||
        !end_queued(cells[at], storage::cell_status::error, link::cell_error{"at_capacity", why.message, {}}))
      ++at;
  advance();
}

// ---- eviction ----

bool session_state::has_cells(slot const& at) const {
  return std::any_of(cells.begin(), cells.end(), [&](auto const& each) { return &place_of(each) == &at; });
}

std::size_t session_state::count_jobs(slot const& at) const {
  return static_cast<std::size_t>(std::count_if(jobs.begin(), jobs.end(), [&](auto const& each) { return at.has(each.kernel); }));
}

/// Nothing goes on in it and nothing is on its way to it.
bool session_state::is_idle(slot const& at) const {
  return at.is_attached() && !has_cells(at) && count_jobs(at) == 0 &&
         std::none_of(arrivals.begin(), arrivals.end(), [&](auto const& each) { return find_slot(key_for(each.what)) == &at; });
}

void session_state::add_candidates(std::vector<candidate>& into) const {
  for (auto const& [number, at] : slots) {
    if (!at.kernel) continue;
    auto const& link = at.kernel->row;
    candidate made;
    made.kernel = link.kernel.text;
    made.owner = own_row.key.owner;
    made.idle_since = link.idle_since;
    made.save_again_at = at.kernel->save_again_at;
    made.memory_bytes = at.kernel->place.memory_bytes();
    made.live_jobs = count_jobs(at);
    made.is_busy = has_cells(at) || at.saved.now == step::restoring || at.saved.now == step::erasing;
    made.is_asked_for =
        std::any_of(arrivals.begin(), arrivals.end(), [&](auto const& each) { return find_slot(key_for(each.what)) == &at; });
    made.is_pinned = !own_row.key.child.empty() && link.generation > 0;
    made.is_stale = is_stale(link);
    made.is_sought = link.environment == "local" && link.epoch > 0 && !at.kernel->was_tried;
    made.is_starting = !at.kernel->attached;
    made.is_being_ended = at.kernel->ending.has_value() || at.saved.now == step::snapshot || at.saved.now == step::recording;
    made.is_wholly_saveable = at.kernel->partly_saveable_at != link.generation;
    into.push_back(made);
  }
}

void session_state::on_measured(std::unordered_map<std::string, std::uint64_t> const& bytes) {
  for (auto& [number, at] : slots) {
    if (!at.kernel) continue;
    auto const found = bytes.find(at.kernel->row.kernel.text);
    if (found != bytes.end()) at.kernel->place.measured(found->second);
  }
}

/// The supervisor has looked a moment ago: since then a cell may have come. What else is asked of the kernel is no activity: it answers in
/// order, and is ended behind that.
void session_state::on_hibernate(hibernate_kernel const& order) {
  auto* const at = holder(order.kernel);
  if (at == nullptr || closing || shared->shutting_down || !is_idle(*at)) return;
  if (at->saved.row || at->saved.now != step::none) return;
  log::info("kernel-evicted", "kernel {} is chosen to be hibernated: {}", order.kernel.text, to_string(order.reason));
  if (!has_namespace(*at)) return end_kernel_for(*at, end_reason::hibernated, end_kernel::how::shutdown);
  save_and_end(*at,
               {order.kernel, end_reason::hibernated, std::string(to_string(order.reason)), order.even_in_part, {}, order.reason});
}

// ---- behind each message ----

/// Nothing of it is anywhere but in the stores, and nobody waits for it.
bool session_state::may_unload() const {
  auto const is_at_rest = [](auto const& each) {
    auto const& at = each.second;
    return !at.kernel && at.saved.now == step::none && !at.saved.ended && at.stop_waiters.empty() &&
           std::holds_alternative<std::monostate>(at.stalled);
  };
  return std::all_of(slots.begin(), slots.end(), is_at_rest) && cells.empty() && arrivals.empty() && on_disk && !row_asked &&
         !closing && !gone && !ending_kernels && !shared->shutting_down && !dispatch_retry_at && asked_kernel.empty() &&
         orphans.empty() && job_waiters.empty() && reset_waiters.empty() && close_waiters.empty() && !fork_asked && copies.empty();
}

/// One became idle of which the news comes late, after a restart: the next look, planned for what becomes idle now, would be too late.
bool session_state::has_aged_kernel() const {
  return std::any_of(slots.begin(), slots.end(), [this, now = now_ms()](auto const& each) {
    auto const& at = each.second;
    return is_idle(at) && now - at.kernel->row.idle_since > defaults::late_news.count();
  });
}

void session_state::after_message() {
  if (unloaded || gone || held_back) return;
  if (turn && arrivals.empty()) {
    auto const* front = foreground();
    if (front == nullptr || place_of(*front).kernel) leave_queue();
  }
  auto const idle = static_cast<std::size_t>(
      std::count_if(slots.begin(), slots.end(), [this](auto const& each) { return is_idle(each.second); }));
  if (std::exchange(idle_kernels, idle) < idle && (shared->kernels->is_short() || has_aged_kernel())) shared->look_at_kernels();
  // With more in its mailbox it would only be loaded again, and calls must not change their order.
  if (!may_unload() || !self->mailbox().empty()) return;
  if (is_blank()) return forget_blank();
  unloaded = true;
  shared->sessions.erase(own_row.key);
  on_retire();
}

}  // namespace holdfast::core
