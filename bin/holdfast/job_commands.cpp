// jobs, job [--stop], and the output of a job for logs.
#include <thread>

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
constexpr std::chrono::milliseconds follow_delay{200};  // between two looks at a job that runs
constexpr std::int64_t page_bytes = 256 * 1024;

int show(settings const& here, boost::json::object const& row) {
  write_out(here.json ? boost::json::serialize(row) + "\n" : render_facts(job_facts(row)));
  return exit_ok;
}

/// What of the page lies before `offset` and is not kept.
void show_dropped(boost::json::object const& page) {
  auto const* ranges = array_in(page, "dropped");
  if (!ranges) return;
  for (auto const& each : *ranges) {
    if (!each.is_object()) continue;
    auto const bytes = number(each.get_object(), "to") - number(each.get_object(), "from");
    if (bytes > 0) write_err(fmt::format("[... {} bytes left out ...]\n", bytes));
  }
}

bool show_chunks(boost::json::object const& page) {
  auto const* chunks = array_in(page, "chunks");
  if (!chunks) return true;
  for (auto const& each : *chunks) {
    if (!each.is_object()) continue;
    auto const piece = text(each.get_object(), "text");
    if (text(each.get_object(), "stream") == "stderr")
      write_err(piece);
    else if (!write_out(piece))
      return false;
  }
  return true;
}

}  // namespace

int execute(settings const& here, jobs_arguments const& given) {
  boost::json::object params{{"limit", given.limit}};
  if (given.owner) params["owner"] = *given.owner;
  if (given.session) params["session"] = *given.session;
  if (given.state) params["state"] = *given.state;
  return ask_list(here, "job.list", params, "jobs", job_headings(), job_row);
}

int execute(settings const& here, job_arguments const& given) {
  if (given.stop)
    return ask(here, "job.stop", {{"job", given.job}}, [&](boost::json::object const& row) { return show(here, row); });
  auto connection = connect_running(here.home);
  if (!connection) return show_failure(connection.error(), here.json);
  auto const row =
      find_row(*connection, "job.list", "job", given.job, fmt::format("no job {}; holdfast jobs shows what there is", given.job));
  return row ? show(here, *row) : show_failure(row.error(), here.json);
}

std::optional<int> show_job_log(settings const& here, logs_arguments const& given) {
  auto connection = connect_or_start(here.home, [] { return false; });
  if (!connection) return show_failure(connection.error(), here.json);
  boost::json::object whole;
  boost::json::array chunks, dropped;
  for (std::int64_t offset = 0;;) {
    auto const answer =
        connection->call("job.output", {{"job", given.cell}, {"offset", offset}, {"limit", page_bytes}}, page_timeout);
    if (!answer && answer.error().code == error_code::not_found && offset == 0) return std::nullopt;
    if (!answer) return show_failure(answer.error(), here.json);
    if (!answer->is_object()) break;
    whole = answer->get_object();
    if (here.json) {
      if (auto const* more = array_in(whole, "chunks")) chunks.insert(chunks.end(), more->begin(), more->end());
      if (auto const* more = array_in(whole, "dropped")) dropped.insert(dropped.end(), more->begin(), more->end());
    } else {
      show_dropped(whole);
      if (!show_chunks(whole)) return exit_ok;  // its reader is gone
    }
    auto const next = number(whole, "next_offset");
    auto const has_more = next > offset && next < number(whole, "total_bytes");
    offset = std::max(offset, next);
    if (has_more) continue;
    if (!given.follow || flag(whole, "final")) break;
    std::this_thread::sleep_for(follow_delay);
  }
  if (here.json) {
    whole["chunks"] = std::move(chunks);
    whole["dropped"] = std::move(dropped);
    write_out(boost::json::serialize(whole) + "\n");
  }
  return exit_ok;
}

}  // namespace holdfast::cli
