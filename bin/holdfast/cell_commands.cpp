// cells, cell, interrupt: cells as the records have them.
#include <sodium.h>

#include "bin/holdfast/ask.hpp"
#include "bin/holdfast/cell_view.hpp"
#include "bin/holdfast/exit_codes.hpp"
#include "bin/holdfast/fields.hpp"
#include "bin/holdfast/rows.hpp"
#include "bin/holdfast/streams.hpp"

namespace holdfast::cli {

namespace {

void show_cell(boost::json::object const& result, std::string_view home_flag) {
  auto const section = [](std::string_view name, std::string_view body) {
    if (body.empty()) return;
    write_out("\n" + std::string(name) + ":\n" + std::string(body) + (body.ends_with('\n') ? "" : "\n"));
  };
  write_out(render_facts(cell_facts(result)));
  section("stdout", text(result, "stdout"));
  section("stderr", text(result, "stderr"));
  auto const rendered = render_result(result, home_flag);
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
  return ask(here, "cell.get", params, [&](boost::json::object const& result) -> int {
    show_cell(result, here.home_flag);
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

/// Binary types are base64 in the protocol, and text here is written as it is: which of both it is shows in the size.
int execute(settings const& here, display_arguments const& given) {
  boost::json::object params{{"cell", given.cell}, {"index", given.index}, {"mime", given.mime}};
  given.where.add_to(params);
  return ask(here, "cell.display", params, [](boost::json::object const& shown) -> int {
    auto const data = text(shown, "data");
    auto const bytes = static_cast<std::size_t>(number(shown, "bytes"));
    if (data.size() == bytes) {
      write_out(data);
      return exit_ok;
    }
    std::string decoded(bytes, '\0');
    std::size_t length = 0;
    if (sodium_base642bin(reinterpret_cast<unsigned char*>(decoded.data()), decoded.size(), data.data(), data.size(), "\r\n",
                          &length, nullptr, sodium_base64_VARIANT_ORIGINAL) != 0) {
      write_err("holdfast: the data of this display is not base64\n");
      return exit_no_service;
    }
    decoded.resize(length);
    write_out(decoded);
    return exit_ok;
  });
}

}  // namespace holdfast::cli
