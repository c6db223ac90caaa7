#include "bin/holdfast/ask.hpp"

#include <algorithm>

#include <spdlog/fmt/fmt.h>
#include <boost/json/serialize.hpp>

#include "bin/holdfast/exit_codes.hpp"
#include "bin/holdfast/failure.hpp"
#include "bin/holdfast/fields.hpp"
#include "bin/holdfast/service.hpp"
#include "bin/holdfast/streams.hpp"

namespace holdfast::cli {

namespace {
// An interrupt, a reset and a close answer when a cell has ended, which a kernel may have to be killed for; a daemon that has just been
// started may be attaching. Longer than all of that, and short enough that a script ends.
constexpr std::chrono::milliseconds answer_timeout{120'000};
}  // namespace

int ask(settings const& here, std::string_view method, boost::json::object const& params, show_answer const& show) {
  auto connection = connect_running(here.home);
  if (!connection) return show_failure(connection.error(), here.json);
  auto const answer = connection->call(method, params, answer_timeout);
  if (!answer) return show_failure(with_hint(answer.error(), params), here.json);
  if (here.json) {
    write_out(boost::json::serialize(*answer) + "\n");
    return exit_ok;
  }
  auto const* object = answer->if_object();
  return show(object ? *object : boost::json::object{});
}

namespace {

/// Page by page until there are as many rows as `limit` says (0: all), as one answer {items, next}.
result<boost::json::object> all_pages(front::client& connection, std::string_view method, boost::json::object params) {
  constexpr std::int64_t page_most = 1000;
  auto const limit = number(params, "limit");
  boost::json::array items;
  for (;;) {
    auto const left = limit - static_cast<std::int64_t>(items.size());
    params["limit"] = limit == 0 ? page_most : std::min(left, page_most);
    auto page = connection.call(method, params, answer_timeout);
    if (!page) return tl::unexpected(page.error());
    auto const* answer = page->if_object();
    if (auto const* more = answer ? array_in(*answer, "items") : nullptr) items.insert(items.end(), more->begin(), more->end());
    auto const next = std::string(answer ? text(*answer, "next") : "");
    if (next.empty() || static_cast<std::int64_t>(items.size()) == limit)
      return boost::json::object{{"items", std::move(items)},
                                 {"next", next.empty() ? boost::json::value(nullptr) : boost::json::value(next)}};
    params["after"] = next;
  }
}

}  // namespace

int ask_list(settings const& here, std::string_view method, boost::json::object const& params, std::string_view what,
             std::vector<std::string> headings, make_row const& row, std::string_view none) {
  auto connection = connect_running(here.home);
  if (!connection) return show_failure(connection.error(), here.json);
  auto const answer = all_pages(*connection, method, params);
  if (!answer) return show_failure(with_hint(answer.error(), params), here.json);
  if (here.json) {
    write_out(boost::json::serialize(*answer) + "\n");
    return exit_ok;
  }
  auto const* items = array_in(*answer, "items");
  if (!items || items->empty()) {
    complain(none.empty() ? fmt::format("no {}", what) : std::string(none));
    return exit_ok;
  }
  table shown(std::move(headings));
  for (auto const& item : *items)
    if (item.is_object()) shown.add(row(item.get_object()));
  write_out(shown.render());
  if (!text(*answer, "next").empty()) complain(fmt::format("there are more {}; --limit 0 shows all", what));
  return exit_ok;
}

result<boost::json::object> find_row(front::client& connection, std::string_view method, std::string_view key, std::string_view id,
                                     std::string missing) {
  constexpr std::chrono::milliseconds page_timeout{30'000};
  boost::json::object params{{"limit", 1000}};
  for (;;) {
    auto const page = connection.call(method, params, page_timeout);
    if (!page) return tl::unexpected(page.error());
    auto const* answer = page->if_object();
    auto const* items = answer ? array_in(*answer, "items") : nullptr;
    for (auto const& item : items ? *items : boost::json::array{})
      if (item.is_object() && text(item.get_object(), key) == id) return item.get_object();
    if (!answer || text(*answer, "next").empty()) return fail(error_code::not_found, std::move(missing));
    params["after"] = text(*answer, "next");
  }
}

}  // namespace holdfast::cli
