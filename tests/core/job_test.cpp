// What becomes of a job, and how it is shown.
#include <catch2/catch.hpp>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "actors/core/job_outcome.hpp"
#include "actors/core/job_view.hpp"

using namespace holdfast;
using namespace holdfast::core;
using storage::job_state;

namespace {

storage::job_record running(std::string id = "j-1", std::int32_t pid = 4712) {
  storage::job_record job;
  job.session = 7;
  job.job = job_id(std::move(id));
  job.kernel = kernel_id("k-1");
  job.command = "sleep 5";
  job.pid = pid;
  job.started_at = 1'000;
  return job;
}

link::job_finished finish() {
  link::job_finished frame;
  frame.job = job_id("j-1");
  frame.exit_code = 3;
  frame.output_bytes = 12;
  frame.at = 4'100;
  return frame;
}

boost::json::object object(std::string const& text) { return boost::json::parse(text).as_object(); }

}  // namespace

TEST_CASE("a job that was ended with its dead kernel is stopped, one that nobody saw end is lost") {
  CHECK(state_after_death(running(), {1, 4712}) == job_state::stopped);
  CHECK(state_after_death(running(), {4711}) == job_state::lost);
  CHECK(state_after_death(running(), {}) == job_state::lost);
}

TEST_CASE("a job that outlives its kernel runs on, whatever was ended") {
  auto job = running();
  job.keep = true;

  CHECK(state_after_death(job, {}) == job_state::running);
  CHECK(state_after_death(job, {4712}) == job_state::running);
}

TEST_CASE("a job's end is recorded as its kernel tells it") {
  auto const row = finished(running(), finish());

  CHECK(row.state == job_state::finished);
  CHECK(row.exit_code == 3);
  CHECK(row.finished_at == 4'100);
  CHECK(row.output_bytes == 12);
}

TEST_CASE("a job that was told to end is stopped, and a clock that went back makes no negative duration") {
  auto frame = finish();
  frame.stopped = true;
  frame.at = 10;

  auto const row = finished(running(), frame);

  CHECK(row.state == job_state::stopped);
  CHECK(row.finished_at == row.started_at);
}

TEST_CASE("an exit by a signal is minus its number") {
  auto frame = finish();
  frame.exit_code.reset();
  auto const code = [&](char const* signal) {
    frame.signal = signal;
    return exit_code_of(frame);
  };

  CHECK(code("SIGKILL") == -9);
  CHECK(code("SIGTERM") == -15);
  CHECK(code("SIG34") == -34);
  CHECK_FALSE(code("SIGNONSENSE"));
  CHECK_FALSE(code("SIG99999999999"));
  CHECK_FALSE(code(""));
  frame.signal.reset();
  CHECK_FALSE(exit_code_of(frame));
}

TEST_CASE("the row of a running job counts until now and has no exit code") {
  auto const row = object(job_json({"alice", "", "s1"}, running(), 3'500));

  CHECK(row.at("job") == "j-1");
  CHECK(row.at("owner") == "alice");
  CHECK(row.at("child").is_null());
  CHECK(row.at("state") == "running");
  CHECK(row.at("exit_code").is_null());
  CHECK(row.at("duration_ms") == 2'500);
}

TEST_CASE("the row of an ended job has its own duration") {
  auto const row = object(job_json({"alice", "c", "s1"}, finished(running(), finish()), 99'000));

  CHECK(row.at("child") == "c");
  CHECK(row.at("state") == "finished");
  CHECK(row.at("exit_code") == 3);
  CHECK(row.at("duration_ms") == 3'100);
  CHECK(row.at("output_bytes") == 12);
}

TEST_CASE("an end is told in words: how, and after how long") {
  CHECK(end_in_words(finished(running(), finish())) ==
        "job j-1 (sleep 5) has finished: exit code 3 after 3.1 s, 12 bytes of output");
  auto frame = finish();
  frame.stopped = frame.timed_out = true;
  frame.exit_code.reset();
  frame.signal = "SIGTERM";
  CHECK(end_in_words(finished(running(), frame)) ==
        "job j-1 (sleep 5) was stopped at its deadline: ended by signal 15 after 3.1 s, 12 bytes of output");
}

TEST_CASE("a list of jobs in a sentence is bounded, that in the details is whole") {
  std::vector<storage::job_record> jobs;
  for (int i = 0; i < 11; ++i) jobs.push_back(running("j-" + std::to_string(i)));
  jobs[0].command = std::string(100, 'x');

  auto const text = named(jobs);

  CHECK(text.starts_with("job j-0 (" + std::string(60, 'x') + "...), job j-1 (sleep 5), "));
  CHECK(text.ends_with("job j-7 (sleep 5) and 3 more"));
  auto const details = boost::json::parse(job_details(jobs)).as_array();
  REQUIRE(details.size() == 11);
  CHECK(details[10].at("job") == "j-10");
  CHECK(details[0].at("command").as_string().size() == 100);
}

TEST_CASE("a page names what was dropped within it, not elsewhere") {
  link::job_page page;
  page.chunks = {{link::output_stream::err, 30, "text"}};
  page.next_offset = 34;
  page.total_bytes = 90;
  page.dropped = {{0, 10}, {15, 30}, {50, 60}};

  auto const shown = object(page_json(page, 20));

  CHECK(boost::json::serialize(shown.at("dropped")) == R"([{"from":20,"to":30}])");
  CHECK(shown.at("chunks").as_array()[0].at("stream") == "stderr");
  CHECK(shown.at("next_offset") == 34);
  CHECK(shown.at("final") == false);
}

TEST_CASE("output that went with its kernel is named as dropped") {
  auto const job = finished(running(), finish());

  auto const shown = object(page_json(lost_page(job, 4), 4));

  CHECK(boost::json::serialize(shown.at("dropped")) == R"([{"from":4,"to":12}])");
  CHECK(shown.at("next_offset") == 12);
  CHECK(shown.at("total_bytes") == 12);
  CHECK(shown.at("final") == true);
}
