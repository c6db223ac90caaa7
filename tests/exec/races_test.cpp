// What meets a kernel on its way there: cells at once on a cold session, between its start and its attach, a death with a cell behind, an
// end while the host is away.
#include <catch2/catch.hpp>

#include <fstream>

#include "actors/base/failpoints.hpp"
#include "tests/exec/far_sides.hpp"

namespace holdfast::test {
namespace {

TEMPLATE_TEST_CASE("cells at once on a cold session start one kernel there and run in order", "", by_script, by_shell) {
  embedded<TestType> setup;
  auto session = setup.open("main");
  std::vector<std::future<cell_result>> all;

  for (auto each = 0; each < 6; ++each) all.push_back(session.run_async("1 + 1", {.environment = "far"}));

  for (auto each = 0; each < 6; ++each) {
    auto const result = all[static_cast<std::size_t>(each)].get();
    CHECK(result.status == "ok");
    CHECK(kernel_of(result).at("execution_count") == each + 1);
  }
  CHECK(setup.kernels_there().size() == 1);
  CHECK(setup.far.environment->count("spawn") == 1 + setup.far.environment->count("stage"));
}

TEMPLATE_TEST_CASE("a cell behind one whose kernel dies there runs once, in a fresh one, and is told", "", by_script, by_shell) {
  embedded<TestType> setup;
  auto const first = setup.run("main", "1 + 1");
  auto session = setup.open("main");
  auto const carries = setup.far.environment->count("carry");
  auto lost = session.run_async(TestType::wait(), {.cell = "lost", .environment = "far"});
  auto behind = session.run_async("1 + 1", {.cell = "behind", .environment = "far"});
  // By script it has begun once it was carried there.
  auto const has_begun = [&] {
    return std::is_same_v<TestType, by_script> ? setup.far.environment->count("carry") > carries
                                               : status_of(session, "lost") == "running";
  };
  REQUIRE(comes_true([&] { return has_begun() && status_of(session, "behind") == "queued"; }));

  setup.far.kill(setup.only_pid());

  CHECK(lost.get().status == "lost");
  auto const result = behind.get();
  CHECK(result.status == "ok");
  CHECK(result.kernel != first.kernel);
  CHECK(kernel_of(result).at("execution_count") == 1);
  CHECK(kernel_of(result).at("state_lost") == true);
}

TEMPLATE_TEST_CASE("while its host is away nothing runs in a kernel that a reset is to end", "", by_script, by_shell) {
  embedded<TestType> setup;
  auto const first = setup.run("main", "1 + 1");
  setup.far.cut_off(true);
  auto const seen = setup.far.environment->count();

  auto waiting = setup.open("main").run_async("1 + 1", {.environment = "far", .reset = true});
  CHECK(comes_true([&] { return setup.far.environment->count() > seen + 2; }));
  setup.far.cut_off(false);

  auto const result = waiting.get();
  CHECK(result.status == "ok");
  CHECK(result.kernel != first.kernel);
  CHECK(kernel_of(result).at("state_reset") == true);
  CHECK(setup.kernels_there().size() == 1);
}

TEMPLATE_TEST_CASE("a close while its host is away ends the kernel once it is back", "", by_script, by_shell) {
  embedded<TestType> setup;
  setup.run("main", "1 + 1");
  setup.far.cut_off(true);
  auto const seen = setup.far.environment->count();

  auto closing = std::async(std::launch::async, [&] { setup.open("main").close(); });
  CHECK(comes_true([&] { return setup.far.environment->count() > seen + 2; }));
  CHECK(setup.kernels_there().size() == 1);
  setup.far.cut_off(false);

  closing.get();
  CHECK(setup.kernels_there().empty());
}

// ---- between start and attach ----

TEMPLATE_TEST_CASE("cells that come between the start of a kernel and its attach wait for it, and run there once and in order", "",
                   by_script, by_shell) {
  embedded<TestType> setup;
  auto session = setup.open("main");
  setup.gate().hold("carry");
  std::vector<std::future<cell_result>> all;
  all.push_back(session.run_async("1 + 1", {.cell = "c0", .environment = "far"}));
  REQUIRE(comes_true([&] { return setup.gate().waiting() == 1; }));  // it is there; the attach is on its way
  auto const spawns = setup.far.environment->count("spawn");

  all.push_back(session.run_async("1 + 1", {.cell = "c1", .environment = "far"}));
  all.push_back(session.run_async("1 + 1", {.cell = "c2", .environment = "far"}));
  REQUIRE(comes_true([&] { return status_of(session, "c2") == "queued"; }));

  auto const rows = setup.kernels_there();
  REQUIRE(rows.size() == 1);
  CHECK(rows.front().at("state") == "starting");
  CHECK(status_of(session, "c0") == "queued");
  CHECK(setup.far.environment->count("spawn") == spawns);
  CHECK(setup.gate().waiting() == 1);  // nothing but the attach is sent
  setup.gate().open();
  for (auto each = 0; each < 3; ++each) {
    auto const result = all[static_cast<std::size_t>(each)].get();
    CHECK(result.status == "ok");
    CHECK(result.kernel == rows.front().at("kernel").as_string());
    CHECK(kernel_of(result).at("execution_count") == each + 1);
  }
  CHECK(setup.far.environment->count("spawn") == spawns);
}

TEMPLATE_TEST_CASE("a kernel that is not attached yet is not stopped under its cell, and a cell for it alone runs in it", "",
                   by_script, by_shell) {
  embedded<TestType> setup;
  auto session = setup.open("main");
  setup.gate().hold("carry");
  auto first = session.run_async("1 + 1", {.cell = "c0", .environment = "far"});
  REQUIRE(comes_true([&] { return status_of(session, "c0") == "queued"; }));
  auto const kernel = std::string(setup.kernels_there().at(0).at("kernel").as_string());

  auto const why = [&] {
    try {
      setup.stop_kernel(kernel);
      return std::string();
    } catch (failure const& problem) {
      return problem.kind();
    }
  }();
  auto second = session.run_async("1 + 1", {.if_kernel = kernel});
  setup.gate().open();

  CHECK(why == "busy");
  CHECK(first.get().kernel == kernel);
  auto const result = second.get();
  CHECK(result.status == "ok");
  CHECK(result.kernel == kernel);
  CHECK(setup.kernels_there().size() == 1);
}

TEMPLATE_TEST_CASE("a gateway that ends between the start of a kernel and its attach leaves it to the next one", "", by_script,
                   by_shell) {
  embedded<TestType> setup;
  setup.gate().hold("carry");
  auto waiting = setup.open("main").run_async("1 + 1", {.cell = "c0", .environment = "far"});
  REQUIRE(comes_true([&] { return status_of(setup.open("main"), "c0") == "queued"; }));
  auto const spawns = setup.far.environment->count("spawn");

  setup.running.reset();
  setup.gate().open();
  setup.restart();

  auto const result = setup.open("main").cell_wait("c0");
  CHECK(result.status == "ok");
  CHECK(kernel_of(result).at("execution_count") == 1);
  CHECK(setup.far.environment->count("spawn") == spawns);
  CHECK(setup.kernels_there().size() == 1);
  CHECK_FALSE(waiting.get().is_final);
}

TEST_CASE("a gateway that ends while a kernel is being started asks for that one again, and there is no other") {
  embedded<by_script> setup;
  auto& far = *setup.far.environment;
  far.set_mood(scripted_environment::mood::holds_spawns);
  auto waiting = setup.open("main").run_async("1 + 1", {.cell = "c0", .environment = "far"});
  REQUIRE(comes_true([&] { return far.living() == 1; }));

  setup.running.reset();
  CHECK_THROWS_AS(waiting.get(), failure);
  far.set_mood(scripted_environment::mood::well);
  setup.restart();
  auto const result = setup.run("main", "1 + 1", {.cell = "c0"});

  CHECK(result.status == "ok");
  CHECK(kernel_of(result).at("execution_count") == 1);
  CHECK(setup.kernels_there().size() == 1);
  CHECK(far.living() == 1);
}

TEST_CASE("here, too, cells that come before a kernel is attached wait for it, and run there once and in order") {
  embedded<by_script> setup;
  auto session = setup.open("main");
  auto const effects = setup.home.path() / "effects";
  auto const effect = [&](std::string const& word) { return "open('" + effects.string() + "', 'a').write('" + word + " ')"; };
  REQUIRE(arm_failpoints("core.after_hello=error"));  // it says hello, and nobody hears it
  std::vector<std::future<cell_result>> all;

  all.push_back(session.run_async(effect("first"), {.cell = "c0", .environment = "local"}));
  all.push_back(session.run_async(effect("second"), {.cell = "c1"}));
  auto const is_queued = comes_true([&] { return status_of(session, "c1") == "queued"; });
  auto const rows = setup.kernels_there();
  auto const has_run = std::filesystem::exists(effects);
  disarm_failpoints();

  CHECK(is_queued);
  CHECK_FALSE(has_run);
  REQUIRE(rows.size() == 1);
  for (auto& each : all) CHECK(each.get().kernel == rows.front().at("kernel").as_string());
  std::ifstream file(effects);
  CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == "first second ");
  CHECK(setup.kernels_there().size() == 1);
}

}  // namespace
}  // namespace holdfast::test
