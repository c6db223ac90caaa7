// What can be asked of both stores together. Each takes the snapshot it reads; failures stay in the snapshot until finish().
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/snapshot.hpp"

namespace holdfast::storage::reads {

std::optional<session_record> find_session(snapshot& in, session_key const& key);
std::optional<session_record> session(snapshot& in, session_number number);
std::vector<session_record> sessions(snapshot& in, std::string const& owner, std::optional<std::string> const& child,
                                     session_number before, std::size_t limit);
std::uint64_t count_sessions(snapshot& in);
session_number last_session_number(snapshot& in);

std::vector<cell_record> cells(snapshot& in, session_number session, cell_number before, std::size_t limit);
cell_number last_cell_number(snapshot& in, session_number session);
cell_number first_cell_number(snapshot& in, session_number session);
std::vector<cell_record> open_cells(snapshot& in, session_number session);

std::vector<link_record> links(snapshot& in);
std::vector<nursery_record> nurseries(snapshot& in);
std::optional<job_record> job(snapshot& in, job_id const& job);
std::vector<job_record> jobs(snapshot& in, job_id const& before, std::size_t limit);
std::vector<job_record> jobs_of(snapshot& in, session_number session);
std::vector<saved_record> saved(snapshot& in, session_number session);
std::vector<notice_record> notices(snapshot& in, session_number session);

}  // namespace holdfast::storage::reads
