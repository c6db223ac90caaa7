// kernels, kernel [--stop [--no-save]].
#include <spdlog/fmt/fmt.h>
#include <boost/json/serialize.hpp>

#include "bin/holdfast/ask.hpp"
#include "bin/holdfast/exit_codes.hpp"
#include "bin/holdfast/failure.hpp"
#include "bin/holdfast/fields.hpp"
#include "bin/holdfast/format.hpp"
#include "bin/holdfast/rows.hpp"
#include "bin/holdfast/service.hpp"
#include "bin/holdfast/streams.hpp"

namespace holdfast::cli {

namespace {

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
    boost::json::object const params{{"kernel", given.kernel}, {"save", !given.no_save}};
    return ask(here, "kernel.stop", params, [&](boost::json::object const& row) -> int {
      // The row is its last one: of a kernel that is gone.
      write_out("stopped kernel " + one_line(text(row, "kernel")) + " of session " + one_line(text(row, "session")) + "\n");
      return exit_ok;
    });
  }
  auto connection = connect_running(here.home);
  if (!connection) return show_failure(connection.error(), here.json);
  auto const row = find_row(*connection, "kernel.list", "kernel", given.kernel,
                            fmt::format("no kernel {}; holdfast kernels shows what there is", given.kernel));
  return row ? show(here, *row) : show_failure(row.error(), here.json);
}

}  // namespace holdfast::cli
