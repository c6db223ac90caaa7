// From `boot` to `disk`: what the sessions have recorded follows within flush_to_disk, and leaves `boot` once `disk` has it, save what is
// only copied there: rows of kernels elsewhere, and cells that run.
// Used by the supervisor, which gives it time and answers. Decides which old records expire.
#pragma once

#include <chrono>
#include <optional>

#include <caf/io/broker.hpp>

#include "actors/core/context.hpp"
#include "actors/core/messages.hpp"

namespace holdfast::core {

class mover {
 public:
  mover(caf::io::broker* self, shared_context shared) : self_(self), shared_(std::move(shared)) {}

  /// Sends what waits to the disk store, as one unit, unless one is on its way: a later one that got there without an earlier one would
  /// leave what never was.
  void flush();
  /// The disk store has answered: final cells leave `boot`, and what waited for the disk goes on. Another's answer is ignored.
  void on_committed(disk_committed const& answer);
  /// Nothing waits, and nothing is on its way.
  bool is_idle() const { return !underway_ && shared_->to_disk.empty(); }
  /// The last unit was refused: the next one is not for whoever is in a hurry.
  bool was_refused() const { return was_refused_; }

 private:
  struct unit {
    std::uint64_t tag = 0;
    storage::unmoved_rows rows;
    std::vector<std::pair<session_number, cell_number>> final;  // of its cells
    std::uint64_t recorded = 0;                                 // units of the barrier that it completes
    std::chrono::steady_clock::time_point began;
  };
  void expire(storage::cell_record const& old, storage::changes& changes) const;
  void expire_old(storage::cell_record const& newest, storage::changes& changes) const;

  caf::io::broker* self_;
  shared_context shared_;
  std::uint64_t next_tag_ = 1;
  std::optional<unit> underway_;
  bool was_refused_ = false;
};

}  // namespace holdfast::core
