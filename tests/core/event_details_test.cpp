#include <catch2/catch.hpp>

#include "actors/core/event_details.hpp"

using namespace holdfast;
using namespace holdfast::core;

namespace {

storage::cell_record a_cell(storage::cell_status status, std::string kernel = "k-1") {
  storage::cell_record row;
  row.cell = cell_id("c-1");
  row.kernel = kernel_id(std::move(kernel));
  row.status = status;
  return row;
}

storage::job_record a_job(storage::job_state state, std::optional<std::int64_t> exit_code = {}, bool timed_out = false) {
  storage::job_record row;
  row.job = job_id("j-1");
  row.kernel = kernel_id("k-1");
  row.cell = cell_id("c-1");
  row.state = state;
  row.exit_code = exit_code;
  row.timed_out = timed_out;
  return row;
}

bool has_reason(std::string const& details, std::string const& reason) {
  return details.ends_with("\"reason\":\"" + reason + "\"}");
}

}  // namespace

TEST_CASE("a cell that goes to its kernel at once is told apart from one that waits") {
  CHECK(accepted_details(a_cell(storage::cell_status::queued)) == R"({"cell":"c-1","reason":"sent"})");
  CHECK(accepted_details(a_cell(storage::cell_status::queued, "")) == R"({"cell":"c-1","reason":"queued"})");
}

TEST_CASE("how a cell ended by itself tells why, and an end from outside is told as given") {
  CHECK(finished_details(a_cell(storage::cell_status::ok), "done") == R"({"cell":"c-1","status":"ok","reason":"done"})");
  CHECK(has_reason(finished_details(a_cell(storage::cell_status::timeout), "done"), "deadline"));
  CHECK(has_reason(finished_details(a_cell(storage::cell_status::interrupted), "done"), "interrupt"));
  CHECK(has_reason(finished_details(a_cell(storage::cell_status::interrupted), "reset"), "reset"));
  CHECK(has_reason(finished_details(a_cell(storage::cell_status::lost), "oom"), "oom"));
}

TEST_CASE("what ended a job is told by its state, deadline and exit code") {
  using enum storage::job_state;
  CHECK(has_reason(job_finished_details(a_job(finished, 0)), "exit"));
  CHECK(has_reason(job_finished_details(a_job(finished, -9)), "signal"));
  CHECK(has_reason(job_finished_details(a_job(finished, -15, true)), "deadline"));
  CHECK(has_reason(job_finished_details(a_job(stopped, -15)), "stop"));
  CHECK(has_reason(job_finished_details(a_job(lost)), "unknown"));
}

TEST_CASE("a refusal names the error, and the cell if its client did") {
  CHECK(refused_details(error_code::queue_full, cell_id("c-1")) == R"({"cell":"c-1","reason":"queue_full"})");
  CHECK(refused_details(error_code::start_failed, {}) == R"({"cell":null,"reason":"start_failed"})");
}

TEST_CASE("how the loss of a connection was seen is anybody's text, and stays a text") {
  CHECK(kernel_details(kernel_id("k-1"), "a \"quoted\"\nreason") == R"({"kernel":"k-1","reason":"a \"quoted\"\nreason"})");
}
