// Listing cells.
#include <limits>

#include "storage/reads.hpp"

namespace holdfast::storage::reads {
namespace {

constexpr auto no_bound = std::numeric_limits<std::uint64_t>::max();

cell_number last_number(snapshot& in, table of, session_number session) {
  merged_cursor walk(in, of, order::descending);
  return walk.start(key_of(session, no_bound)) && session_in(walk.key()) == session ? cell_in(walk.key()) : 0;
}

}  // namespace

std::vector<cell_record> cells(snapshot& in, session_number session, cell_number before, std::size_t limit) {
  std::vector<cell_record> found;
  if (in.is_doomed(session)) return found;
  merged_cursor walk(in, table::cells, order::descending);
  auto const start = key_of(session, before == 0 ? no_bound : before);
  for (bool on = walk.start(start); on && found.size() < limit && session_in(walk.key()) == session; on = walk.next()) {
    auto row = walk.row<cell_codec>();
    if (!row) break;
    found.push_back(*std::move(row));
  }
  return found;
}

cell_number last_cell_number(snapshot& in, session_number session) {
  return std::max(last_number(in, table::cells, session), last_number(in, table::expired_cells, session));
}

cell_number first_cell_number(snapshot& in, session_number session) {
  merged_cursor walk(in, table::cells, order::ascending);
  return walk.start(key_of(session)) && session_in(walk.key()) == session ? cell_in(walk.key()) : 0;
}

std::vector<cell_record> open_cells(snapshot& in, session_number session) {
  std::vector<cell_record> found;
  merged_cursor walk(in, table::open_cells, order::ascending);
  for (bool on = walk.start(key_of(session)); on; on = walk.next()) {
    auto const owner = session_in(walk.key());
    if (session != 0 && owner != session) break;
    if (in.is_doomed(owner)) continue;
    // `disk` may still call open what is final in `boot`: the newest row decides.
    auto row = in.find<cell_codec>(walk.key());
    if (row && !is_final(row->status)) found.push_back(*std::move(row));
  }
  return found;
}

}  // namespace holdfast::storage::reads
