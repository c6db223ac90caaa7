#include "actors/core/job_view.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "actors/base/clock.hpp"
#include "actors/base/identity.hpp"
#include "actors/core/key_json.hpp"
#include "actors/core/output_log.hpp"
#include "actors/link/json_writer.hpp"
#include "actors/link/utf8.hpp"

namespace holdfast::core {

namespace {

constexpr std::size_t shown_command = 60;  // characters of a command in a sentence
constexpr std::size_t shown_jobs = 8;      // of a list in a sentence

std::string cut(std::string const& command) {
  std::size_t at = 0;
  for (std::size_t count = 0; count < shown_command && at < command.size(); ++count)
    at += std::max<std::size_t>(1, link::utf8_length(std::string_view(command).substr(at)));
  return at < command.size() ? command.substr(0, at) + "..." : command;
}

std::string named(storage::job_record const& job) { return "job " + job.job.text + " (" + cut(job.command) + ")"; }

}  // namespace

bool is_alive(storage::job_record const& job) {
  storage::process_identity const leader{boot_id(), own_pid_namespace(), job.pid, job.start_time};
  auto const seen = inspect(leader);
  return seen != process_state::gone && seen != process_state::zombie;
}

std::string job_json(session_key const& key, storage::job_record const& job, storage::unix_ms now) {
  link::json_writer row;
  write_key(row.text("job", job.job.text), key).text("kernel", job.kernel.text).text("command", job.command);
  row.integer("pid", job.pid).text("state", storage::to_string(job.state));
  if (job.exit_code)
    row.integer("exit_code", *job.exit_code);
  else
    row.null("exit_code");
  row.flag("timed_out", job.timed_out).text("started_at", rfc3339(job.started_at));
  auto const until = storage::has_ended(job.state) ? job.finished_at : now;
  row.integer("duration_ms", std::max<std::int64_t>(0, until - job.started_at)).number("output_bytes", job.output_bytes);
  return row.take();
}

std::string job_details(std::vector<storage::job_record> const& jobs) {
  return link::json_list(jobs, [](storage::job_record const& each) {
    return link::json_writer{}.text("job", each.job.text).text("command", each.command).take();
  });
}

std::string named(std::vector<storage::job_record> const& jobs) {
  std::string all;
  auto const shown = std::min(jobs.size(), shown_jobs);
  for (std::size_t i = 0; i < shown; ++i) all += (i == 0 ? "" : ", ") + named(jobs[i]);
  if (jobs.size() > shown) all += " and " + std::to_string(jobs.size() - shown) + " more";
  return all;
}

std::string end_in_words(storage::job_record const& job) {
  auto text = named(job) + (job.state == storage::job_state::stopped ? " was stopped" : " has finished") +
              (job.timed_out ? " at its deadline" : "") + ": ";
  if (!job.exit_code)
    text += "its exit code is not known";
  else if (*job.exit_code < 0)
    text += "ended by signal " + std::to_string(-*job.exit_code);
  else
    text += "exit code " + std::to_string(*job.exit_code);
  auto const took = std::max<std::int64_t>(0, job.finished_at - job.started_at);
  return text + fmt::format(" after {:.1f} s, {} bytes of output", static_cast<double>(took) / 1000, job.output_bytes);
}

std::string page_json(link::job_page const& page, std::uint64_t offset) {
  link::json_writer out;
  out.json("chunks", link::json_list(page.chunks, [](link::job_page::chunk const& each) {
             return link::json_writer{}
                 .text("stream", to_string(each.stream))
                 .number("offset", each.offset)
                 .text("text", each.text)
                 .take();
           }));
  out.number("next_offset", page.next_offset).number("total_bytes", page.total_bytes);
  std::vector<link::job_page::range> within;
  for (auto const& each : page.dropped) {
    link::job_page::range const part{std::max(each.from, offset), std::min(each.to, page.next_offset)};
    if (part.from < part.to) within.push_back(part);
  }
  out.json("dropped", link::json_list(within, [](link::job_page::range const& each) {
             return link::json_writer{}.number("from", each.from).number("to", each.to).take();
           }));
  return out.flag("final", page.is_final).take();
}

link::job_page lost_page(storage::job_record const& job, std::uint64_t offset) {
  link::job_page page;
  page.total_bytes = job.output_bytes;
  page.next_offset = std::max(offset, job.output_bytes);
  page.dropped = {{0, job.output_bytes}};
  page.is_final = storage::has_ended(job.state);
  return page;
}

}  // namespace holdfast::core
