#include "actors/core/mover.hpp"

#include <algorithm>
#include <chrono>

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
  auto const waiting = std::exchange(shared_->to_disk, {});
  if (waiting.empty() || failpoint(failpoint_id::core_before_moved_to_disk)) {
    if (!waiting.empty()) shared_->to_disk = waiting;
    return;
  }
  unit moved;
  moved.began = std::chrono::steady_clock::now();
  storage::changes changes;
  for (auto const number : waiting.sessions) {
    auto row = shared_->stores->session(number);
    if (!row || !*row) continue;  // closed meanwhile
    changes.push_back(storage::put_session{**row});
    moved.sessions.insert(number);
  }
  for (auto at = waiting.cells.begin(); at != waiting.cells.end(); ++at) {
    auto const [session, number] = *at;
    auto row = shared_->stores->cell(session, number);
    if (!row || !*row) continue;
    auto const is_final = storage::is_final((*row)->status);
    (is_final ? moved.final : moved.open).push_back({session, number});
    auto const next = std::next(at);
    if (is_final && (next == waiting.cells.end() || next->first != session)) expire_old(**row, changes);
    changes.push_back(storage::put_cell{std::move(**row)});
  }
  moved.told = waiting.told;
  for (auto const& [session, notice] : waiting.told) changes.push_back(storage::erase_notice{session, notice});
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
    // They stay in `boot` and are tried again with the next flush; a failed sync ends that, and the gateway.
    shared_->on_refused(*answer.problem);
    for (auto const number : moved.sessions) shared_->to_disk.sessions.insert(number);
    for (auto const* cells : {&moved.open, &moved.final}) shared_->to_disk.cells.insert(cells->begin(), cells->end());
    shared_->to_disk.told.insert(moved.told.begin(), moved.told.end());
    return;
  }
  shared_->metrics.on_moved(std::chrono::steady_clock::now() - moved.began);
  storage::changes erased_cells;
  for (auto const& [session, number] : moved.final) erased_cells.push_back(storage::erase_cell{session, number});
  if (!erased_cells.empty())
    if (auto erased = shared_->stores->commit_boot(erased_cells); !erased)
      log::warn("move-incomplete", "{} cells stay in boot beside disk: {}", erased_cells.size(), erased.error().text);
  (void)failpoint(failpoint_id::core_after_moved_to_disk);
}

}  // namespace holdfast::core
