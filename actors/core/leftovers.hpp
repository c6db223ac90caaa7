// What a dead kernel left running, ended: the nursery's work, done here only when that nursery is dead as well.
// Blocks for up to the ladder's time: for the file worker. Signals through pidfds of processes that it has identified, nothing else.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "storage/ids.hpp"

namespace holdfast::core {

/// Ends the processes of that kernel's session and those that bear its mark (docs/wire.md): TERM, 250 ms, KILL. Answers their pids.
/// Spares jobs that outlive their kernel, which have a session and a mark of their own.
std::vector<pid_t> end_leftovers(kernel_id const& kernel, pid_t kernel_pid);

enum class job_end : std::uint8_t { none_found, ended, some_left };
/// Ends the processes that carry that job's mark, the same way.
job_end end_job(job_id const& job);

}  // namespace holdfast::core
