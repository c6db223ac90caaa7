// cells, cell, interrupt: cells as the records have them.
#include "bin/holdfast/ask.hpp"
#include "bin/holdfast/cell_view.hpp"
#include "bin/holdfast/exit_codes.hpp"
#include "bin/holdfast/fields.hpp"
#include "bin/holdfast/rows.hpp"
#include "bin/holdfast/streams.hpp"

namespace holdfast::cli {

namespace {

void show_cell(boost::json::object const& result) {
  auto const section = [](std::string_view name, std::string_view body) {
    if (body.empty()) return;
    write_out("\n" + std::string(name) + ":\n" + std::string(body) + (body.ends_with('\n') ? "" : "\n"));
  };
  write_out(render_facts(cell_facts(result)));
  section("stdout", text(result, "stdout"));
  section("stderr", text(result, "stderr"));
  auto const rendered = render_result(result);
  section("notices", rendered.before);
  section("value", rendered.value);
  section("end", rendered.after);
}

}  // namespace

int execute(settings const& here, cells_arguments const& given) {
  boost::json::object params{{"limit", given.limit}};
  given.where.add_to(params);
  if (given.status) params["status"] = *given.status;
  return ask_list(here, "cell.list", params, "cells", cell_headings(), cell_row);
}

int execute(settings const& here, cell_arguments const& given) {
  boost::json::object params{{"cell", given.cell}};
  given.where.add_to(params);
  return ask(here, "cell.get", params, [](boost::json::object const& result) -> int {
    show_cell(result);
    return exit_ok;
  });
}

int execute(settings const& here, interrupt_arguments const& given) {
  boost::json::object params;
  given.where.add_to(params);
  if (given.cell) params["cell"] = *given.cell;
  return ask(here, "cell.interrupt", params, [](boost::json::object const& result) -> int {
    write_out(std::string(text(result, "cell")) + " " + std::string(text(result, "status")) + "\n");
    return exit_ok;
  });
}

}  // namespace holdfast::cli
