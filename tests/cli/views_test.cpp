#include <catch2/catch.hpp>

#include <boost/json/parse.hpp>

#include "bin/holdfast/cell_view.hpp"
#include "bin/holdfast/exit_codes.hpp"
#include "bin/holdfast/failure.hpp"
#include "bin/holdfast/format.hpp"
#include "bin/holdfast/rows.hpp"
#include "bin/holdfast/table.hpp"

using namespace holdfast::cli;

namespace {
boost::json::object object(char const* json) { return boost::json::parse(json).as_object(); }
}  // namespace

TEST_CASE("a result's status gives the exit code of the contract") {
  CHECK(code_of_result(object(R"({"status": "ok", "final": true})")) == 0);
  CHECK(code_of_result(object(R"({"status": "error", "final": true})")) == 1);
  CHECK(code_of_result(object(R"({"status": "lost", "final": true})")) == 5);
  CHECK(code_of_result(object(R"({"status": "running", "final": false})")) == 6);
  CHECK(code_of_result(object(R"({"status": "queued", "final": false})")) == 6);
  CHECK(code_of_result(object(R"({"status": "timeout", "final": true})")) == 124);
  CHECK(code_of_result(object(R"({"status": "interrupted", "final": true})")) == 130);
  CHECK(code_of_result(object(R"({"status": "exit", "final": true, "exit_code": 7})")) == 7);
  CHECK(code_of_result(object(R"({"status": "exit", "final": true, "exit_code": -1})")) == 255);
  CHECK(code_of_result(object(R"({"status": "exit", "final": true, "exit_code": null})")) == 0);
}

TEST_CASE("an error's code tells a refusal from a missing daemon") {
  using holdfast::error;
  using holdfast::error_code;

  CHECK(code_of_error(error{error_code::unreachable, "nothing listens", {{"closed", true}}}) == exit_no_service);
  CHECK(code_of_error(error{error_code::unreachable, "the kernel", {}}) == exit_refused);
  CHECK(code_of_error(error{error_code::invalid_params, "bad", {}}) == exit_usage);
  CHECK(code_of_error(error{error_code::not_found, "no such cell", {}}) == exit_refused);
}

TEST_CASE("a good result shows its value alone") {
  auto const shown = render_result(object(R"({"cell": "c-1", "status": "ok", "final": true, "value": "42", "notices": []})"));

  CHECK(shown.before.empty());
  CHECK(shown.value == "42\n");
  CHECK(shown.after.empty());
}

TEST_CASE("notices and losses come before everything else") {
  auto const shown = render_result(object(
      R"({"cell": "c-1", "status": "ok", "final": true, "value": null, "kernel": {"state_lost": true},
          "notices": [{"id": "n-1", "kind": "restarted", "text": "the kernel was found dead"}]})"));

  CHECK(shown.before.find("[restarted: the kernel was found dead]\n") == 0);
  CHECK(shown.before.find("[state_lost: ") != std::string::npos);
}

TEST_CASE("a loss that a notice tells of is told once") {
  auto const shown = render_result(object(
      R"({"cell": "c-1", "status": "ok", "final": true, "kernel": {"state_lost": true},
          "notices": [{"id": "n-1", "kind": "state_lost", "text": "variables are gone"}]})"));

  CHECK(shown.before == "[state_lost: variables are gone]\n");
}

TEST_CASE("an exception shows its traceback and how the cell ended") {
  auto const shown = render_result(object(
      R"({"cell": "c-1", "status": "error", "final": true, "started_at": "2026-01-31T12:00:05.123Z", "duration_ms": 200,
          "error": {"name": "NameError", "message": "x", "traceback": "Traceback ...\nNameError: x"}})"));

  CHECK(shown.after == "Traceback ...\nNameError: x\n[cell c-1: error after 200 ms]\n");
}

TEST_CASE("a cell that was interrupted in the queue is said to have never started") {
  auto const queued = render_result(object(
      R"({"cell": "c-1", "status": "interrupted", "final": true, "started_at": null, "duration_ms": null, "kernel": null})"));
  auto const running = render_result(object(
      R"({"cell": "c-1", "status": "interrupted", "final": true, "started_at": "2026-01-31T12:00:05.123Z", "duration_ms": 0})"));

  CHECK(queued.after == "[cell c-1: interrupted before it started]\n");
  CHECK(running.after == "[cell c-1: interrupted after 0 ms]\n");
}

TEST_CASE("a lost cell names the cause and that its effects are unknown") {
  auto const shown = render_result(object(
      R"({"cell": "c-1", "status": "lost", "final": true, "kernel": null, "death": {"cause": "signal", "signal": "SIGKILL"}})"));

  CHECK(shown.after.find("killed by SIGKILL") != std::string::npos);
  CHECK(shown.after.find("effects unknown") != std::string::npos);
}

TEST_CASE("a cell that is not in the default session may be in another one") {
  using holdfast::error;
  using holdfast::error_code;
  error const unknown{error_code::not_found, "no cell c-1", {}};

  CHECK(with_hint(unknown, {{"session", "default"}, {"cell", "c-1"}}).message == "no cell c-1; if it ran elsewhere: -s SESSION");
  CHECK(with_hint(unknown, {{"session", "s1"}, {"cell", "c-1"}}).message == "no cell c-1");
  CHECK(with_hint(unknown, {{"session", "default"}}).message == "no cell c-1");
  CHECK(with_hint({error_code::not_found, "no display 9", {}}, {{"session", "default"}, {"cell", "c-1"}}).message ==
        "no display 9");
  CHECK(with_hint({error_code::cell_expired, "expired", {}}, {{"session", "default"}, {"cell", "c-1"}}).message == "expired");
}

TEST_CASE("text that is not UTF-8 is shown in ASCII") { CHECK(escaped("caf\xe9 \n") == "caf\\xe9 \\x0a"); }

TEST_CASE("the way back names all that is needed to find the cell") {
  CHECK(come_back_command("", {}, "c-1") == "holdfast wait c-1");
  CHECK(come_back_command("/my home", {"s1", "alice"}, "c-1") == "holdfast --home '/my home' wait -s s1 -o alice c-1");
}

TEST_CASE("a display is named with the command that reads it, as far as it was kept") {
  auto const shown =
      render_result(object(R"({"cell": "c-1", "session": "s1", "owner": "alice", "status": "ok", "final": true, "displays": [
          {"index": 0, "data": {"text/plain": "p"}, "omitted": [{"mime": "text/html", "bytes": 3145728, "kept": false}]},
          {"index": 1, "data": {"text/plain": "p"}, "omitted": [{"mime": "text/html", "bytes": 2097152, "kept": true}]},
          {"index": 2, "data": {}, "omitted": [{"mime": "text/plain", "bytes": 5242880, "kept": false}]}]})"),
                    "/home of mine");
  auto const command = std::string("holdfast --home '/home of mine' display -s s1 -o alice c-1 ");

  CHECK(shown.after == "[display 0: text/plain text/html (3.0 MiB, too large to be kept); " + command + "0 --mime text/plain]\n" +
                           "[display 1: text/plain text/html; " + command + "1 --mime text/html]\n" +
                           "[display 2: text/plain (5.0 MiB, too large to be kept)]\n");
}

TEST_CASE("columns are aligned by characters, and one that says nothing is left out") {
  table shown({"CELL", "CHILD", "SOURCE"});
  shown.add({"c-é", "", "x = 1"});
  shown.add({"c-long", "", ""});

  CHECK(shown.render() == "CELL    SOURCE\nc-é     x = 1\nc-long  -\n");
}

TEST_CASE("a cell's source cannot steer the terminal from a table") {
  auto const row = cell_row(object(R"({"cell": "c-1", "status": "ok", "source": "a\n\u001b[2Jb\n"})"));

  CHECK(row.back() == "a;  [2Jb");
}

TEST_CASE("numbers are short") {
  CHECK(human_duration(250) == "250 ms");
  CHECK(human_duration(3200) == "3.2 s");
  CHECK(human_duration(720'000) == "12 min");
  CHECK(human_bytes(512) == "512 B");
  CHECK(human_bytes(156'740) == "153 KiB");
  CHECK(human_instant("2026-01-31T12:00:05.123Z") == "2026-01-31 12:00:05");
  CHECK(counted(1, "kernel") == "1 kernel");
  CHECK(counted(0, "kernel") == "0 kernels");
}

TEST_CASE("a word for the shell is quoted when it has to be") {
  CHECK(shell_word("c-1") == "c-1");
  CHECK(shell_word("it's") == "'it'\\''s'");
  CHECK(shell_word("") == "''");
}
