// What the stores have of a session, read as a whole before it is loaded. One of which anything cannot be read is not served: it would go
// on without that, number its cells anew or write over a saved namespace.
#pragma once

#include <optional>
#include <vector>

#include "actors/base/errors.hpp"
#include "storage/stores.hpp"

namespace holdfast::core {

struct session_records {
  cell_number last_number = 0;                  // of its newest cell
  std::vector<storage::notice_record> notices;  // not ridden, not acked
  std::vector<storage::saved_record> saved;     // its saved namespaces, one per slot
  std::vector<storage::job_record> jobs;        // that run and that ended
  std::vector<storage::cell_record> open;       // not final, in order of acceptance
};

/// All of it, or the first failure, such as a damaged row.
result<session_records> read_session(storage::stores const& stores, session_number session);

/// Since when a session without a kernel is idle: the end of its newest cell, else its beginning. For lists: what cannot be read is left out.
storage::unix_ms last_end(storage::stores const& stores, storage::session_record const& session);

}  // namespace holdfast::core
