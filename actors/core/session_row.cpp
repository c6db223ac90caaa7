// How is it listed? The session's row and its kernels, of one that is loaded or is in the stores only.
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "actors/base/clock.hpp"
#include "actors/core/key_json.hpp"
#include "actors/core/session_state.hpp"
#include "actors/link/json_writer.hpp"

namespace holdfast::core {

char const* session_state::state() const {
  auto const is_starting = !arrivals.empty() || !cells.empty();
  constexpr std::array<char const*, 6> by_weight = {"new", "hibernated", "idle", "unreachable", "starting", "busy"};
  std::size_t weight = runs_alone() ? 5 : is_starting ? 4 : 0;
  for (auto const& [number, at] : slots) {
    auto const is_saved = is_hibernated(at) || (at.is_ending_saved() && at.saved.row);
    auto const one = std::string_view(is_saved ? "hibernated" : at.kernel ? view_of(at).state() : "new");
    auto const found = std::find(by_weight.begin(), by_weight.end(), one);
    weight = std::max(weight, static_cast<std::size_t>(found - by_weight.begin()));
  }
  return by_weight[weight];
}

std::vector<kernel_view> session_state::kernels() const {
  std::vector<kernel_view> views;
  for (auto const& [number, at] : slots)
    if (at.kernel) views.push_back(view_of(at));
  for (auto const& each : orphans) views.push_back(view_of(each));
  return views;
}

std::size_t session_state::queued() const {
  auto const accepted = std::count_if(cells.begin(), cells.end(), [this](auto const& each) { return is_queued(each); });
  return static_cast<std::size_t>(accepted) + arrivals.size();
}

std::string session_state::row() const {
  auto const views = kernels();
  std::string_view cell;
  storage::unix_ms idle_since = 0;
  std::uint64_t saved_bytes = 0;
  for (auto const& view : views) {
    if (cell.empty()) cell = view.cell;
    idle_since = std::max(idle_since, view.idle_since);
  }
  if (auto const* front = std::as_const(*this).foreground(); front && !is_queued(*front)) cell = front->row.cell.text;
  for (auto const& [number, at] : slots)
    if (at.saved.row && !is_unwanted(at)) saved_bytes += at.saved.row->bytes;
  link::json_writer out;
  write_key(out, own_row.key).text("state", state());
  out.json("kernels", link::json_list(views, [](auto const& view) { return "\"" + view.kernel.text + "\""; }));
  if (cell.empty())
    out.null("cell");
  else
    out.text("cell", cell);
  out.number("queued", queued());
  out.number("jobs", live_jobs());
  if (idle_since == 0) idle_since = last_end(*shared->stores, own_row);
  out.integer("idle_ms", cells.empty() ? std::max<std::int64_t>(0, now_ms() - idle_since) : 0);
  out.number("saved_bytes", saved_bytes).number("notices", notices.size());
  out.text("created_at", rfc3339(own_row.created_at));
  return out.take();
}

std::string stored_session_row(storage::session_record const& record, std::size_t notices, std::uint64_t saved_bytes,
                               storage::unix_ms idle_since) {
  link::json_writer out;
  write_key(out, record.key).text("state", stored_state(saved_bytes));
  out.json("kernels", "[]").null("cell").number("queued", 0).number("jobs", 0);
  out.integer("idle_ms", std::max<std::int64_t>(0, now_ms() - idle_since)).number("saved_bytes", saved_bytes);
  out.number("notices", notices).text("created_at", rfc3339(record.created_at));
  return out.take();
}

}  // namespace holdfast::core
