// notices: what sessions have not been told yet; with --ack they count as told.
#include <boost/json/serialize.hpp>

#include "bin/holdfast/ask.hpp"
#include "bin/holdfast/exit_codes.hpp"
#include "bin/holdfast/failure.hpp"
#include "bin/holdfast/fields.hpp"
#include "bin/holdfast/rows.hpp"
#include "bin/holdfast/service.hpp"
#include "bin/holdfast/streams.hpp"

namespace holdfast::cli {

namespace {

constexpr std::chrono::milliseconds answer_timeout{30'000};

void print(settings const& here, boost::json::object const& answer, boost::json::array const& items) {
  if (here.json) {
    write_out(boost::json::serialize(answer) + "\n");
  } else if (items.empty()) {
    complain("no notices");
  } else {
    table shown(notice_headings());
    for (auto const& item : items) {
      if (item.is_object()) shown.add(notice_row(item.get_object()));
    }
    write_out(shown.render());
  }
}

}  // namespace

int execute(settings const& here, notices_arguments const& given) {
  boost::json::object params{{"owner", given.owner}, {"limit", given.limit}};
  if (given.session) params["session"] = *given.session;
  if (!given.ack) return ask_list(here, "notice.list", params, "notices", notice_headings(), notice_row);

  auto connection = connect_running(here.home);
  if (!connection) return show_failure(connection.error(), here.json);
  auto const listed = connection->call("notice.list", std::move(params), answer_timeout);
  if (!listed) return show_failure(listed.error(), here.json);
  auto const answer = listed->is_object() ? listed->get_object() : boost::json::object{};
  auto const* found = array_in(answer, "items");
  auto const items = found ? *found : boost::json::array{};
  // Shown first: a notice that is acked and then not shown would be lost.
  print(here, answer, items);
  boost::json::array ids;
  for (auto const& item : items) {
    if (item.is_object()) ids.emplace_back(notice_row(item.get_object()).front());
  }
  if (ids.empty()) return exit_ok;
  auto const acked = connection->call("notice.ack", {{"owner", given.owner}, {"ids", std::move(ids)}}, answer_timeout);
  return acked ? static_cast<int>(exit_ok) : show_failure(acked.error(), false);
}

}  // namespace holdfast::cli
