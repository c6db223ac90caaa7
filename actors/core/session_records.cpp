#include "actors/core/session_records.hpp"

#include <algorithm>
#include <utility>

#include "actors/core/messages.hpp"

namespace holdfast::core {

result<session_records> read_session(storage::stores const& stores, session_number session) {
  session_records records;
  std::optional<error> problem;
  auto const take = [&](auto found, auto& into) {
    if (found)
      into = std::move(*found);
    else if (!problem)
      problem = from_storage(found.error());
  };
  take(stores.last_cell_number(session), records.last_number);
  take(stores.notices(session), records.notices);
  take(stores.saved(session), records.saved);
  take(stores.jobs_of(session), records.jobs);
  take(stores.open_cells(session), records.open);
  if (problem) return tl::unexpected(std::move(*problem));
  return records;
}

storage::unix_ms last_end(storage::stores const& stores, storage::session_record const& session) {
  auto const newest = stores.cells(session.number, 0, 1);
  return newest && !newest->empty() ? std::max(session.created_at, newest->front().finished_at) : session.created_at;
}

}  // namespace holdfast::core
