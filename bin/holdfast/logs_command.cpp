// logs: the output of a cell that is recorded so far, page after page; a job's is job_commands.cpp's.
#include <boost/json/serialize.hpp>

#include "bin/holdfast/catch_up.hpp"
#include "bin/holdfast/commands.hpp"
#include "bin/holdfast/exit_codes.hpp"
#include "bin/holdfast/failure.hpp"
#include "bin/holdfast/fields.hpp"
#include "bin/holdfast/service.hpp"
#include "bin/holdfast/streams.hpp"

namespace holdfast::cli {

namespace {

constexpr std::chrono::milliseconds page_timeout{30'000};
constexpr std::int64_t page_bytes = 256 * 1024;

int print_text(settings const& here, front::client& connection, boost::json::object const& asks) {
  cell_view view(cell_view::mode::output_only);
  catch_up output(view, asks);
  for (;;) {
    auto const before = output.shown();
    auto const page = output.read_page(connection);
    if (page.problem) return show_failure(with_hint(*page.problem, asks), here.json);
    if (page.came == catch_up::outcome::reader_gone || !page.has_more || output.shown() == before) return exit_ok;
  }
}

/// All pages as one answer of cell.output.
int print_document(settings const& here, front::client& connection, boost::json::object asks) {
  boost::json::object whole;
  boost::json::array chunks, dropped;
  asks["limit"] = page_bytes;
  for (std::int64_t offset = 0;;) {
    asks["offset"] = offset;
    auto const answer = connection.call("cell.output", asks, page_timeout);
    if (!answer) return show_failure(with_hint(answer.error(), asks), here.json);
    if (!answer->is_object()) break;
    whole = answer->get_object();
    if (auto const* more = array_in(whole, "chunks")) chunks.insert(chunks.end(), more->begin(), more->end());
    if (auto const* more = array_in(whole, "dropped")) dropped.insert(dropped.end(), more->begin(), more->end());
    auto const next = number(whole, "next_offset");
    if (next <= offset || next >= number(whole, "total_bytes")) break;
    offset = next;
  }
  whole["chunks"] = std::move(chunks);
  whole["dropped"] = std::move(dropped);
  write_out(boost::json::serialize(whole) + "\n");
  return exit_ok;
}

}  // namespace

int execute(settings const& here, logs_arguments const& given) {
  if (given.cell.starts_with("j-"))  // a client may have called a cell so
    if (auto const shown = show_job_log(here, given)) return *shown;
  if (given.follow) return follow_log(here, given);
  auto connection = connect_or_start(here.home, [] { return false; });
  if (!connection) return show_failure(connection.error(), here.json);
  boost::json::object asks{{"cell", given.cell}};
  given.where.add_to(asks);
  return here.json ? print_document(here, *connection, asks) : print_text(here, *connection, asks);
}

}  // namespace holdfast::cli
