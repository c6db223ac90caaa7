#include "actors/core/mover.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "actors/base/clock.hpp"
#include "actors/base/failpoints.hpp"
#include "actors/base/log.hpp"

namespace holdfast::core {

namespace {

constexpr cell_number expired_at_once =
    256;  // a session and flush: a lowered limit is caught up with over several, not in one long transaction

}  // namespace

/// The record leaves a tombstone, and its output goes.
void mover::expire(storage::cell_record const& old, storage::changes& changes) const {
  changes.push_back(storage::expire_cell{old.session, old.number});
  auto const output = "output/" + std::to_string(old.session) + "/" + std::to_string(old.number);
  self_->send(shared_->files, remove_tree{shared_->path(output)});
  self_->send(shared_->files, remove_tree{shared_->path(output + ".displays")});
}

/// What lies beyond keep_cells or keep_cells_days, oldest first; looked at when a session has a new final cell.
void mover::expire_old(storage::cell_record const& newest, storage::changes& changes) const {
  auto const first = shared_->stores->first_cell_number(newest.session);
  if (!first || *first == 0) return;
  auto const limit = now_ms() - std::chrono::milliseconds(std::chrono::days(shared_->settings.keep_cells_days)).count();
  for (auto oldest = *first; oldest < std::min(newest.number, *first + expired_at_once); ++oldest) {
    auto const old = shared_->stores->cell(newest.session, oldest);
    if (!old || !*old || !storage::is_final((*old)->status)) return;
    if (oldest + shared_->settings.keep_cells > newest.number && (*old)->finished_at > limit) return;
    expire(**old, changes);
  }
}

void mover::flush() {
  if (underway_ || shared_->to_disk.empty() || failpoint(failpoint_id::core_before_moved_to_disk)) return;
  // Of all that is to move, as it is now: one moment of `boot`, on whose thread this runs.
  auto copies = shared_->stores->copies_of(shared_->to_disk);
  if (!copies) {
    log::error("move-incomplete", "nothing is moved to disk: {}", copies.error().text);
    was_refused_ = true;
    return shared_->on_refused(copies.error());
  }
  unit moved;
  moved.rows = std::exchange(shared_->to_disk, {});
  moved.recorded = shared_->barrier.recorded();
  moved.began = std::chrono::steady_clock::now();
  storage::changes changes;
  for (auto const number : moved.rows.sessions) {
    auto row = shared_->stores->session(number);
    if (!row || !*row) continue;  // closed meanwhile
    changes.push_back(storage::put_session{**row});
  }
  auto const& cells = moved.rows.cells;
  for (auto at = cells.begin(); at != cells.end(); ++at) {
    auto const [session, number] = *at;
    auto row = shared_->stores->cell(session, number);
    if (!row || !*row) continue;
    auto const is_final = storage::is_final((*row)->status);
    if (is_final) moved.final.push_back({session, number});
    auto const next = std::next(at);
    if (is_final && (next == cells.end() || next->first != session)) expire_old(**row, changes);
    changes.push_back(storage::put_cell{std::move(**row)});
  }
  for (auto const& [session, notice] : moved.rows.told) changes.push_back(storage::erase_notice{session, notice});
  std::move(copies->begin(), copies->end(), std::back_inserter(changes));
  if (changes.empty()) return shared_->barrier.on_disk(moved.recorded);
  moved.tag = next_tag_++;
  self_->send(shared_->disk, commit_to_disk{std::move(changes), caf::actor_cast<caf::actor>(self_), moved.tag});
  underway_ = std::move(moved);
}

void mover::on_committed(disk_committed const& answer) {
  if (!underway_ || underway_->tag != answer.tag) return;
  auto const moved = std::move(*underway_);
  underway_.reset();
  was_refused_ = answer.problem.has_value();
  if (answer.problem) {
    // They stay in `boot` and are tried again with the next flush; a failed sync ends that, and the gateway.
    shared_->on_refused(*answer.problem);
    shared_->to_disk.add(moved.rows);
    return shared_->barrier.on_refused(*answer.problem);
  }
  shared_->metrics.on_moved(std::chrono::steady_clock::now() - moved.began);
  storage::changes erased_cells;
  for (auto const& [session, number] : moved.final) erased_cells.push_back(storage::erase_cell{session, number});
  if (!erased_cells.empty())
    if (auto erased = shared_->stores->commit_boot(erased_cells); !erased)
      log::warn("move-incomplete", "{} cells stay in boot beside disk: {}", erased_cells.size(), erased.error().text);
  (void)failpoint(failpoint_id::core_after_moved_to_disk);
  shared_->barrier.on_disk(moved.recorded);
}

}  // namespace holdfast::core
