#include "actors/core/session_list.hpp"

#include <functional>
#include <iterator>
#include <map>

#include "actors/core/list_page.hpp"
#include "actors/core/session_records.hpp"

namespace holdfast::core {

namespace {

std::uint64_t saved_bytes(context const& shared, session_number session) {
  std::uint64_t bytes = 0;
  if (auto const saved = shared.stores->saved(session))
    for (auto const& each : *saved) bytes += each.bytes;
  return bytes;
}

std::string stored_row(context const& shared, storage::session_record const& record, std::uint64_t bytes) {
  auto const notices = shared.stores->notices(record.number);
  return stored_session_row(record, notices ? notices->size() : 0, bytes, last_end(*shared.stores, record));
}

/// Those in a state that only loaded ones are in: whatever else is in the stores is not looked through.
std::string list_loaded(context const& shared, list_sessions const& what, session_number before) {
  std::map<session_number, session_face const*, std::greater<>> found;
  for (auto const& [key, entry] : shared.sessions)
    if (entry.face && matches(what.owner, key.owner) && matches(what.child, key.child) && matches(what.state, entry.face->state()))
      found.emplace(entry.face->number(), entry.face);
  std::vector<std::string> items;
  for (auto at = before == 0 ? found.begin() : found.upper_bound(before); at != found.end(); ++at) {
    if (items.size() == what.limit) return list_json(items, std::to_string(std::prev(at)->first));
    items.push_back(at->second->row());
  }
  return list_json(items, "");
}

}  // namespace

result<std::string> list(context const& shared, list_sessions const& what) {
  session_number before = 0;
  if (!read_position(what.after, before)) return tl::unexpected(not_a_next(what.after));
  if (what.state && *what.state != "new" && *what.state != "hibernated") return list_loaded(shared, what, before);
  std::vector<std::string> items;
  for (std::size_t looked = 0; items.size() < what.limit && looked < defaults::list_looks_most;) {
    auto const page = shared.stores->sessions(what.owner.value_or(""), std::nullopt, before, defaults::list_limit_most);
    if (!page) return tl::unexpected(from_storage(page.error()));
    for (auto const& record : *page) {
      before = record.number;
      ++looked;
      if (!matches(what.child, record.key.child)) continue;
      auto const loaded = shared.sessions.find(record.key);
      auto const* face = loaded == shared.sessions.end() ? nullptr : loaded->second.face;
      auto const bytes = face ? 0 : saved_bytes(shared, record.number);
      if (!matches(what.state, face ? face->state() : stored_state(bytes))) continue;
      items.push_back(face ? face->row() : stored_row(shared, record, bytes));
      if (items.size() == what.limit) break;
    }
    if (items.size() < what.limit && page->size() < defaults::list_limit_most) return list_json(items, "");
  }
  return list_json(items, before > 1 ? std::to_string(before) : "");
}

}  // namespace holdfast::core
