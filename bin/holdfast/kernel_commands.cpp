// kernels, kernel [--stop].
#include <spdlog/fmt/fmt.h>
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

constexpr std::chrono::milliseconds page_timeout{30'000};

/// There is no method for one kernel: looks through the list.
result<boost::json::object> find_kernel(front::client& connection, std::string const& kernel) {
  boost::json::object params{{"limit", 1000}};
  for (;;) {
    auto const page = connection.call("kernel.list", params, page_timeout);
    if (!page) return tl::unexpected(page.error());
    auto const* answer = page->if_object();
    auto const* items = answer ? array_in(*answer, "items") : nullptr;
    for (auto const& item : items ? *items : boost::json::array{}) {
      if (item.is_object() && text(item.get_object(), "kernel") == kernel) return item.get_object();
    }
    if (!answer || text(*answer, "next").empty()) {
      return fail(error_code::not_found, fmt::format("there is no kernel {}; holdfast kernels lists them", kernel));
    }
    params["after"] = text(*answer, "next");
  }
}

int show(settings const& here, boost::json::object const& row) {
  write_out(here.json ? boost::json::serialize(row) + "\n" : render_facts(kernel_facts(row)));
  return exit_ok;
}

}  // namespace

int execute(settings const& here, kernels_arguments const& given) {
  boost::json::object params{{"limit", given.limit}};
  if (given.owner) params["owner"] = *given.owner;
  if (given.session) params["session"] = *given.session;
  if (given.state) params["state"] = *given.state;
  return ask_list(here, "kernel.list", params, "kernels", kernel_headings(), kernel_row);
}

int execute(settings const& here, kernel_arguments const& given) {
  if (given.stop) {
    return ask(here, "kernel.stop", {{"kernel", given.kernel}}, [&](boost::json::object const& row) { return show(here, row); });
  }
  auto connection = connect_running(here.home);
  if (!connection) return show_failure(connection.error(), here.json);
  auto const row = find_kernel(*connection, given.kernel);
  return row ? show(here, *row) : show_failure(row.error(), here.json);
}

}  // namespace holdfast::cli
