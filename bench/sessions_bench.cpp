// Cells a second over few and many sessions, on kernels by script behind the run-to-completion contract: what the gateway itself costs,
// with neither interpreters nor processes. bench_sessions [MOST SESSIONS]
#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "bench/processes.hpp"
#include "bench/support.hpp"
#include "holdfast/holdfast.hpp"
#include "tests/support/scripted_environment.hpp"

namespace holdfast::bench {
namespace {

constexpr std::size_t usual_most = 10'000;
constexpr std::size_t cells = 5'000;
constexpr std::size_t at_once = 64;  // cells underway

void measure(std::size_t sessions) {
  scratch_directory scratch;
  gateway server({.home = (scratch.path() / "home").string(), .settings = {{"max_kernels", "0"}}});
  server.add_environment("script", std::make_shared<test::scripted_environment>());
  server.start();
  std::vector<session> all;
  for (std::size_t number = 0; number < sessions; ++number)
    all.push_back(server.open_session("owner-" + std::to_string(number % 1000), "", "s-" + std::to_string(number)));
  run_options options;
  options.environment = "script";
  // Keeps so many underway; every session has its turn.
  auto const run_over = [&](std::size_t count) {
    std::vector<std::future<cell_result>> underway(std::min(at_once, sessions));
    auto const start = clock::now();
    for (std::size_t number = 0; number < count; ++number) {
      auto& place = underway[number % underway.size()];
      if (place.valid() && place.get().status != "ok") throw std::runtime_error("a cell is not ok");
      place = all[number % sessions].run_async("2", options);
    }
    for (auto& each : underway)
      if (each.valid() && each.get().status != "ok") throw std::runtime_error("a cell is not ok");
    return static_cast<double>(count) / (microseconds_since(start) / 1e6);
  };
  heading(text("%zu sessions on kernels by script", sessions));
  figure("first cells, each with a kernel", text("%.0f a second", run_over(sessions)));
  figure("warm cells", text("%.0f a second", run_over(cells)));
  server.stop(kernels::end);
}

void run(std::size_t most) {
  for (std::size_t sessions = 1; sessions <= most; sessions *= 100) measure(sessions);
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) {
  using namespace holdfast::bench;
  return run_benchmark("bench_sessions", argc, argv, usual_most, run);
}
