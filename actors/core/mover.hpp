// From `boot` to `disk`: what the sessions have recorded follows within flush_to_disk, and leaves `boot` once `disk` has it.
// Used by the supervisor, which gives it time and answers. Decides which old records expire.
#pragma once

#include <chrono>
#include <map>

#include <caf/io/broker.hpp>

#include "actors/core/context.hpp"
#include "actors/core/messages.hpp"

namespace holdfast::core {

class mover {
 public:
  mover(caf::io::broker* self, shared_context shared) : self_(self), shared_(std::move(shared)) {}

  /// Sends what waits to the disk store, as one unit.
  void flush();
  /// The disk store has answered: final cells leave `boot`. Another's answer is ignored.
  void on_committed(disk_committed const& answer);
  /// Units on their way.
  bool is_idle() const { return underway_.empty() && shared_->to_disk.empty(); }

 private:
  struct unit {
    std::set<session_number> sessions;
    std::vector<std::pair<session_number, cell_number>> open, final;
    std::set<std::pair<session_number, notice_id>> told;
    std::chrono::steady_clock::time_point began;
  };
  void expire(storage::cell_record const& old, storage::changes& changes) const;
  void expire_old(storage::cell_record const& newest, storage::changes& changes) const;

  caf::io::broker* self_;
  shared_context shared_;
  std::uint64_t next_tag_ = 1;
  std::map<std::uint64_t, unit> underway_;  // by tag
};

}  // namespace holdfast::core
