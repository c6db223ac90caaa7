// The copies that `disk` keeps of what concerns kernels elsewhere: those live on when the system of this machine is booted anew, which
// costs `boot`. While the system runs `boot` alone is read for links, outbox and jobs, and the copies follow it; a new `boot` is made of
// them. Used by opening (restores) and stores. Refuses to know where an environment is: any but `local` is elsewhere.
#pragma once

#include <map>
#include <set>
#include <utility>

#include "storage/environment.hpp"
#include "storage/records.hpp"

namespace holdfast::storage {

/// Rows of `boot` that `disk` does not have as they are, by their keys.
struct unmoved_rows {
  std::set<session_number> sessions;
  std::set<std::pair<session_number, cell_number>> cells;
  std::set<std::pair<session_number, notice_id>> told;  // notices that are gone from `boot`
  // Of kernels elsewhere. False: it is copied only if `disk` has it already.
  std::set<kernel_id> links;
  std::map<std::pair<session_number, cell_number>, bool> outboxes;
  std::map<std::pair<session_number, job_id>, bool> jobs;
  std::set<std::pair<session_number, notice_id>> notices;

  bool empty() const { return count() == 0; }
  std::size_t count() const;
  void add(unmoved_rows const& others);
};

/// What makes the copies of those links, outboxes, jobs and notices what `boot` has now: there: put; gone: erased.
result<changes> copies_of(unmoved_rows const& which, environment const& boot, environment const& disk);

/// All rows of `boot` that `disk` should have and has not as they are, and copies whose row is gone from `boot`.
result<unmoved_rows> rows_out_of_step(environment const& boot, environment const& disk);

/// Puts into a new `boot` what `disk` has of kernels elsewhere. Killed in the middle, that `boot` has to be made anew.
result<void> restore_remote_rows(environment const& disk, environment const& boot);

}  // namespace holdfast::storage
