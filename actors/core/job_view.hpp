// Jobs as rows, as the details of a notice, and in words. Pure but for is_alive(), which looks at one process.
#pragma once

#include <string>
#include <vector>

#include "actors/link/messages.hpp"
#include "storage/records.hpp"

namespace holdfast::core {

/// Whether the first process of a running job is still there. For jobs of dead kernels: the others are told of by theirs.
bool is_alive(storage::job_record const& job);

/// The job row of docs/protocol.md as JSON text; `now` counts for one that runs.
std::string job_json(session_key const& key, storage::job_record const& job, storage::unix_ms now);

/// [{job, command}] of a notice's details.
std::string job_details(std::vector<storage::job_record> const& jobs);

/// "job j-1 (sleep 5), job j-2 (make) and 3 more".
std::string named(std::vector<storage::job_record> const& jobs);

/// "job j-1 (make) has finished: exit code 2 after 3.1 s, 120 bytes of output".
std::string end_in_words(storage::job_record const& job);

/// The page of docs/protocol.md as JSON text; `offset` is where it was asked to begin.
std::string page_json(link::job_page const& page, std::uint64_t offset);

/// The same of a job whose output went with its kernel: all of it is named as dropped.
link::job_page lost_page(storage::job_record const& job, std::uint64_t offset);

}  // namespace holdfast::core
