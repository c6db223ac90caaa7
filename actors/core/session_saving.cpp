// Where is its namespace? In a live kernel, or in a file that the next one restores: saving before a kernel is stopped, taking over what
// one saved at the end of its grace, restoring before the first cell. While the row of a file is there no cell is sent to any kernel, so
// the file and a kernel that it was saved from never differ, whichever is found after a crash.
#include <algorithm>
#include <filesystem>

#include "actors/base/clock.hpp"
#include "actors/base/failpoints.hpp"
#include "actors/core/event_details.hpp"
#include "actors/core/saved_words.hpp"
#include "actors/core/session_state.hpp"

namespace holdfast::core {

using step = saved_namespace::step;

// ---- which kernel comes next ----

/// Why the next kernel is a fresh one, for its link. `restored`: it is given the saved namespace before its first cell, unless that cell,
/// which it is started for, begins with a reset.
std::string session_state::next_kernel_reason(slot const& at, bool begins_with_reset) const {
  auto const& reason = key_of(at).fresh_reason;
  // Of a kernel that ended before its first cell: what it had is gone with it.
  auto usual = reason == "restored" || reason == "restore_failed" || reason == "forked" ? "died" : reason;
  if (!at.saved.row || is_unwanted(at)) return usual;
  if (begins_with_reset) return "reset";
  return at.saved.failures < defaults::restores_most ? "restored" : "died";
}

/// As told to clients: the words in links say more.
std::string shown_reason(std::string const& reason) {
  if (reason == "restore_failed") return "died";
  return reason == "forked" ? "reused" : reason;
}

void session_state::settle_saved(slot& at) {
  auto& saved = at.saved;
  if (saved.now != step::none || gone || shared->shutting_down) return;
  if (saved.ended) return record_saved(at, std::move(saved.coming));  // the store had no room for it
  if (!saved.row && at.is_attached() && at.kernel->is_foreign && !closing) return part_with(at);
  if (!saved.row || closing) return;
  if (!at.kernel) {
    if (is_unwanted(at)) erase_saved_untold(at);
    return;
  }
  if (!at.is_attached()) return;
  auto const& link = at.kernel->row;
  if (saved.row->kernel == link.kernel) return erase_saved_untold(at);  // a live kernel beats what it saved
  if (saved.failures >= defaults::restores_most && (link.reason == "restored" || link.reason == "died"))
    return give_up_saved(at, std::to_string(saved.failures) + " kernels ended while they restored it, or did not answer");
  if (link.reason != "restored") return erase_saved(at, {});
  restore_saved(at);
}

// ---- saving ----

/// Its protocol is not ours. What runs in it ends first; then its namespace is saved as far as it can be, by frames of every protocol.
void session_state::part_with(slot& at) {
  if (has_cells_out(at) || count_jobs(at) > 0) return;
  if (!has_namespace(at)) return end_kernel_for(at, end_reason::hibernated, end_kernel::how::shutdown);
  auto const why = eviction_reason::upgraded;
  save_and_end(at, {at.kernel->row.kernel, end_reason::hibernated, std::string(to_string(why)), true, {}, why});
}

void session_state::save_and_end(slot& at, saving_order order) {
  at.saved.now = step::snapshot;
  auto const generation = at.kernel->row.generation;
  link::request what{{}, "snapshot", {{"path", shared->path(state_path(own_row.number, at.number))}}};
  ask_kernel(
      at, std::move(what),
      [this, number = at.number, order = std::move(order), generation](result<link::answered> answer) {
        on_snapshot(slots.at(number), order, generation, std::move(answer));
      },
      defaults::namespace_deadline, true);
}

/// Nothing was ended for it. A stop is refused; a hibernation is tried again, later unless a cell was in its way.
void session_state::not_saved(slot& at, saving_order const& order, error why, bool is_busy) {
  if (order.from) {
    auto const lives = at.has(order.kernel) && !at.kernel->ending;
    answer_error(*order.from,
                 {why.code,
                  "cannot save the namespace of kernel " + order.kernel.text + ": " + why.message +
                      (lives ? "; nothing was ended, and with save false it is ended without" : "; it was ended meanwhile"),
                  {}});
    return ending_kernels ? end_idle_kernels() : void();
  }
  if (ending_kernels && at.kernel) {
    log::warn("not-saved", "kernel {} ends without its namespace saved: {}", order.kernel.text, why.message);
    at.kernel->has_not_saved = true;
    return end_idle_kernels();
  }
  if (at.has(order.kernel) && at.kernel->is_foreign) {
    if (is_busy) return try_again_later();
    log::warn("not-saved", "kernel {}, of another protocol, ends without its namespace saved: {}", order.kernel.text, why.message);
    return self->send(at.kernel->actor, end_kernel{end_kernel::how::shutdown, end_reason::hibernated});
  }
  log::info("hibernate-failed", "kernel {} is kept: {}", order.kernel.text, why.message);
  if (at.has(order.kernel) && !has_cells(at)) {
    auto const pause = is_busy ? defaults::hibernate_busy_retry : defaults::hibernate_retry;
    at.kernel->save_again_at = now_ms() + shared->settings.scaled_delay(pause).count();
  }
  shared->look_at_kernels();  // another one may go in its place
}

void session_state::on_snapshot(slot& at, saving_order const& order, std::uint64_t generation, result<link::answered> answer) {
  at.saved.now = step::none;
  if (!answer) return not_saved(at, order, {error_code::unreachable, answer.error().message, {}}, false);
  if (answer->error) {
    auto const is_busy = answer->error->kind == "busy";
    return not_saved(at, order, {is_busy ? error_code::busy : error_code::store_full, answer->error->message, {}}, is_busy);
  }
  auto told = link::namespace_of(answer->body);
  if (!told) return not_saved(at, order, {error_code::unreachable, "its answer could not be read: " + told.error(), {}}, false);
  if (!at.has(order.kernel) || at.kernel->ending)
    return not_saved(at, order, {error_code::busy, "it is being ended already", {}}, true);
  // A cell that came meanwhile may have run since: the file is older than the namespace, and without a row it means nothing.
  auto const is_disturbed = ending_kernels || at.kernel->is_foreign
                                ? has_cells_out(at)
                                : has_cells(at) || count_jobs(at) > 0;  // what waits runs in the next one
  if (is_disturbed || at.kernel->row.generation != generation)
    return not_saved(at, order, {error_code::busy, "a cell came meanwhile", {}}, true);
  if (!order.even_in_part && !ending_kernels && !told->skipped.empty()) {
    at.kernel->partly_saveable_at = generation;
    log::info("hibernate-in-part", "kernel {} is kept: {} of its names cannot be saved", order.kernel.text,
              told->skipped.size() + told->more_skipped);
    return shared->look_at_kernels();
  }
  at.kernel->ending = order.why;  // from here on it gets no cell
  if (order.from) at.stop_waiters.push_back(*order.from);
  if (order.told) {
    at.saved.evicted = make_notice(eviction_notice(*order.told), evicted_in_words(*order.told, *told), {});
    at.saved.evicted->details = skipped_details(*told);
    name_kernel(*at.saved.evicted, order.kernel);
  }
  record_saved(at, {own_row.number, at.number, order.kernel, state_path(own_row.number, at.number), order.reason, told->bytes,
                    now_ms(), std::move(told->names), std::move(told->skipped)});
}

/// Recorded in `disk` before its kernel is ended or forgotten.
void session_state::record_saved(slot& at, storage::saved_record row) {
  at.saved.now = step::recording;
  at.saved.coming = std::move(row);
  (void)failpoint(failpoint_id::core_before_saved_recorded);
  storage::changes unit{storage::put_saved{at.saved.coming}};
  if (at.saved.evicted) unit.push_back(storage::put_notice{*at.saved.evicted});
  commit_to_disk wanted{std::move(unit), address(), disk_tag::saved_put + at.number};
  if (key_of(at).environment == "local") return self->send(shared->disk, std::move(wanted));
  // Behind the results of its cells: a row of a saved namespace says that none is out (I15).
  auto const refused = [to = wanted.asker, tag = wanted.tag](storage::failure const& why) {
    caf::anon_send(to, disk_committed{tag, why});
  };
  shared->once_on_disk([to = shared->disk, wanted = std::move(wanted)] { caf::anon_send(to, wanted); }, refused);
}

void session_state::on_saved_recorded(slot& at, std::optional<storage::failure> const& problem) {
  auto& saved = at.saved;
  saved.now = step::none;
  if (problem) {
    if (saved.ended) return try_again_later();
    saved.evicted.reset();
    if (at.is_ending_saved()) {
      at.kernel->ending.reset();
      not_saved(at, {saved.coming.kernel, end_reason::hibernated, saved.coming.reason}, from_storage(*problem), false);
    }
    for (auto const& to : std::exchange(at.stop_waiters, {})) answer_error(to, from_storage(*problem));
    return advance();
  }
  (void)failpoint(failpoint_id::core_after_saved_recorded);
  saved.row = std::move(saved.coming);
  saved.failures = 0;
  if (auto notice = std::exchange(saved.evicted, std::nullopt)) add_notice(std::move(*notice));
  log::info("kernel-hibernated", "kernel {} saved {} bytes: {}", saved.row->kernel.text, saved.row->bytes, saved.row->reason);
  publish("kernel_hibernated", kernel_details(saved.row->kernel, saved.row->reason));
  if (auto ended = std::exchange(saved.ended, std::nullopt)) return on_dead(std::move(*ended));
  if (!at.is_ending_saved()) return;
  if (!shared->commit({storage::erase_link{at.kernel->row.kernel}}))
    log::warn("hibernate-incomplete", "the link of kernel {} could not be erased before its end", at.kernel->row.kernel.text);
  (void)failpoint(failpoint_id::core_after_saved_unlinked);
  end_kernel_for(at, *at.kernel->ending, end_kernel::how::shutdown);
}

bool session_state::waits_for_saved(slot& at, kernel_dead& told, storage::unix_ms last_ran) {
  auto& saved = at.saved;
  // What is on its way to `disk` decides whether anything is lost with it.
  if (saved.now == step::recording || saved.now == step::erasing) {
    saved.ended = std::move(told);
    return true;
  }
  auto const& file = told.left.state;
  auto const& exit = told.left.exit;
  if (!file || told.given_up || saved.row || closing || at.kernel->ending || !has_namespace(at) || file->written_at < last_ran)
    return false;
  // At the end of its grace it exits with 0; without its nursery nobody knows. After any other end the file is not its last word.
  if (exit && (exit->cause != "exit" || exit->exit_code.value_or(0) != 0)) return false;
  if (has_cells_out(at)) return false;
  auto const found = *file;
  saved.ended = std::move(told);
  record_saved(at, {own_row.number,
                    at.number,
                    at.kernel->row.kernel,
                    state_path(own_row.number, at.number),
                    "grace",
                    found.bytes,
                    found.written_at,
                    {},
                    {}});
  return true;
}

// ---- restoring ----

void session_state::restore_saved(slot& at) {
  at.saved.now = step::restoring;
  ask_kernel(
      at, {{}, "restore", {{"path", shared->path(at.saved.row->file)}}},
      [this, number = at.number](result<link::answered> answer) { on_restored(slots.at(number), std::move(answer)); },
      defaults::namespace_deadline, true);
}

void session_state::on_restored(slot& at, result<link::answered> answer) {
  auto& saved = at.saved;
  saved.now = step::none;
  if (!saved.row || closing) return;
  if (!answer || (answer->error && answer->error->kind == "busy")) {
    if (!answer) ++saved.failures;
    return try_again_later();
  }
  if (answer->error) return give_up_saved(at, answer->error->message);
  auto const told = link::namespace_of(answer->body);
  if (!told) return give_up_saved(at, "the kernel's answer could not be read: " + told.error());
  (void)failpoint(failpoint_id::core_before_restored_recorded);
  auto notice = make_notice("restored", restored_in_words(*told), {});
  notice.details = restored_details(*told);
  name_kernel(notice, at.kernel->row.kernel);
  erase_saved(at, std::move(notice));
}

/// The next cell runs in the empty kernel and is told so. The file is kept aside for whoever can still use it, until reset or close.
void session_state::give_up_saved(slot& at, std::string const& why) {
  auto link = at.kernel->row;
  link.reason = "restore_failed";
  if (!shared->commit({storage::put_link{link}})) return try_again_later();
  at.kernel->row = std::move(link);
  log::warn("restore-failed", "the namespace of session {} was not restored: {}", own_row.number, why);
  std::error_code ignored;
  auto const file = shared->path(at.saved.row->file);
  std::filesystem::rename(file, file + ".damaged", ignored);
  erase_saved(at, make_notice("state_lost", "the saved namespace could not be restored: " + why, {}));
}

/// A kernel has the namespace, or none shall have it.
void session_state::erase_saved(slot& at, std::optional<storage::notice_record> notice) {
  auto& saved = at.saved;
  saved.now = step::erasing;
  if (notice) saved.notice = std::move(notice);
  storage::changes unit{storage::erase_saved{own_row.number, at.number}};
  if (saved.notice) unit.push_back(storage::put_notice{*saved.notice});
  for (auto const& each : saved.withdrawn) unit.push_back(storage::erase_notice{own_row.number, each});
  self->send(shared->disk, commit_to_disk{std::move(unit), address(), disk_tag::saved_erased + at.number});
}

/// None was restored from it and none shall be: what was told of it would be untrue.
void session_state::erase_saved_untold(slot& at) {
  at.saved.withdrawn.clear();
  for (auto const& each : notices)
    if ((each.kind == "evicted" || each.kind == "upgraded") && names_kernel(each, at.saved.row->kernel))
      at.saved.withdrawn.push_back(each.notice);
  erase_saved(at, {});
}

void session_state::on_saved_erased(slot& at, std::optional<storage::failure> const& problem) {
  auto& saved = at.saved;
  saved.now = step::none;
  auto ended = std::exchange(saved.ended, std::nullopt);
  if (problem) {
    if (is_unwanted(at))
      for (auto const& to : std::exchange(reset_waiters, {})) answer_error(to, from_storage(*problem));
    return ended ? on_dead(std::move(*ended)) : try_again_later();  // the file still counts: the next kernel restores it
  }
  (void)failpoint(failpoint_id::core_after_restored_recorded);
  saved.row.reset();
  saved.failures = 0;
  forget_notices(std::exchange(saved.withdrawn, {}));
  if (auto notice = std::exchange(saved.notice, std::nullopt)) add_notice(std::move(*notice));
  // By another name first: a kernel may save to this one before it is removed.
  std::error_code ignored;
  auto const file = shared->path(state_path(own_row.number, at.number));
  std::filesystem::rename(file, file + ".done", ignored);
  self->send(shared->files, remove_tree{file + ".done"});
  answer_resets();
  if (ended) return on_dead(std::move(*ended));
  advance();
}

void session_state::remove_state_files() const {
  for (auto const& [number, at] : slots)
    for (auto const* ending : {"", ".part", ".done", ".damaged"})
      self->send(shared->files, remove_tree{shared->path(state_path(own_row.number, number) + ending)});
}

}  // namespace holdfast::core
