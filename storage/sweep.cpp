#include "storage/sweep.hpp"

#include "storage/codecs.hpp"
#include "storage/keys.hpp"

namespace holdfast::storage {

bool sweep_session(write_transaction& in, session_number session, std::size_t& budget) {
  // Open cells first: from then on no list of what is to be done finds it.
  for (auto const from :
       {table::open_cells, table::outbox, table::notices, table::cell_ids, table::cells, table::expired_cells, table::saved}) {
    cursor walk(in, from);
    auto const prefix = key_of(session);
    while (walk.at_least(prefix) && session_in(walk.key()) == session) {
      if (budget == 0) return false;
      walk.erase();
      --budget;
    }
  }
  cursor walk(in, table::jobs);
  auto const prefix = key_of(session);
  while (walk.at_least(prefix) && session_in(walk.key()) == session) {
    if (budget == 0) return false;
    in.erase(table::job_ids, std::string(job_in(walk.key())));
    if (walk.at_least(prefix)) walk.erase();
    --budget;
  }
  return true;
}

}  // namespace holdfast::storage
