#include "actors/core/status.hpp"

#include <unistd.h>

#include <algorithm>
#include <map>

#include "actors/base/clock.hpp"
#include "actors/base/version.hpp"
#include "actors/core/key_json.hpp"
#include "actors/core/result_json.hpp"
#include "actors/link/json_writer.hpp"

namespace holdfast::core {

namespace {

/// The sessions of an owner, or the one that is named.
result<std::vector<storage::session_record>> sessions_of(context const& shared, std::string const& owner,
                                                         std::optional<std::string> const& child,
                                                         std::optional<std::string> const& session) {
  std::vector<storage::session_record> found;
  session_number before = 0;
  for (;;) {
    auto page = shared.stores->sessions(owner, child, before, defaults::list_limit_most);
    if (!page) return tl::unexpected(from_storage(page.error()));
    for (auto& record : *page) {
      before = record.number;
      if (!session || record.key.session == *session) found.push_back(std::move(record));
    }
    if (page->size() < defaults::list_limit_most) return found;
  }
}

}  // namespace

std::string status_json(context const& shared, std::vector<kernel_view> const& kernels) {
  std::map<std::string, std::size_t> by_state;
  std::size_t attaching = 0;
  for (auto const& view : kernels) {
    ++by_state[view.state()];
    if (view.live && !view.attached) ++attaching;
  }
  link::json_writer states;
  for (auto const& [state, count] : by_state) states.number(state, count);
  link::json_writer limits;
  limits.number("connections", defaults::max_connections).number("queue_per_session", defaults::max_queue_per_session);
  limits.number("source_bytes", defaults::source_limit).number("output_bytes_kept", defaults::output_kept);
  limits.number("line_bytes", defaults::line_limit).number("keep_cells", shared.settings.keep_cells);
  limits.number("keep_cells_days", shared.settings.keep_cells_days);
  limits.number("max_kernels", shared.settings.max_kernels).number("max_kernels_hard", shared.settings.max_kernels_hard);
  limits.number("max_kernels_per_owner", shared.settings.max_kernels_per_owner);
  limits.number("max_memory_mb", shared.settings.max_memory_mb);
  link::json_writer out;
  out.text("version", version).text("protocol", client_protocol).integer("pid", ::getpid());
  out.text("home", shared.settings.home.string()).text("started_at", rfc3339(shared.started_at));
  out.json("kernels", states.take()).number("attaching", attaching).json("limits", limits.take());
  return out.take();
}

std::string metrics_json(context& shared, std::vector<kernel_view> const& kernels) {
  levels now;
  for (auto const& view : kernels) {
    ++now.kernels[view.state()];
    if (!view.cell.empty()) ++now.cells_running;
    now.jobs_running += view.jobs;
  }
  for (auto const& [key, entry] : shared.sessions)
    if (entry.face) now.cells_waiting += entry.face->queued();
  now.sessions = shared.sessions.size();
  now.rows_to_move = shared.to_disk.count();
  now.resident_bytes = resident_bytes(::getpid());
  now.starts = shared.stores->found().incarnation;
  now.started_at = shared.started_at;
  now.connections = shared.clients->connections;
  now.connections_accepted = shared.clients->accepted;
  now.connections_refused = shared.clients->refused;
  now.stream_lost = shared.clients->stream_lost;
  std::string out;
  link::append_json_string(out, shared.metrics.text(now));
  return out;
}

result<std::string> list(context const& shared, list_notices const& what) {
  auto sessions = sessions_of(shared, what.owner, what.child, what.session);
  if (!sessions) return tl::unexpected(std::move(sessions.error()));
  struct item {
    storage::notice_record notice;
    session_key const* key;
  };
  std::vector<item> items;
  for (auto const& session : *sessions) {
    auto notices = shared.stores->notices(session.number);
    if (!notices) return tl::unexpected(from_storage(notices.error()));
    for (auto& each : *notices)
      if (each.notice.text > what.after) items.push_back({std::move(each), &session.key});
  }
  std::sort(items.begin(), items.end(), [](auto const& a, auto const& b) { return a.notice.notice < b.notice.notice; });
  auto const more = items.size() > what.limit;
  if (more) items.resize(what.limit);
  link::json_writer out;
  out.json("items", link::json_list(items, [](item const& each) {
             link::json_writer where;
             auto text = write_key(where, *each.key).take();
             text.back() = ',';
             return text + notice_json(each.notice).substr(1);
           }));
  if (more)
    out.text("next", items.back().notice.notice.text);
  else
    out.null("next");
  return out.take();
}

result<std::string> acknowledge(context& shared, ack_notices const& what) {
  auto sessions = sessions_of(shared, what.owner, std::nullopt, std::nullopt);
  if (!sessions) return tl::unexpected(std::move(sessions.error()));
  storage::changes unit;
  for (auto const& session : *sessions) {
    auto notices = shared.stores->notices(session.number);
    if (!notices) return tl::unexpected(from_storage(notices.error()));
    for (auto const& each : *notices)
      if (std::find(what.ids.begin(), what.ids.end(), each.notice) != what.ids.end())
        unit.push_back(storage::erase_notice{each.session, each.notice});
  }
  auto const acked = unit.size();
  if (acked > 0) {
    if (auto committed = shared.commit(unit); !committed) return tl::unexpected(std::move(committed.error()));
    for (auto const& each : unit)
      if (auto const* gone = std::get_if<storage::erase_notice>(&each)) shared.forget_later(gone->session, gone->notice);
    for (auto& [key, entry] : shared.sessions)
      if (entry.face && key.owner == what.owner) entry.face->forget_notices(what.ids);
  }
  return "{\"acked\":" + std::to_string(acked) + "}";
}

}  // namespace holdfast::core
