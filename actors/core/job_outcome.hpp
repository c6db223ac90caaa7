// What becomes of a job, as pure functions: when its kernel is proven dead, and what its end is called.
// Collaborators: session_jobs.cpp carries it out. Refuses to guess: an end that nobody saw is `lost`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "actors/link/messages.hpp"
#include "storage/records.hpp"

namespace holdfast::core {

/// Of a running job whose kernel is dead; `ended`: pids of what was ended with the kernel. One that outlives its kernel runs on.
inline storage::job_state state_after_death(storage::job_record const& job, std::vector<std::int32_t> const& ended) {
  if (job.keep) return storage::job_state::running;
  auto const was_ended = std::find(ended.begin(), ended.end(), job.pid) != ended.end();
  return was_ended ? storage::job_state::stopped : storage::job_state::lost;
}

/// As the job itself says it: the exit code, minus the number of the signal that ended it, or none: not known.
std::optional<std::int64_t> exit_code_of(link::job_finished const& frame);

/// The row with its end as the frame tells it; its notice is not made here.
storage::job_record finished(storage::job_record row, link::job_finished const& frame);

}  // namespace holdfast::core
