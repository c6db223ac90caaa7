// Cells for which no kernel can be started elsewhere: they run there, once, in an interpreter of their own.
#include <algorithm>

#include <catch2/catch.hpp>

#include "actors/base/defaults.hpp"
#include "tests/exec/far_sides.hpp"

namespace holdfast::test {
namespace {

/// A gateway whose kernels there cannot start, though interpreters can.
template <class Far>
struct without_kernels : embedded<Far> {
  explicit without_kernels(keys given = {}) : embedded<Far>(with_reason(std::move(given))) {
    if constexpr (std::is_same_v<Far, by_script>) this->far.refuse_spawns();
  }
  static keys with_reason(keys given) {
    if constexpr (std::is_same_v<Far, by_shell>) given["preload"] = "no_such_module";
    return given;
  }
};

bool is_told(cell_result const& result, std::string const& text) {
  return std::any_of(result.notices.begin(), result.notices.end(),
                     [&](auto const& each) { return each.find(text) != std::string::npos; });
}
bool is_alone(cell_result const& result) {
  auto const all = boost::json::parse(result.json);
  return all.at("fallback") == "per_call" && all.at("kernel").is_null();
}

TEMPLATE_TEST_CASE("a spawn that fails there falls open: the cell runs once, nothing is registered", "", by_script, by_shell) {
  without_kernels<TestType> setup;

  auto const result = setup.run("main", "print('hello')\n1 + 1");

  CHECK(result.status == "ok");
  CHECK(result.value == "2");
  CHECK(is_alone(result));
  CHECK(is_told(result, "ran without a kernel"));
  CHECK(result.stdout_text.find("hello") != std::string::npos);
  CHECK(setup.kernels_there().empty());
}

TEMPLATE_TEST_CASE("a cell without a kernel there is replayed and not run again", "", by_script, by_shell) {
  without_kernels<TestType> setup;
  setup.run("main", "1 + 1", {.cell = "once"});
  auto const commands = setup.far.environment->count("per_call");

  auto const again = setup.run("main", "1 + 1", {.cell = "once"});

  CHECK(again.is_replayed);
  CHECK(setup.far.environment->count("per_call") == commands);
}

TEMPLATE_TEST_CASE("the next cell there has a kernel, once one starts again", "", by_script) {
  without_kernels<TestType> setup;
  CHECK(is_alone(setup.run("main", "1 + 1")));
  setup.far.cut_off(false);

  auto const result = setup.run("main", "1 + 1");

  CHECK_FALSE(result.kernel.empty());
  CHECK(result.status == "ok");
}

TEMPLATE_TEST_CASE("a cell without a kernel ends there at its deadline", "", by_script, by_shell) {
  without_kernels<TestType> setup(keys{{"interrupt_grace_seconds", "1"}});

  auto const result = setup.run("main", TestType::hang(), {.timeout = 500ms});

  CHECK(result.status == "timeout");
  CHECK(is_alone(result));
}

TEMPLATE_TEST_CASE("an interrupt reaches a cell that runs without a kernel there", "", by_script, by_shell) {
  without_kernels<TestType> setup;
  auto session = setup.open("main");
  auto waiting = session.run_async(TestType::wait(), {.cell = "slow", .environment = "far"});
  REQUIRE(comes_true([&] { return status_of(session, "slow") == "running"; }));

  auto const result = session.interrupt("slow");

  CHECK(result.status == "interrupted");
  CHECK(waiting.get().status == "interrupted");
}

TEMPLATE_TEST_CASE("a reset ends a cell that runs without a kernel there", "", by_script, by_shell) {
  without_kernels<TestType> setup;
  auto session = setup.open("main");
  auto waiting = session.run_async(TestType::wait(), {.cell = "slow", .environment = "far"});
  REQUIRE(comes_true([&] { return status_of(session, "slow") == "running"; }));

  session.reset();

  CHECK(waiting.get().status == "interrupted");
}

TEMPLATE_TEST_CASE("with fallback = error a cell without a kernel there is refused, and nothing runs", "", by_script, by_shell) {
  without_kernels<TestType> setup(keys{{"fallback", "error"}});

  CHECK_THROWS_AS(setup.run("main", "1 + 1"), failure);

  CHECK(setup.far.environment->count("per_call") == 0);
}

TEMPLATE_TEST_CASE("where no interpreter runs there either, the cell is refused with why there is no kernel", "", by_script,
                   by_shell) {
  embedded<TestType> setup;
  setup.far.cut_off(true);

  try {
    setup.run("main", "1 + 1", {.cell = "again"});
    FAIL("it ran");
  } catch (failure const& problem) {
    CHECK(problem.code() == 1007);
    CHECK(std::string(problem.what()).find("cannot start kernel") != std::string::npos);
  }

  setup.far.cut_off(false);
  CHECK(setup.run("main", "1 + 1", {.cell = "again"}).status == "ok");  // nothing had run
}

TEST_CASE("a cell without a kernel whose command brings no answer is lost and never sent again") {
  without_kernels<by_script> setup;
  auto& far = *setup.far.environment;
  auto session = setup.open("main");
  auto waiting = session.run_async("wait", {.cell = "slow", .environment = "far"});
  REQUIRE(comes_true([&] { return !far.ran_alone().empty(); }));
  far.set_mood(scripted_environment::mood::cuts_answers_short);
  far.release();

  auto const result = waiting.get();

  CHECK(result.status == "lost");
  CHECK(boost::json::parse(result.json).at("death").at("cause") == "unknown");
  CHECK(far.ran_alone() == std::vector<std::string>{"wait"});
}

TEST_CASE("output, errors and exit codes of a cell without a kernel there are as here") {
  without_kernels<by_shell> setup;

  auto const printed = setup.run("main", "import sys\nprint('a')\nprint('b', file=sys.stderr)\nprint('c')");
  auto const raised = setup.run("main", "1 / 0");
  auto const left = setup.run("main", "raise SystemExit(3)");
  auto const set = setup.run("main", "import os\nos.environ['ONE'], os.getcwd()",
                             {.cwd = setup.far.environment->place().string(), .env = {{"ONE", "1"}}});

  CHECK(printed.stdout_text == "a\nc\n");
  CHECK(printed.stderr_text == "b\n");
  CHECK(raised.status == "error");
  CHECK(raised.error->name == "ZeroDivisionError");
  CHECK(left.status == "exit");
  CHECK(left.exit_code == 3);
  CHECK(set.value == "('1', '" + setup.far.environment->place().string() + "')");
}

TEST_CASE("the code of a cell without a kernel is in no command line there, and nothing of it is left behind") {
  without_kernels<by_shell> setup;
  std::vector<std::string> lines;
  setup.far.environment->look_at([&](auto const& what) { lines.push_back(what.shell_line()); });

  setup.run("main", "secret_of_mine = 1");

  for (auto const& line : lines) CHECK(line.find("secret_of_mine") == std::string::npos);
  for (auto const& home : std::filesystem::directory_iterator(setup.far.environment->place() / "far"))
    if (std::filesystem::exists(home.path() / "run"))
      for (auto const& each : std::filesystem::directory_iterator(home.path() / "run"))
        CHECK(each.path().filename().string().substr(0, 2) != "p-");
}

TEST_CASE("a cell without a kernel has no longer than one command may take, and is told so") {
  without_kernels<by_shell> setup(keys{{"interrupt_grace_seconds", "1"}});
  setup.far.environment->longest = 4s;
  setup.restart();

  auto const result = setup.run("main", "import time\ntime.sleep(60)", {.timeout = 50s});

  CHECK(result.status == "timeout");
  CHECK(result.error->message.find("one command") != std::string::npos);
}

// ---- more of them than may run at once ----

/// Sessions that are in the stores, so that a run does not wait for that.
template <class Setup>
void make_sessions(Setup& setup, std::size_t count) {
  for (std::size_t each = 0; each < count; ++each) setup.run("s" + std::to_string(each), "made");
}

TEST_CASE("beyond the most interpreters at once cells wait for their turn there, and none runs twice") {
  constexpr auto most = defaults::per_call_most;
  without_kernels<by_script> setup;
  auto& far = *setup.far.environment;
  make_sessions(setup, most + 4);
  auto const before = far.ran_alone().size();
  std::vector<std::future<cell_result>> all;
  auto const send = [&](std::string const& code) {
    auto const spawns = far.count("spawn");
    all.push_back(setup.open("s" + std::to_string(all.size())).run_async(code, {.cell = "c", .environment = "far"}));
    REQUIRE(comes_true([&] { return far.count("spawn") > spawns; }));
  };
  for (std::size_t each = 0; each < most; ++each) send("wait");
  REQUIRE(comes_true([&] { return far.ran_alone().size() == before + most; }));
  auto const probes = far.count("per_call");

  for (auto const* code : {"first", "closed", "interrupted", "last"}) send(code);
  auto const name = [&](std::size_t each) { return "s" + std::to_string(most + each); };
  setup.open(name(1)).close();
  CHECK_THROWS_AS(all[most + 1].get(), failure);
  try {
    setup.open(name(2)).interrupt("c");  // not accepted yet: there is no such cell, and it is in its turn
    FAIL("it was there");
  } catch (failure const& problem) {
    CHECK(problem.kind() == "not_found");
  }
  CHECK(far.count("per_call") == probes);
  far.release();

  for (std::size_t each = 0; each < all.size(); ++each)
    if (each != most + 1) CHECK(all[each].get().status == "ok");
  auto ran = far.ran_alone();
  std::sort(ran.begin() + static_cast<std::ptrdiff_t>(before + most), ran.end());  // all of them got a place at the same moment
  CHECK(std::vector(ran.begin() + static_cast<std::ptrdiff_t>(before + most), ran.end()) ==
        std::vector<std::string>{"first", "interrupted", "last"});
}

TEST_CASE("beyond the most interpreters at once cells wait for their turn here, and none is lost") {
  constexpr auto most = defaults::per_call_most;
  embedded<by_script> setup(keys{{"preload", "no_such_module"}, {"admission_timeout_seconds", "120"}});
  auto const place = setup.home.path().string();
  auto const code = [&](std::size_t each) {
    return "import os, time\nopen('" + place + "/begun-" + std::to_string(each) + "', 'w').close()\nwhile not os.path.exists('" +
           place + "/released'): time.sleep(0.01)";
  };
  auto const begun = [&] {
    std::size_t count = 0;
    for (auto const& each : std::filesystem::directory_iterator(setup.home.path()))
      count += each.path().filename().string().starts_with("begun-") ? 1 : 0;
    return count;
  };
  std::vector<std::future<cell_result>> all;
  auto const send = [&] {
    auto const each = all.size();
    all.push_back(setup.open("s" + std::to_string(each)).run_async(code(each), {.environment = "local"}));
  };
  for (std::size_t each = 0; each < most; ++each) send();
  REQUIRE(comes_true([&] { return begun() == most; }, 120s));

  for (auto each = 0; each < 3; ++each) send();
  setup.open("s" + std::to_string(most)).close();
  CHECK_THROWS_AS(all[most].get(), failure);
  CHECK(begun() == most);
  write_file(setup.home.path() / "released", "");

  for (std::size_t each = 0; each < all.size(); ++each)
    if (each != most) CHECK(all[each].get().status == "ok");
  CHECK(begun() == most + 2);
}

TEST_CASE("a cell that waits for an interpreter for too long is refused, is told so, and its turn goes to the next one") {
  constexpr auto most = defaults::per_call_most;
  without_kernels<by_script> setup(keys{{"admission_timeout_seconds", "1"}});
  auto& far = *setup.far.environment;
  make_sessions(setup, most + 1);
  auto const before = far.ran_alone().size();
  std::vector<std::future<cell_result>> all;
  for (std::size_t each = 0; each < most; ++each)
    all.push_back(setup.open("s" + std::to_string(each)).run_async("wait", {.environment = "far"}));
  REQUIRE(comes_true([&] { return far.ran_alone().size() == before + most; }));

  try {
    setup.run("s" + std::to_string(most), "late");
    FAIL("it ran");
  } catch (failure const& problem) {
    CHECK(problem.kind() == "at_capacity");
    CHECK(std::string(problem.what()).find("at most 16 run at once") != std::string::npos);
  }
  far.release();
  for (auto& each : all) CHECK(each.get().status == "ok");

  CHECK(setup.run("s" + std::to_string(most), "next").status == "ok");
  CHECK(far.ran_alone().back() == "next");
  CHECK(far.ran_alone().size() == before + most + 1);
}

}  // namespace
}  // namespace holdfast::test
