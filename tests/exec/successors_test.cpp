// What is done late for a kernel that has ended takes nothing of the one in its place: neither row, count, directory nor saved namespace.
#include <catch2/catch.hpp>

#include "actors/base/failpoints.hpp"
#include "tests/exec/far_sides.hpp"

namespace holdfast::test {
namespace {

template <class TestType>
constexpr bool has_namespaces = std::is_same_v<TestType, by_shell>;  // by script every value is "2"

/// How the first kernel comes to its end.
enum class way { reset, death, stop };

template <class Setup>
void end_kernel(Setup& setup, way how, std::string const& kernel) {
  if (how == way::reset) setup.open("main").reset();
  if (how == way::stop) setup.running->call("kernel.stop", R"({"kernel":")" + kernel + R"(","save":false})");
  if (how == way::death) setup.far.kill(setup.only_pid());
}

TEMPLATE_TEST_CASE("a kernel that is removed late takes nothing of its successor", "", by_script, by_shell) {
  auto const how = GENERATE(way::reset, way::death, way::stop);
  CAPTURE(static_cast<int>(how));
  embedded<TestType> setup(keys{{"max_kernels_hard", "1"}, {"admission_timeout_seconds", has_namespaces<TestType> ? "60" : "1"}});
  auto& far = *setup.far.environment;
  auto const first = setup.run("main", "x = 1");
  setup.gate().hold("remove");
  end_kernel(setup, how, first.kernel);
  auto const second = setup.run("main", "x = 41");  // there is room for it: the first one is not counted any more
  CHECK(second.status == "ok");
  CHECK(second.kernel != first.kernel);
  REQUIRE(comes_true([&] { return setup.gate().waiting() >= 1; }));

  setup.gate().open();
  REQUIRE(comes_true([&] { return far.count("remove") == 1 && setup.gate().waiting() == 0; }));
  auto const third = setup.run("main", "x + 1");

  CHECK(third.kernel == second.kernel);
  CHECK(kernel_of(third).at("execution_count") == 2);
  if (has_namespaces<TestType>) CHECK(third.value == "42");
  auto const rows = setup.kernels_there();
  REQUIRE(rows.size() == 1);
  CHECK(rows.front().at("kernel").as_string() == second.kernel);
  if constexpr (!has_namespaces<TestType>) {  // it is counted: while it is busy there is no room for another one
    auto busy = setup.open("main").run_async(TestType::wait(), {.environment = "far"});
    try {
      setup.run("other", "1 + 1");
      FAIL("there was room");
    } catch (failure const& problem) {
      CHECK(problem.kind() == "at_capacity");
    }
    setup.far.release();
    CHECK(busy.get().status == "ok");
  }
  setup.restart();
  CHECK(setup.run("main", "1 + 1").kernel == second.kernel);
}

TEMPLATE_TEST_CASE("a kernel that is removed late takes nothing that its successor has saved", "", by_script, by_shell) {
  embedded<TestType> setup;
  auto& far = *setup.far.environment;
  setup.run("main", "x = 1");
  setup.gate().hold("remove");
  setup.open("main").reset();
  auto const second = setup.run("main", "x = 41");
  setup.stop_kernel(second.kernel);
  REQUIRE(comes_true([&] { return setup.gate().waiting() == 2; }));

  setup.gate().open();
  REQUIRE(comes_true([&] { return far.count("remove") == 2 && far.count() > 0 && setup.gate().waiting() == 0; }));
  auto const third = setup.run("main", "x + 1");

  CHECK(kernel_of(third).at("restored") == true);
  if (has_namespaces<TestType>) CHECK(third.value == "42");
}

TEMPLATE_TEST_CASE("while the remains of a dead kernel are awaited nothing takes its place; then one kernel does", "", by_script,
                   by_shell) {
  embedded<TestType> setup;
  auto& far = *setup.far.environment;
  auto const first = setup.run("main", "1 + 1");
  auto const spawns = far.count("spawn");
  auto session = setup.open("main");
  setup.gate().hold("remains");
  setup.far.kill(setup.only_pid());
  auto c0 = session.run_async("1 + 1", {.cell = "c0", .environment = "far"});
  REQUIRE(comes_true([&] { return setup.gate().waiting() == 1; }));

  auto c1 = session.run_async("1 + 1", {.cell = "c1", .environment = "far"});
  REQUIRE(comes_true([&] { return status_of(session, "c1") == "queued"; }));
  CHECK(far.count("spawn") == spawns);
  CHECK(setup.kernels_there().at(0).at("kernel").as_string() == first.kernel);
  setup.gate().open();

  auto const fresh = c0.get();
  CHECK(fresh.status == "ok");
  CHECK(fresh.kernel != first.kernel);
  CHECK(kernel_of(fresh).at("execution_count") == 1);
  CHECK(c1.get().kernel == fresh.kernel);
  CHECK(far.count("spawn") == spawns + 1);
  CHECK(setup.kernels_there().size() == 1);
}

TEMPLATE_TEST_CASE("a session of the same name has all that is its own when what an earlier one left is removed late", "",
                   by_script, by_shell) {
  embedded<TestType> setup;
  auto& far = *setup.far.environment;
  setup.run("main", "x = 1", {.cell = "c0"});
  setup.gate().hold("remove");
  setup.open("main").close();
  auto const second = setup.run("main", "x = 41", {.cell = "c0"});  // the id is free again
  CHECK_FALSE(second.is_replayed);
  CHECK(kernel_of(second).at("reason") == "first");
  setup.stop_kernel(second.kernel);
  REQUIRE(comes_true([&] { return setup.gate().waiting() == 2; }));

  setup.gate().open();
  REQUIRE(comes_true([&] { return far.count("remove") == 2 && setup.gate().waiting() == 0; }));

  CHECK(setup.open("main").cell_get("c0").status == "ok");
  auto const third = setup.run("main", "x + 1");
  CHECK(kernel_of(third).at("restored") == true);
  if (has_namespaces<TestType>) CHECK(third.value == "42");
}

TEST_CASE("files of a kernel here that are removed late are its own alone") {
  auto const* const how = GENERATE("session.reset", "import os; os._exit(3)", "session.close");
  CAPTURE(how);
  embedded<by_script> setup;
  auto const here = [&](std::string const& code) { return setup.open("main").run(code, {.environment = "local"}); };
  auto const directory_of = [&](cell_result const& of) { return setup.home.path() / "run" / of.kernel; };
  auto const first = here("x = 1");
  REQUIRE(arm_failpoints("core.before_files_removed=delay(1000)"));

  if (std::string(how).starts_with("session."))
    setup.running->call(how, R"({"owner":"ada","session":"main"})");
  else
    CHECK(here(how).status == "lost");
  auto const second = here("x = 41");
  auto const was_late = std::filesystem::exists(directory_of(first));
  setup.stop_kernel(second.kernel);
  auto const third = here("x + 1");
  disarm_failpoints();

  CHECK(was_late);
  CHECK(
      comes_true([&] { return !std::filesystem::exists(directory_of(first)) && !std::filesystem::exists(directory_of(second)); }));
  CHECK(third.value == "42");
  CHECK(kernel_of(third).at("restored") == true);
  CHECK(std::filesystem::exists(directory_of(third) / "kernel.sock"));
  CHECK(setup.kernels_there().size() == 1);
  setup.restart();
  CHECK(here("x").kernel == third.kernel);
}

}  // namespace
}  // namespace holdfast::test
