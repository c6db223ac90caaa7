// Listing links, nurseries and notices; finding saved namespaces.
#include "storage/reads.hpp"

namespace holdfast::storage::reads {
namespace {

template <class Codec>
std::vector<typename Codec::row> whole_table(snapshot& in) {
  std::vector<typename Codec::row> found;
  merged_cursor walk(in, Codec::in, order::ascending);
  for (bool on = walk.start({}); on; on = walk.next()) {
    auto row = walk.row<Codec>();
    if (!row) break;
    found.push_back(*std::move(row));
  }
  return found;
}

}  // namespace

std::vector<link_record> links(snapshot& in) { return whole_table<link_codec>(in); }
std::vector<nursery_record> nurseries(snapshot& in) { return whole_table<nursery_codec>(in); }

std::vector<saved_record> saved(snapshot& in, session_number session) {
  std::vector<saved_record> found;
  if (in.is_doomed(session)) return found;
  merged_cursor walk(in, table::saved, order::ascending);
  for (bool on = walk.start(key_of(session)); on && session_in(walk.key()) == session; on = walk.next()) {
    auto row = walk.row<saved_codec>();
    if (!row) break;
    found.push_back(*std::move(row));
  }
  return found;
}

std::vector<notice_record> notices(snapshot& in, session_number session) {
  std::vector<notice_record> found;
  if (in.is_doomed(session)) return found;
  merged_cursor walk(in, table::notices, order::ascending);
  for (bool on = walk.start(key_of(session)); on && session_in(walk.key()) == session; on = walk.next()) {
    auto row = walk.row<notice_codec>();
    if (!row) break;
    if (!row->withdrawn) found.push_back(std::move(row->notice));
  }
  return found;
}

}  // namespace holdfast::storage::reads
