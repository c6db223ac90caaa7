#include <catch2/catch.hpp>

#include <boost/json/parse.hpp>

#include "actors/core/result_json.hpp"

using namespace holdfast;
using namespace holdfast::core;

namespace {

result_facts facts() {
  result_facts made;
  made.key = {"alice", "", "s1"};
  made.row.cell = cell_id("c-1");
  made.row.status = storage::cell_status::ok;
  made.row.queued_at = 1'000;
  made.row.started_at = 2'000;
  made.row.finished_at = 2'500;
  made.out = {"hello\n", "", 6};
  made.value = "42";
  made.kernel = kernel_facts{kernel_id("k-1"), 7, "local", "/usr/bin/python3", "reused", false, false, false, 3, {}};
  return made;
}

boost::json::object parsed(result_facts const& made) {
  return boost::json::parse(with_replayed(result_json(made), false)).as_object();
}

}  // namespace

TEST_CASE("a result names its cell, status, output, value and kernel") {
  auto const object = parsed(facts());

  CHECK(object.at("cell") == "c-1");
  CHECK(object.at("status") == "ok");
  CHECK(object.at("final") == true);
  CHECK(object.at("stdout") == "hello\n");
  CHECK(object.at("stdout_truncated") == false);
  CHECK(object.at("value") == "42");
  CHECK(object.at("duration_ms") == 500);
  CHECK(object.at("queued_at") == "1970-01-01T00:00:01.000Z");
  CHECK(object.at("kernel").at("reused") == true);
  CHECK(object.at("kernel").at("execution_count") == 3);
  CHECK(object.at("death").is_null());
  CHECK(object.at("replayed") == false);
}

TEST_CASE("what is left out of a stream is one line with the exact number of bytes") {
  auto made = facts();
  made.out = {std::string(48 * 1024, 'a'), std::string(16 * 1024, 'b'), 156'740};

  auto const object = parsed(made);

  CHECK(object.at("stdout_truncated") == true);
  CHECK(object.at("stdout_bytes") == 156'740);
  CHECK(std::string(object.at("stdout").as_string()).find("\n[... 91204 bytes left out ...]\n") == 48 * 1024);
}

TEST_CASE("a running cell has no end and no duration") {
  auto made = facts();
  made.row.status = storage::cell_status::running;
  made.row.finished_at = 0;

  auto const object = parsed(made);

  CHECK(object.at("final") == false);
  CHECK(object.at("finished_at").is_null());
  CHECK(object.at("duration_ms").is_null());
}

TEST_CASE("a death names its cause, signal and exit code") {
  auto made = facts();
  made.row.status = storage::cell_status::lost;
  made.death = death_facts{"signal", "SIGKILL", {}, "last words"};

  auto const death = parsed(made).at("death").as_object();

  CHECK(death.at("cause") == "signal");
  CHECK(death.at("signal") == "SIGKILL");
  CHECK(death.at("exit_code").is_null());
  CHECK(death.at("log_tail") == "last words");
}

TEST_CASE("text with control characters and broken UTF-8 stays valid JSON") {
  auto made = facts();
  made.out = {std::string("\x00\x1b[31m\xff", 7), "", 7};

  CHECK_NOTHROW(parsed(made));
}

TEST_CASE("a text is the last field of the answer and escaped") {
  auto const object = boost::json::parse(with_text(with_replayed(result_json(facts()), true), "a\n\"b\"")).as_object();

  CHECK(object.at("text") == "a\n\"b\"");
  CHECK(object.at("cell") == "c-1");
}
