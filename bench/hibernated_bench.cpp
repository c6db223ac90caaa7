// What hibernated sessions cost: the start and the memory of a daemon with so many of them, the decision whether one may have a kernel, and
// a call to one. Nothing of it may grow with their number, but for what a start reads of the file. bench_hibernated [MOST SESSIONS]
#include <random>
#include <string>
#include <vector>

#include "actors/base/home.hpp"
#include "actors/base/identity.hpp"
#include "actors/core/kernel_roll.hpp"
#include "actors/core/session_records.hpp"
#include "bench/daemon.hpp"
#include "bench/processes.hpp"
#include "bench/support.hpp"

namespace holdfast::bench {
namespace {

constexpr std::size_t usual_most = 1'000'000;
constexpr std::size_t fewest = 1'000;
constexpr std::size_t group = 5'000;  // sessions of one transaction
constexpr std::size_t starts = 3;
constexpr std::size_t decisions = 2'000;
constexpr std::size_t calls = 300;
constexpr std::size_t live_kernels = 64;
constexpr double start_budget = 1e6;       // us
constexpr double decision_budget = 100;    // us
constexpr double memory_budget = 1 << 20;  // bytes: "+0 MiB"

session_key key_of(std::size_t number) {
  return {"owner-" + std::to_string(number % 1000), "", "session-" + std::to_string(number)};
}

std::unique_ptr<storage::stores> open(std::filesystem::path const& home) {
  auto opened = storage::stores::open({home, boot_id(), machine_id(), std::size_t{64} << 30, {}});
  if (!opened) throw std::runtime_error(opened.error().text);
  return *std::move(opened);
}

/// Rows as hibernations leave them: session, saved namespace, the notice of it.
storage::changes rows_of(std::size_t number) {
  storage::session_record row;
  row.number = number;
  row.key = key_of(number);
  row.created_at = 1;
  row.slots.front().python = "/usr/bin/python3";
  row.slots.front().fresh_reason = "died";
  storage::saved_record saved;
  saved.session = number;
  saved.kernel = kernel_id("k-" + std::to_string(number));
  saved.file = "state/" + std::to_string(number) + ".0";
  saved.reason = "idle";
  saved.bytes = 1000;
  saved.names = {"x", "frame", "model"};
  storage::notice_record notice{notice_id("n-" + std::to_string(number)), number, "evicted", std::string(150, 't'), "{}", 1};
  return {storage::put_session{row}, storage::put_saved{saved}, storage::put_notice{notice}};
}

void fill(std::filesystem::path const& home, std::size_t sessions) {
  if (auto made = prepare_home(home); !made) throw std::runtime_error(made.error().message);
  auto const store = open(home);
  for (std::size_t first = 1; first <= sessions; first += group) {
    std::vector<storage::changes> units;
    for (auto number = first; number < std::min(first + group, sessions + 1); ++number) units.push_back(rows_of(number));
    if (auto committed = store->commit_disk(units); !committed) throw std::runtime_error(committed.error().text);
  }
}

struct cost {
  samples start, decision, load, call;  // us
  memory used;
};

cost measure(std::size_t sessions) {
  cost measured;
  scratch_directory scratch;
  auto const home = scratch.path() / "home";
  fill(home, sessions);
  std::mt19937_64 random(sessions);
  auto const any = [&] { return 1 + random() % std::max<std::size_t>(1, sessions); };
  {
    auto start = clock::now();
    daemon_process daemon(home);
    measured.start.add(microseconds_since(start));
    for (std::size_t more = 1; more < starts; ++more) {
      daemon.kill();
      start = clock::now();
      daemon.start();
      measured.start.add(microseconds_since(start));
    }
    measured.used = resident(daemon.pid());
    for (std::size_t call = 0; sessions > 0 && call < calls; ++call) {
      auto const key = key_of(any());
      measured.call.add(microseconds_of([&] { daemon.call("session.get", {{"owner", key.owner}, {"session", key.session}}); }));
    }
  }
  if (sessions == 0) return measured;
  auto const store = open(home);
  core::kernel_roll roll({.kernels = live_kernels, .kernels_hard = 2 * live_kernels, .kernels_per_owner = live_kernels}, [] {});
  std::vector<core::kernel_roll::place> places;
  for (std::size_t kernel = 0; kernel < live_kernels; ++kernel) places.push_back(roll.enter(key_of(kernel).owner));
  for (std::size_t each = 0; each < decisions; ++each) {
    auto const key = key_of(any());
    measured.decision.add(microseconds_of([&] {
      if (roll.shortage_for(key.owner, {}) != core::shortage::none) throw std::runtime_error("there is room");
      roll.enter(key.owner);
    }));
    measured.load.add(microseconds_of([&] {
      auto const found = store->find_session(key);
      if (!found || !*found || !core::read_session(*store, (*found)->number)) throw std::runtime_error("a session is not there");
    }));
  }
  return measured;
}

void run(std::size_t most) {
  auto const bare = measure(0);
  heading("No session");
  figure("start of a daemon", "p50 " + duration(bare.start.p50()) + "  most " + duration(bare.start.p99()));
  for (auto sessions = fewest; sessions <= most; sessions *= 10) {
    auto const with = measure(sessions);
    heading(text("%zu hibernated sessions", sessions));
    figure("start of a daemon", "p50 " + duration(with.start.p50()) + "  most " + duration(with.start.p99()), "1 s",
           with.start.p50() <= start_budget);
    auto const more = static_cast<double>(with.used.anonymous) - static_cast<double>(bare.used.anonymous);
    figure("its own memory, more than with none", text("%+.2f MiB", more / (1 << 20)), "0 MiB", more <= memory_budget);
    hop("and of the stores' maps, which the system may drop",
        text("%+.2f MiB", (static_cast<double>(with.used.file) - static_cast<double>(bare.used.file)) / (1 << 20)));
    figure("decision that one may have a kernel", p50_and_p99(with.decision), "100 us", with.decision.p99() <= decision_budget);
    hop("reading the session's rows before it", p50_and_p99(with.load));
    figure("session.get of one, loaded for it", p50_and_p99(with.call));
  }
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) {
  using namespace holdfast::bench;
  return run_benchmark("bench_hibernated", argc, argv, usual_most, run);
}
