// What meets a kernel on its way there: cells at once on a cold session, a death with a cell behind, an end while the host is away.
#include <catch2/catch.hpp>

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

}  // namespace
}  // namespace holdfast::test
