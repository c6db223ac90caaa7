#include "actors/core/job_list.hpp"

#include <map>

#include "actors/base/clock.hpp"
#include "actors/core/job_view.hpp"
#include "actors/core/list_page.hpp"

namespace holdfast::core {

namespace {

/// A job of a dead kernel tells nobody of its end: it is looked for.
storage::job_record as_it_is(context const& shared, session_key const& key, storage::job_record row) {
  if (!row.keep || storage::has_ended(row.state)) return row;
  auto const loaded = shared.sessions.find(key);
  if (loaded != shared.sessions.end() && loaded->second.face)
    for (auto const& view : loaded->second.face->kernels())
      if (view.kernel == row.kernel) return row;
  if (is_alive(row)) return row;
  row.state = storage::job_state::lost;
  row.finished_at = now_ms();
  return row;
}

}  // namespace

result<std::string> list(context const& shared, list_jobs const& what) {
  std::map<session_number, std::optional<session_key>> keys;
  std::vector<std::string> items;
  job_id before{what.after};
  bool has_more = false;
  std::size_t looked = 0;
  while (!has_more) {
    if (looked >= defaults::list_looks_most) {
      has_more = true;
      break;
    }
    auto page = shared.stores->jobs(before, defaults::list_limit_most);
    if (!page) return tl::unexpected(from_storage(page.error()));
    looked += page->size();
    for (auto& row : *page) {
      auto found = keys.find(row.session);
      if (found == keys.end()) {
        auto session = shared.stores->session(row.session);
        if (!session) return tl::unexpected(from_storage(session.error()));
        found = keys.emplace(row.session, *session ? std::optional((*session)->key) : std::nullopt).first;
      }
      auto const& key = found->second;
      auto const is_wanted =
          key && matches(what.owner, key->owner) && matches(what.child, key->child) && matches(what.session, key->session);
      if (is_wanted) row = as_it_is(shared, *key, std::move(row));
      if (is_wanted && (!what.state || *what.state == row.state)) {
        if (items.size() == what.limit) {
          has_more = true;
          break;
        }
        items.push_back(job_json(*key, row, now_ms()));
      }
      before = row.job;
    }
    if (page->size() < defaults::list_limit_most) break;
  }
  return list_json(items, has_more ? before.text : "");
}

}  // namespace holdfast::core
