// events: what the daemon has kept of what happened, and with -f what happens from then on.
#include <poll.h>

#include <spdlog/fmt/fmt.h>
#include <boost/json/serialize.hpp>

#include "bin/holdfast/ask.hpp"
#include "bin/holdfast/exit_codes.hpp"
#include "bin/holdfast/failure.hpp"
#include "bin/holdfast/fields.hpp"
#include "bin/holdfast/interrupts.hpp"
#include "bin/holdfast/rows.hpp"
#include "bin/holdfast/service.hpp"
#include "bin/holdfast/streams.hpp"

namespace holdfast::cli {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds answer_timeout{30'000};
/// Kept events come right behind the answer; with a filter the newest may never come, so a silence is the end too.
constexpr milliseconds silence{300};

boost::json::object subscription(events_arguments const& given) {
  boost::json::object params;
  if (given.owner) params["owner"] = *given.owner;
  if (!given.types.empty()) params["types"] = boost::json::array(given.types.begin(), given.types.end());
  if (given.since)
    params["since"] = *given.since;
  else if (!given.follow)
    params["since"] = 0;
  return params;
}

/// Until `newest` was shown, or nothing more comes.
int collect(settings const& here, front::client& connection, boost::json::array items, std::int64_t newest) {
  while (items.empty() || number(items.back().as_object(), "seq") < newest) {
    auto received = connection.receive(silence);
    if (!received) break;
    if (received->method == "event") items.emplace_back(std::move(received->params));
  }
  if (here.json) {
    write_out(boost::json::serialize(boost::json::object{{"items", std::move(items)}, {"next", nullptr}}) + "\n");
    return exit_ok;
  }
  if (items.empty()) complain("no events");
  for (auto const& item : items) write_out(event_line(item.get_object()));
  return exit_ok;
}

int stream(settings const& here, front::client& connection, boost::json::array const& first) {
  interrupts stop;
  auto const print = [&](boost::json::object const& event) {
    return write_out(here.json ? boost::json::serialize(event) + "\n" : event_line(event));
  };
  for (auto const& item : first) {
    if (!print(item.get_object())) return exit_ok;
  }
  while (!stop.is_pending()) {
    auto const received = connection.receive(milliseconds{0});
    if (received) {
      if (received->method == "event" && !print(received->params)) return exit_ok;
      continue;
    }
    if (!flag(received.error().data, "timeout"))
      return show_failure({error_code::unreachable, "the daemon has ended", {{"closed", true}}}, false);
    pollfd waiting[] = {{connection.fd(), POLLIN, 0}, {stop.fd(), POLLIN, 0}};
    ::poll(waiting, 2, -1);
  }
  return exit_interrupted;
}

}  // namespace

int execute(settings const& here, events_arguments const& given) {
  auto connection = connect_running(here.home);
  if (!connection) return show_failure(connection.error(), here.json);
  boost::json::array early;  // events may come before the answer
  auto const subscribed =
      connection->call("event.subscribe", subscription(given), answer_timeout, [&](std::string_view method, auto const& params) {
        if (method == "event") early.emplace_back(params);
      });
  if (!subscribed) return show_failure(subscribed.error(), here.json);
  auto const answer = subscribed->is_object() ? subscribed->get_object() : boost::json::object{};
  if (number(answer, "missed") > 0) complain(fmt::format("{} older events are no longer kept", number(answer, "missed")));
  if (given.follow) return stream(here, *connection, early);
  return collect(here, *connection, std::move(early), number(answer, "seq"));
}

}  // namespace holdfast::cli
