// More than there is room for: commands than threads for them, sessions than kernels. What waits loses nothing by that, and what never gets
// its turn is told so.
#include <catch2/catch.hpp>

#include <deque>
#include <random>

#include "actors/base/defaults.hpp"
#include "tests/exec/far_sides.hpp"

namespace holdfast::test {
namespace {

using mood = scripted_environment::mood;

/// Sessions whose cells hold every thread for commands.
template <class Setup>
std::vector<std::future<cell_result>> crowd_of(Setup& setup, std::string const& code) {
  std::vector<std::future<cell_result>> all;
  for (std::size_t each = 0; each < defaults::commands_most; ++each)
    all.push_back(setup.open("crowd-" + std::to_string(each)).run_async(code, {.environment = "far", .timeout = 0ms}));
  return all;
}

TEST_CASE("a cell that waits for a thread is not overdue meanwhile: its kernel keeps its state") {
  embedded<by_script> setup(keys{{"max_kernels", "0"}, {"interrupt_grace_seconds", "1"}});
  auto& far = *setup.far.environment;
  auto const first = setup.run("warm", "1 + 1");
  auto crowd = crowd_of(setup, "wait");
  REQUIRE(comes_true([&] { return far.open_cells() == defaults::commands_most; }));

  auto waiting = setup.open("warm").run_async("1 + 1", {.environment = "far", .timeout = 100ms});
  CHECK(waiting.wait_for(100ms + 1s + defaults::kill_margin + 2s) == std::future_status::timeout);
  far.release();

  auto const result = waiting.get();
  CHECK(result.status == "ok");
  CHECK(result.kernel == first.kernel);
  CHECK(kernel_of(result).at("state_lost") == false);
  for (auto& each : crowd) CHECK(each.get().status == "ok");
}

TEST_CASE("where every command hangs, a start that no thread takes has failed in time, and its session can be closed") {
  embedded<by_script> setup(keys{{"max_kernels", "0"}, {"fallback", "error"}, {"time_scale", "100"}});
  auto& far = *setup.far.environment;
  setup.run("main", "1 + 1");
  far.set_mood(mood::hangs);
  auto crowd = crowd_of(setup, "1 + 1");
  REQUIRE(comes_true([&] { return far.underway() >= defaults::commands_most; }));
  auto const spawns = far.count("spawn");

  auto late = setup.open("late").run_async("1 + 1", {.environment = "far"});
  CHECK_THROWS_AS(late.get(), failure);
  auto closing = std::async(std::launch::async, [&] { setup.open("late").close(); });
  auto const is_closed = closing.wait_for(20s) == std::future_status::ready;

  CHECK(is_closed);
  CHECK(far.count("spawn") == spawns);
  far.set_mood(mood::well);
  closing.get();
  for (auto& each : crowd) CHECK_THROWS_AS(each.get(), failure);
  CHECK(comes_true([&] { return far.underway() == 0; }));
  CHECK(far.count("spawn") == spawns);  // nor is it begun when nobody wants it any more
}

TEST_CASE("sessions that leave memory while cells come for them lose none and run none twice, each one's in order") {
  constexpr std::size_t sessions = 30, cells = 1500, outstanding_most = 24;
  auto const seed = GENERATE(1U, 2U, 3U);
  CAPTURE(seed);
  embedded<by_script> setup(keys{{"max_kernels", "2"}, {"fallback", "error"}});
  auto& far = *setup.far.environment;
  std::mt19937 random(seed);
  std::vector<std::vector<std::string>> sent(sessions);
  std::deque<std::future<cell_result>> outstanding;
  std::atomic<bool> is_over{false};
  auto const name = [](std::size_t of) { return "s" + std::to_string(of); };
  auto looking = std::async(std::launch::async, [&] {  // loads them, too, and lets them go
    std::size_t seen = 0;
    for (std::size_t each = 0; !is_over; each = (each + 1) % sessions) try {
        setup.running->call("session.get", R"({"owner":"ada","session":")" + name(each) + "\"}");
        ++seen;
      } catch (failure const& problem) {
        CHECK(problem.kind() == "not_found");  // before its first cell
      }
    return seen;
  });
  auto const settle = [&](std::size_t most) {
    for (; outstanding.size() > most; outstanding.pop_front()) CHECK(outstanding.front().get().status == "ok");
  };

  for (std::size_t cell = 0; cell < cells; ++cell) {
    auto const of = random() % sessions;
    sent[of].push_back(name(of) + "-" + std::to_string(cell));
    outstanding.push_back(setup.open(name(of)).run_async("1 + 1", {.cell = sent[of].back(), .environment = "far"}));
    settle(random() % outstanding_most);
  }
  settle(0);
  is_over = true;

  CHECK(looking.get() > 0);
  CHECK(far.count("spawn") > 4 * sessions);  // they were hibernated all the while
  std::vector<std::vector<std::string>> ran(sessions);
  for (auto const& each : far.ran()) ran[std::stoul(each.substr(1))].push_back(each);
  CHECK(ran == sent);
}

}  // namespace
}  // namespace holdfast::test
