// What holds for kernels behind commands: each on the scripted far side, which answers with records, and on the real one behind /bin/sh.
#include <catch2/catch.hpp>

#include <algorithm>
#include <thread>

#include "actors/base/clock.hpp"
#include "tests/exec/far_sides.hpp"

namespace holdfast::test {
namespace {

TEMPLATE_TEST_CASE("a first call starts one kernel and a second one has it again", "", by_script, by_shell) {
  embedded<TestType> setup;

  auto const first = setup.run("main", "1 + 1");
  auto const second = setup.run("main", "1 + 1");

  CHECK(first.status == "ok");
  CHECK(kernel_of(first).at("environment") == "far");
  CHECK(kernel_of(first).at("reused") == false);
  CHECK(second.value == "2");
  CHECK(second.kernel == first.kernel);
  CHECK(kernel_of(second).at("reused") == true);
  CHECK(kernel_of(second).at("execution_count") == 2);
  CHECK(setup.far.environment->count("spawn") == 1 + setup.far.environment->count("stage"));
}

TEMPLATE_TEST_CASE("a warm cell costs one command", "", by_script, by_shell) {
  embedded<TestType> setup;
  setup.run("main", "1 + 1");
  for (auto round = 0; round < 3; ++round) {
    auto const before = setup.far.environment->count();

    auto const result = setup.run("main", "1 + 1");

    CHECK(result.value == "2");
    CHECK(setup.far.environment->count() == before + 1);
  }
}

TEMPLATE_TEST_CASE("a spawn that fails is said and registers nothing", "", by_script, by_shell) {
  embedded<TestType> setup(keys{{"fallback", "error"}});
  setup.far.refuse_spawns();

  try {
    setup.run("main", "1 + 1");
    FAIL("it ran");
  } catch (failure const& problem) {
    CHECK(problem.code() == 1007);
  }

  CHECK(setup.kernels_there().empty());
}

TEMPLATE_TEST_CASE("a reset ends the kernel and the next cell has a fresh one", "", by_script, by_shell) {
  embedded<TestType> setup;
  auto const first = setup.run("main", "1 + 1");
  auto const spawns = setup.far.environment->count("spawn");

  auto const second = setup.run("main", "1 + 1", {.reset = true});

  CHECK(second.status == "ok");
  CHECK(second.kernel != first.kernel);
  CHECK(kernel_of(second).at("state_reset") == true);
  CHECK(kernel_of(second).at("reused") == false);
  CHECK(setup.far.environment->count("spawn") == spawns + 1);
  CHECK(setup.kernels_there().size() == 1);
}

TEMPLATE_TEST_CASE("a kernel found dead is replaced within the same call, and the loss is told", "", by_script, by_shell) {
  embedded<TestType> setup;
  auto const first = setup.run("main", "1 + 1");
  setup.far.kill(setup.only_pid());

  auto const second = setup.run("main", "1 + 1");

  CHECK(second.status == "ok");
  CHECK(second.value == "2");
  CHECK(second.kernel != first.kernel);
  CHECK(kernel_of(second).at("state_lost") == true);
  auto const is_told = [](auto const& each) { return each.find("fresh") != std::string::npos; };
  CHECK(std::any_of(second.notices.begin(), second.notices.end(), is_told));
}

TEMPLATE_TEST_CASE("a cell whose result never comes ends at its deadline, its kernel with it", "", by_script, by_shell) {
  embedded<TestType> setup(keys{{"interrupt_grace_seconds", "1"}});
  setup.run("main", "1 + 1");

  auto const result = setup.run("main", TestType::hang(), {.timeout = 300ms});

  CHECK(result.status == "timeout");
  CHECK(kernel_of(result).at("state_lost") == true);
  CHECK(comes_true([&] { return setup.kernels_there().empty(); }));
}

TEMPLATE_TEST_CASE("an interrupt reaches a cell that a command waits for", "", by_script, by_shell) {
  embedded<TestType> setup;
  setup.run("main", "1 + 1");
  auto session = setup.open("main");
  auto waiting = session.run_async(TestType::wait(), {.cell = "slow", .environment = "far"});
  CHECK(comes_true([&] { return status_of(session, "slow") != "" && setup.far.environment->count("carry") > 2; }));

  auto const begun = std::chrono::steady_clock::now();
  auto const result = session.interrupt("slow");

  CHECK(result.status == "interrupted");
  CHECK(std::chrono::steady_clock::now() - begun < 15s);  // the command would have waited for 25
  CHECK(waiting.get().status == "interrupted");
  CHECK(setup.run("main", "1 + 1").kernel == result.kernel);
}

TEMPLATE_TEST_CASE("another set of tools is another kernel of the session, both are there", "", by_script, by_shell) {
  embedded<TestType> setup;
  using names = std::vector<std::string>;

  auto const reading = setup.run("main", "1 + 1", {.tools = names{"read_file"}});
  auto const searching = setup.run("main", "1 + 1", {.tools = names{"web_search"}});
  auto const again = setup.run("main", "1 + 1", {.tools = names{"read_file"}});

  CHECK(kernel_of(searching).at("reason") == "tools_changed");
  CHECK(searching.kernel != reading.kernel);
  CHECK(again.kernel == reading.kernel);
  CHECK(setup.kernels_there().size() == 2);
}

TEMPLATE_TEST_CASE("kernels here and there are different kernels of one session", "", by_script, by_shell) {
  embedded<TestType> setup;
  auto session = setup.open("main");

  auto const there = session.run("1 + 1", {.environment = "far"});
  auto const here = session.run("1 + 1", {.environment = "local"});
  auto const back = session.run("1 + 1", {.environment = "far"});

  CHECK(kernel_of(here).at("environment") == "local");
  CHECK(kernel_of(here).at("reason") == "environment_changed");
  CHECK(back.kernel == there.kernel);
}

TEMPLATE_TEST_CASE("a child of an owner has a kernel of its own", "", by_script, by_shell) {
  embedded<TestType> setup;

  auto const parent = setup.open("main", "ada").run("1 + 1", {.environment = "far"});
  auto const child = setup.open("main", "ada", "child-9").run("1 + 1", {.environment = "far"});

  CHECK(parent.kernel != child.kernel);
  CHECK(setup.kernels_there().size() == 2);
}

TEMPLATE_TEST_CASE("the end of one session's kernel touches no other", "", by_script, by_shell) {
  embedded<TestType> setup;
  auto const kept = setup.open("main", "bob").run("1 + 1", {.environment = "far"});
  setup.run("main", "1 + 1");

  setup.open("main", "ada").close();

  auto const left = setup.kernels_there();
  REQUIRE(left.size() == 1);
  CHECK(left.front().at("owner") == "bob");
  CHECK(setup.open("main", "bob").run("1 + 1").kernel == kept.kernel);
}

TEMPLATE_TEST_CASE("the end of an owner ends its kernels there and its children's, and nobody else's", "", by_script, by_shell) {
  embedded<TestType> setup;
  setup.open("main", "ada").run("1 + 1", {.environment = "far"});
  setup.open("main", "ada", "child-9").run("1 + 1", {.environment = "far"});
  auto const kept = setup.open("main", "bob").run("1 + 1", {.environment = "far"});

  setup.running->call("owner.close", R"({"owner":"ada"})");

  CHECK(comes_true([&] { return setup.kernels_there().size() == 1; }));
  CHECK(setup.open("main", "bob").run("1 + 1").kernel == kept.kernel);
}

TEMPLATE_TEST_CASE("a kernel there that is idle for too long is hibernated without any request", "", by_script, by_shell) {
  embedded<TestType> setup(keys{{"idle_seconds", "1"}});
  auto const first = setup.run("main", "1 + 1");

  CHECK(comes_true([&] { return setup.kernels_there().empty(); }));

  auto const second = setup.run("main", "1 + 1");
  CHECK(second.kernel != first.kernel);
  CHECK(kernel_of(second).at("restored") == true);
}

TEMPLATE_TEST_CASE("over a cap of two the least recently used kernel of three goes", "", by_script, by_shell) {
  embedded<TestType> setup(keys{{"max_kernels", "2"}});
  auto const owners = [&] {
    std::vector<std::string> found;
    for (auto const& each : setup.kernels_there()) found.emplace_back(each.at("owner").as_string());
    std::sort(found.begin(), found.end());
    return found;
  };

  for (auto const* owner : {"owner-0", "owner-1", "owner-2"}) setup.open("main", owner).run("1 + 1", {.environment = "far"});

  CHECK(comes_true([&] { return owners() == std::vector<std::string>{"owner-1", "owner-2"}; }));
}

TEMPLATE_TEST_CASE("which kernel was used least recently is known whatever the clock there says", "", by_script, by_shell) {
  embedded<TestType> setup(keys{{"max_kernels", "2"}});
  for (auto const* owner : {"first", "second", "first"}) {
    setup.open("main", owner).run("1 + 1", {.environment = "far"});
    auto const ended = now_ms();
    REQUIRE(comes_true([&] { return now_ms() > ended; }));  // by script a cell takes less than a millisecond
  }

  setup.open("main", "third").run("1 + 1", {.environment = "far"});

  auto const there = [&](std::string const& owner) {
    auto const all = setup.kernels_there();
    return std::any_of(all.begin(), all.end(), [&](auto const& each) { return each.at("owner").as_string() == owner; });
  };
  CHECK(comes_true([&] { return setup.kernels_there().size() == 2; }));
  CHECK(there("first"));
  CHECK_FALSE(there("second"));
}

TEST_CASE("the memory of a kernel elsewhere is not that of the process that has its pid here") {
  embedded<by_shell> setup;
  setup.run("main", "1 + 1");

  CHECK(setup.kernels_there().at(0).at("memory_bytes").to_number<std::int64_t>() == 0);
}

TEMPLATE_TEST_CASE("a kernel in the middle of a cell stays over the cap, though it is the older one", "", by_script, by_shell) {
  embedded<TestType> setup(keys{{"max_kernels", "1"}});
  auto busy = setup.open("main", "busy");
  auto const begun = busy.run("1 + 1", {.environment = "far"});
  auto const carries = setup.far.environment->count("carry");
  auto waiting = busy.run_async(TestType::wait(), {.environment = "far"});
  REQUIRE(comes_true([&] { return setup.far.environment->count("carry") > carries; }));

  auto const settled = setup.open("main", "settled").run("1 + 1", {.environment = "far"});
  setup.far.release();

  CHECK(settled.status == "ok");
  auto const result = waiting.get();
  CHECK(result.status == "ok");
  CHECK(result.kernel == begun.kernel);
}

TEMPLATE_TEST_CASE("a host that cannot be reached loses no kernel: the cell is done once it is back", "", by_script, by_shell) {
  embedded<TestType> setup;
  auto const first = setup.run("main", "1 + 1");
  setup.far.cut_off(true);
  auto session = setup.open("main");

  auto waiting = session.run_async("1 + 1", {.environment = "far"});
  auto const seen = setup.far.environment->count();
  CHECK(comes_true([&] { return setup.far.environment->count() > seen + 2; }));
  setup.far.cut_off(false);

  auto const result = waiting.get();
  CHECK(result.status == "ok");
  CHECK(result.kernel == first.kernel);
  CHECK(kernel_of(result).at("state_lost") == false);
}

TEMPLATE_TEST_CASE("a gateway that was started again has its kernels there again", "", by_script, by_shell) {
  embedded<TestType> setup;
  auto const first = setup.run("main", "1 + 1");

  setup.restart();
  auto const second = setup.run("main", "1 + 1");

  CHECK(second.status == "ok");
  CHECK(second.kernel == first.kernel);
  CHECK(kernel_of(second).at("reused") == true);
}

TEMPLATE_TEST_CASE("a cell that ran while no gateway was there is answered by the next one", "", by_script, by_shell) {
  embedded<TestType> setup;
  auto const first = setup.run("main", "1 + 1");
  auto const begun = setup.run("main", TestType::wait(), {.cell = "slow", .wait = 1ms});
  CHECK_FALSE(begun.is_final);
  CHECK(comes_true([&] { return status_of(setup.open("main"), "slow") != "" && setup.far.environment->count("carry") > 2; }));

  setup.running.reset();
  setup.far.release();
  setup.restart();
  auto const result = setup.open("main").cell_wait("slow");

  CHECK(result.status == "ok");
  CHECK(result.value == "2");
  CHECK(result.kernel == first.kernel);
}

TEMPLATE_TEST_CASE("an environment that nobody registered is refused, naming those that there are", "", by_script) {
  embedded<TestType> setup;

  try {
    setup.open("main").run("1 + 1", {.environment = "moon"});
    FAIL("it ran");
  } catch (failure const& problem) {
    CHECK(problem.kind() == "invalid_params");
    CHECK(std::string(problem.what()).find("far, local") != std::string::npos);
  }
}

}  // namespace
}  // namespace holdfast::test
