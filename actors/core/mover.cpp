#include "actors/core/mover.hpp"

#include "actors/base/failpoints.hpp"
#include "actors/base/log.hpp"

namespace holdfast::core {

/// The record that the newest one pushes out of the kept ones leaves a tombstone, and its output goes.
void mover::expire(storage::cell_record const& row, storage::changes& changes) const {
  if (row.number <= shared_->settings.keep_cells) return;
  auto const old = row.number - shared_->settings.keep_cells;
  changes.push_back(storage::expire_cell{row.session, old});
  auto const output = "output/" + std::to_string(row.session) + "/" + std::to_string(old);
  self_->send(shared_->files, remove_tree{shared_->path(output)});
}

void mover::flush() {
  auto const waiting = std::exchange(shared_->to_disk, {});
  if (waiting.empty() || failpoint(failpoint_id::core_before_moved_to_disk)) {
    if (!waiting.empty()) shared_->to_disk = waiting;
    return;
  }
  unit moved;
  storage::changes changes;
  for (auto const number : waiting.sessions) {
    auto row = shared_->stores->session(number);
    if (!row || !*row) continue;  // closed meanwhile
    changes.push_back(storage::put_session{**row});
    moved.sessions.insert(number);
  }
  for (auto const& [session, number] : waiting.cells) {
    auto row = shared_->stores->cell(session, number);
    if (!row || !*row) continue;
    auto const is_final = storage::is_final((*row)->status);
    (is_final ? moved.final : moved.open).push_back({session, number});
    if (is_final) expire(**row, changes);
    changes.push_back(storage::put_cell{std::move(**row)});
  }
  if (changes.empty()) return;
  auto const tag = next_tag_++;
  underway_[tag] = std::move(moved);
  self_->send(shared_->disk, commit_to_disk{std::move(changes), caf::actor_cast<caf::actor>(self_), tag});
}

void mover::on_committed(disk_committed const& answer) {
  auto found = underway_.find(answer.tag);
  if (found == underway_.end()) return;
  auto const moved = std::move(found->second);
  underway_.erase(found);
  if (answer.problem) {
    // They stay in `boot` and are tried again with the next flush; a failed sync ends that.
    if (answer.problem->code == storage::failure_code::failed) shared_->store_failed = true;
    for (auto const number : moved.sessions) shared_->to_disk.sessions.insert(number);
    for (auto const* cells : {&moved.open, &moved.final}) shared_->to_disk.cells.insert(cells->begin(), cells->end());
    return;
  }
  storage::changes erased_cells;
  for (auto const& [session, number] : moved.final) erased_cells.push_back(storage::erase_cell{session, number});
  if (!erased_cells.empty())
    if (auto erased = shared_->stores->commit_boot(erased_cells); !erased)
      log::warn("move-incomplete", "{} cells stay in boot beside disk: {}", erased_cells.size(), erased.error().text);
  (void)failpoint(failpoint_id::core_after_moved_to_disk);
}

}  // namespace holdfast::core
