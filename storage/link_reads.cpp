// Listing links, nurseries and notices; finding saved namespaces. `boot` alone says which kernels there are: `disk` has copies.
#include "storage/reads.hpp"

namespace holdfast::storage::reads {
namespace {

template <class Codec>
std::vector<typename Codec::row> all_in_boot(snapshot& in) {
  std::vector<typename Codec::row> found;
  cursor walk(in.boot, Codec::in);
  for (bool on = walk.first(); on; on = walk.next()) {
    auto row = walk.row<Codec>();
    if (!row) break;
    found.push_back(*std::move(row));
  }
  return found;
}

}  // namespace

std::vector<link_record> links(snapshot& in) { return all_in_boot<link_codec>(in); }
std::vector<nursery_record> nurseries(snapshot& in) { return all_in_boot<nursery_codec>(in); }

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
