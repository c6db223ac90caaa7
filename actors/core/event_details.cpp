#include "actors/core/event_details.hpp"

#include "actors/link/json_writer.hpp"

namespace holdfast::core {

namespace {

link::json_writer of_job(storage::job_record const& job) {
  link::json_writer out;
  out.text("job", job.job.text).text("kernel", job.kernel.text).text("cell", job.cell.text);
  return out;
}

std::string_view end_of(storage::job_record const& job) {
  if (job.state == storage::job_state::lost) return "unknown";
  if (job.state == storage::job_state::stopped) return "stop";
  if (job.timed_out) return "deadline";
  return job.exit_code && *job.exit_code < 0 ? "signal" : "exit";
}

}  // namespace

std::string reason_details(std::string_view reason) { return link::json_writer().text("reason", reason).take(); }

std::string kernel_details(kernel_id const& kernel, std::string_view reason) {
  return link::json_writer().text("kernel", kernel.text).text("reason", reason).take();
}

std::string attached_details(kernel_id const& kernel, std::uint64_t epoch, std::string_view reason) {
  return link::json_writer().text("kernel", kernel.text).number("epoch", epoch).text("reason", reason).take();
}

std::string accepted_details(storage::cell_record const& cell) {
  return link::json_writer().text("cell", cell.cell.text).text("reason", cell.kernel.empty() ? "queued" : "sent").take();
}

std::string started_details(storage::cell_record const& cell, std::string_view reason) {
  link::json_writer out;
  out.text("cell", cell.cell.text);
  if (cell.kernel.empty())
    out.null("kernel");
  else
    out.text("kernel", cell.kernel.text);
  return out.text("reason", reason).take();
}

std::string finished_details(storage::cell_record const& cell, std::string_view why) {
  if (why == "done" && cell.status == storage::cell_status::timeout) why = "deadline";
  if (why == "done" && cell.status == storage::cell_status::interrupted) why = "interrupt";
  return link::json_writer()
      .text("cell", cell.cell.text)
      .text("status", storage::to_string(cell.status))
      .text("reason", why)
      .take();
}

std::string refused_details(error_code code, cell_id const& cell) {
  link::json_writer out;
  if (cell.empty())
    out.null("cell");
  else
    out.text("cell", cell.text);
  return out.text("reason", to_string(code)).take();
}

std::string job_started_details(storage::job_record const& job) { return of_job(job).text("reason", "cell").take(); }

std::string job_finished_details(storage::job_record const& job) {
  return of_job(job).text("state", storage::to_string(job.state)).text("reason", end_of(job)).take();
}

}  // namespace holdfast::core
