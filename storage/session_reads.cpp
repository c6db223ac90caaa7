// Finding, listing and counting sessions.
#include <limits>

#include "storage/reads.hpp"

namespace holdfast::storage::reads {
namespace {

constexpr auto no_bound = std::numeric_limits<session_number>::max();

std::vector<session_record> of_every_owner(snapshot& in, std::optional<std::string> const& child, session_number below,
                                           std::size_t limit) {
  std::vector<session_record> found;
  merged_cursor walk(in, table::sessions, order::descending);
  for (bool on = walk.start(key_of(below)); on && found.size() < limit; on = walk.next()) {
    auto row = walk.row<session_codec>();
    if (!row) break;
    if ((child && row->key.child != *child) || in.is_doomed(row->number)) continue;
    found.push_back(*std::move(row));
  }
  return found;
}

std::vector<session_record> of_owner(snapshot& in, std::string const& owner, std::optional<std::string> const& child,
                                     session_number below, std::size_t limit) {
  std::vector<session_record> found;
  auto const prefix = owner_prefix(owner);
  merged_cursor walk(in, table::owners, order::descending);
  for (bool on = walk.start(owner_key(owner, below)); on && found.size() < limit; on = walk.next()) {
    if (!walk.key().starts_with(prefix.view())) break;
    auto const entry = walk.row<owner_codec>();
    if (!entry) break;
    if (child && entry->child != *child) continue;
    if (auto row = session(in, entry->session)) found.push_back(*std::move(row));
  }
  return found;
}

}  // namespace

std::optional<session_record> find_session(snapshot& in, session_key const& key) {
  auto const name = key_of(key);
  // A name in `boot` may be of a session closed there since; `disk` may know a newer one.
  if (auto const number = in.boot.find<session_key_codec>(name); number) {
    if (auto row = session(in, *number)) return row;
  }
  if (auto const number = in.disk.find<session_key_codec>(name)) return session(in, *number);
  return std::nullopt;
}

std::optional<session_record> session(snapshot& in, session_number number) {
  if (in.is_doomed(number)) return std::nullopt;
  return in.find<session_codec>(key_of(number));
}

std::vector<session_record> sessions(snapshot& in, std::string const& owner, std::optional<std::string> const& child,
                                     session_number before, std::size_t limit) {
  auto const below = before == 0 ? no_bound : before;
  return owner.empty() ? of_every_owner(in, child, below, limit) : of_owner(in, owner, child, below, limit);
}

std::uint64_t count_sessions(snapshot& in) {
  auto count = in.disk.count(table::sessions);
  // `boot` holds few rows: those not moved yet, and the marks of the last closings.
  cursor not_moved(in.boot, table::sessions);
  for (bool on = not_moved.first(); on; on = not_moved.next()) {
    bool const counted = in.disk.has(table::sessions, not_moved.key());
    if (!counted && !in.disk.has(table::doomed, not_moved.key())) ++count;
  }
  cursor doomed(in.boot, table::doomed);
  for (bool on = doomed.first(); on; on = doomed.next()) {
    if (in.disk.has(table::sessions, doomed.key())) --count;
  }
  return count;
}

session_number last_session_number(snapshot& in) {
  auto const in_boot = in.boot.find<last_session_codec>(last_session_codec::name).value_or(0);
  auto const in_disk = in.disk.find<last_session_codec>(last_session_codec::name).value_or(0);
  return std::max(in_boot, in_disk);
}

}  // namespace holdfast::storage::reads
