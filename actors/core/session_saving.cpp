// Where is its namespace? In a live kernel, or in a file that the next one restores: saving before a kernel is stopped, taking over what
// one saved at the end of its grace, restoring before the first cell. While the row of a file is there no cell is sent to any kernel, so
// the file and a kernel that it was saved from never differ, whichever is found after a crash.
#include <algorithm>
#include <filesystem>

#include "actors/base/clock.hpp"
#include "actors/base/failpoints.hpp"
#include "actors/core/saved_words.hpp"
#include "actors/core/session_state.hpp"

namespace holdfast::core {

using step = saved_namespace::step;

namespace {

std::string kernel_details(std::string_view kernel, std::string_view reason) {
  return "{\"kernel\":\"" + std::string(kernel) + "\",\"reason\":\"" + std::string(reason) + "\"}";
}

storage::unix_ms last_end_in(std::vector<said> const& frames) {
  storage::unix_ms last = 0;
  for (auto const& each : frames)
    if (auto const* what = std::get_if<link::from_kernel>(&each.what))
      if (auto const* done = std::get_if<link::done>(what)) last = std::max(last, done->finished_at);
  return last;
}

}  // namespace

// ---- which kernel comes next ----

/// Why the next kernel is a fresh one, for its link. `restored`: it is given the saved namespace before its first cell.
std::string session_state::next_kernel_reason(std::string const& python) const {
  auto const& reason = own_row.fresh_reason;
  // Of a kernel that ended before its first cell: what it had is gone with it.
  auto usual = reason == "restored" || reason == "restore_failed" || reason == "forked" ? "died" : reason;
  if (!saved.row || is_unwanted()) return usual;
  if (python != saved.row->python) return "environment_changed";
  if (cells.empty() ? !arrivals.empty() && arrivals.front().what.reset : cells.front().outbox.reset) return "reset";
  return saved.failures < defaults::restores_most ? "restored" : "died";
}

/// As told to clients: the words in links say more.
std::string shown_reason(std::string const& reason) {
  if (reason == "restore_failed") return "died";
  return reason == "forked" ? "reused" : reason;
}

void session_state::settle_saved() {
  if (saved.now != step::none || gone || shared->shutting_down) return;
  if (saved.ended) return record_saved(std::move(saved.coming));  // the store had no room for it
  if (!saved.row || closing) return;
  if (!own_kernel) {
    if (is_unwanted()) erase_saved({});
    return;
  }
  if (!own_kernel->attached || own_kernel->ending) return;
  auto const& link = own_kernel->row;
  if (saved.row->kernel == link.kernel) return erase_saved({});  // a live kernel beats what it saved
  if (saved.failures >= defaults::restores_most && (link.reason == "restored" || link.reason == "died"))
    return give_up_saved(std::to_string(saved.failures) + " kernels ended while they restored it, or did not answer");
  if (link.reason != "restored") return erase_saved({});
  restore_saved();
}

// ---- saving ----

bool session_state::has_namespace_to_save() const {
  return own_kernel->row.generation > 0 || own_kernel->row.reason == "restored" || own_kernel->row.reason == "forked";
}

void session_state::save_and_stop(stop_session_kernel const& order) {
  saved.now = step::snapshot;
  auto const generation = own_kernel->row.generation;
  ask_kernel(
      {{}, "snapshot", {{"path", shared->path(state_path(own_row.number))}}},
      [this, order, generation](result<link::answered> answer) { on_snapshot(order, generation, std::move(answer)); },
      defaults::namespace_deadline, true);
}

void session_state::on_snapshot(stop_session_kernel const& order, std::uint64_t generation, result<link::answered> answer) {
  saved.now = step::none;
  auto const refuse = [&](error_code code, std::string const& why) {
    answer_error(order.from, {code,
                              "cannot save the namespace of kernel " + order.kernel.text + ": " + why +
                                  (own_kernel && own_kernel->row.kernel == order.kernel && !own_kernel->ending
                                       ? "; nothing was ended, and with save false it is ended without"
                                       : "; it was ended meanwhile"),
                              {}});
  };
  if (!answer) return refuse(error_code::unreachable, answer.error().message);
  if (answer->error)
    return refuse(answer->error->kind == "busy" ? error_code::busy : error_code::store_full, answer->error->message);
  auto told = link::namespace_of(answer->body);
  if (!told) return refuse(error_code::unreachable, "its answer could not be read: " + told.error());
  if (!own_kernel || own_kernel->row.kernel != order.kernel || own_kernel->ending)
    return refuse(error_code::busy, "it is being ended already");
  // A cell that came meanwhile may have run since: the file is older than the namespace, and without a row it means nothing.
  if (!cells.empty() || own_kernel->row.generation != generation || !jobs_of_kernel().empty())
    return refuse(error_code::busy, "a cell came meanwhile");
  own_kernel->ending = end_reason::stop;  // from here on it gets no cell
  stop_waiters.push_back(order.from);
  record_saved({own_row.number, order.kernel, state_path(own_row.number), own_kernel->row.asked_python, "stop", told->bytes,
                now_ms(), std::move(told->names), std::move(told->skipped)});
}

/// Recorded in `disk` before its kernel is ended or forgotten.
void session_state::record_saved(storage::saved_record row) {
  saved.now = step::recording;
  saved.coming = std::move(row);
  (void)failpoint(failpoint_id::core_before_saved_recorded);
  self->send(shared->disk, commit_to_disk{{storage::put_saved{saved.coming}}, address(), disk_tag::saved_put});
}

void session_state::on_saved_recorded(std::optional<storage::failure> const& problem) {
  saved.now = step::none;
  if (problem) {
    if (saved.ended) return try_again_later();
    if (own_kernel && own_kernel->ending == end_reason::stop) own_kernel->ending.reset();
    for (auto const& to : std::exchange(stop_waiters, {})) answer_error(to, from_storage(*problem));
    return advance();
  }
  (void)failpoint(failpoint_id::core_after_saved_recorded);
  saved.row = std::move(saved.coming);
  saved.failures = 0;
  log::info("kernel-hibernated", "kernel {} saved {} bytes: {}", saved.row->kernel.text, saved.row->bytes, saved.row->reason);
  publish("kernel_hibernated", kernel_details(saved.row->kernel.text, saved.row->reason));
  if (auto ended = std::exchange(saved.ended, std::nullopt)) return on_dead(std::move(*ended));
  if (!own_kernel || own_kernel->ending != end_reason::stop) return;
  if (!shared->commit({storage::erase_link{own_kernel->row.kernel}}))
    log::warn("hibernate-incomplete", "the link of kernel {} could not be erased before its end", own_kernel->row.kernel.text);
  (void)failpoint(failpoint_id::core_after_saved_unlinked);
  end_kernel_for(end_reason::stop, end_kernel::how::shutdown);
}

bool session_state::waits_for_saved(kernel_dead& told, storage::unix_ms last_ran) {
  // What is on its way to `disk` decides whether anything is lost with it.
  if (saved.now == step::recording || saved.now == step::erasing) {
    saved.ended = std::move(told);
    return true;
  }
  auto const& file = told.left.state;
  auto const& exit = told.left.exit;
  if (!file || saved.row || closing || own_kernel->ending || !has_namespace_to_save() || file->written_at < last_ran) return false;
  // At the end of its grace it exits with 0; without its nursery nobody knows. After any other end the file is not its last word.
  if (exit && (exit->cause != "exit" || exit->exit_code.value_or(0) != 0)) return false;
  if (has_cells_out()) return false;
  auto const& link = own_kernel->row;
  saved.ended = std::move(told);
  record_saved(
      {own_row.number, link.kernel, state_path(own_row.number), link.asked_python, "grace", file->bytes, file->written_at, {}, {}});
  return true;
}

storage::unix_ms session_state::last_ran(kernel_dead const& told) const {
  return std::max(own_kernel->row.idle_since, last_end_in(told.left.frames));
}

// ---- restoring ----

void session_state::restore_saved() {
  saved.now = step::restoring;
  ask_kernel(
      {{}, "restore", {{"path", shared->path(saved.row->file)}}},
      [this](result<link::answered> answer) { on_restored(std::move(answer)); }, defaults::namespace_deadline, true);
}

void session_state::on_restored(result<link::answered> answer) {
  saved.now = step::none;
  if (!saved.row || closing) return;
  if (!answer || (answer->error && answer->error->kind == "busy")) {
    if (!answer) ++saved.failures;
    return try_again_later();
  }
  if (answer->error) return give_up_saved(answer->error->message);
  auto const told = link::namespace_of(answer->body);
  if (!told) return give_up_saved("the kernel's answer could not be read: " + told.error());
  (void)failpoint(failpoint_id::core_before_restored_recorded);
  auto notice = make_notice("restored", restored_in_words(*told), {});
  notice.details = restored_details(*told);
  erase_saved(std::move(notice));
}

/// The next cell runs in the empty kernel and is told so. The file is kept aside for whoever can still use it, until reset or close.
void session_state::give_up_saved(std::string const& why) {
  auto link = own_kernel->row;
  link.reason = "restore_failed";
  if (!shared->commit({storage::put_link{link}})) return try_again_later();
  own_kernel->row = std::move(link);
  log::warn("restore-failed", "the namespace of session {} was not restored: {}", own_row.number, why);
  std::error_code ignored;
  auto const file = shared->path(saved.row->file);
  std::filesystem::rename(file, file + ".damaged", ignored);
  erase_saved(make_notice("state_lost", "the saved namespace could not be restored: " + why, {}));
}

/// A kernel has the namespace, or none shall have it.
void session_state::erase_saved(std::optional<storage::notice_record> notice) {
  saved.now = step::erasing;
  if (notice) saved.notice = std::move(notice);
  storage::changes unit{storage::erase_saved{own_row.number}};
  if (saved.notice) unit.push_back(storage::put_notice{*saved.notice});
  self->send(shared->disk, commit_to_disk{std::move(unit), address(), disk_tag::saved_erased});
}

void session_state::on_saved_erased(std::optional<storage::failure> const& problem) {
  saved.now = step::none;
  // Whoever resets a kernel hears of its end; the others waited for this, whether or not a cell has brought a kernel meanwhile.
  auto const waiting =
      own_kernel && own_kernel->ending == end_reason::reset ? std::vector<reply_to>{} : std::exchange(reset_waiters, {});
  auto ended = std::exchange(saved.ended, std::nullopt);
  if (problem) {
    for (auto const& to : waiting) answer_error(to, from_storage(*problem));
    return ended ? on_dead(std::move(*ended)) : try_again_later();  // the file still counts: the next kernel restores it
  }
  (void)failpoint(failpoint_id::core_after_restored_recorded);
  saved.row.reset();
  saved.failures = 0;
  if (auto notice = std::exchange(saved.notice, std::nullopt)) add_notice(std::move(*notice));
  // By another name first: a kernel may save to this one before it is removed.
  std::error_code ignored;
  auto const file = shared->path(state_path(own_row.number));
  std::filesystem::rename(file, file + ".done", ignored);
  self->send(shared->files, remove_tree{file + ".done"});
  for (auto const& to : waiting) answer_text(to, row());
  if (ended) return on_dead(std::move(*ended));
  advance();
}

void session_state::remove_state_files() const {
  auto const file = shared->path(state_path(own_row.number));
  for (auto const* ending : {"", ".part", ".done", ".damaged"}) self->send(shared->files, remove_tree{file + ending});
}

}  // namespace holdfast::core
