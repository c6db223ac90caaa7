// What `1+1` costs in a warm kernel: embedded and through the daemon's socket, beside the bare ping-pong and the kernel alone.
// All take turns in one run, so that what else the machine does meets them alike. bench_cells [CELLS]
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <sched.h>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <holdfast/holdfast.hpp>

#include "bench/bare.hpp"
#include "bench/daemon.hpp"
#include "bench/direct.hpp"
#include "bench/processes.hpp"
#include "bench/support.hpp"

namespace holdfast::bench {
namespace {

constexpr std::size_t usual_cells = 3000;
constexpr std::size_t cells_per_turn = 25;  // enough for caches and clock rates to be those of the contender
constexpr std::size_t stamped_share = 4;    // one cell of so many is stamped, or confined, for the profile
constexpr double embedded_budget = 2.5;     // times bare, p50
constexpr double socket_budget = 3.0;

/// One way to have a cell run; the result's value.
using runner = std::function<std::string(std::string const& code)>;

struct contender {
  runner run;
  samples whole{};       // of `1+1`
  samples there{};       // from the call to the cell's evaluation
  samples back{};        // from there to the answer
  samples confined{};    // as `whole`, everything on one processor: no wake-up crosses to another one
  double processor = 0;  // time used by the far process for all cells of `whole`
  pid_t far = -1;        // that process; -1: this one
};

void run_whole(contender& each) {
  if (each.run("1+1") != "2") throw std::runtime_error("1+1 is not 2");
}

/// The far side's clock is ours: CLOCK_MONOTONIC.
void run_stamped(contender& each) {
  auto const now = [] { return clock::now().time_since_epoch().count(); };
  auto const called = now();
  auto const evaluated = std::stoll(each.run("__import__('time').monotonic_ns()"));
  each.back.add(static_cast<double>(now() - evaluated) / 1e3);
  each.there.add(static_cast<double>(evaluated - called) / 1e3);
}

template <class Turn>
void take_turns(std::vector<contender*> const& all, std::size_t cells, Turn&& once) {
  for (std::size_t turn = 0; turn < (cells + cells_per_turn - 1) / cells_per_turn; ++turn)
    for (auto* each : all)
      for (std::size_t i = 0; i < cells_per_turn; ++i) once(*each);
}

void measure(std::vector<contender*> const& all, std::size_t cells, std::vector<pid_t> const& processes) {
  take_turns(all, 10 * cells_per_turn, run_whole);  // warm-up
  take_turns(all, cells, [](contender& each) {
    auto const far = each.far < 0 ? ::getpid() : each.far;
    auto const used = processor_time(far);
    each.whole.add(microseconds_of([&] { run_whole(each); }));
    each.processor += processor_time(far) - used;
  });
  take_turns(all, cells / stamped_share, run_stamped);

  // The one that this runs on is surely ours to use.
  for (auto const process : processes) confine(process, static_cast<unsigned>(::sched_getcpu()));
  take_turns(all, cells / stamped_share, [](contender& each) { each.confined.add(microseconds_of([&] { run_whole(each); })); });
}

void print(char const* what, samples const& measured, samples const& bare, double budget) {
  auto const ratio = measured.p50() / bare.p50();
  figure(what, p50_and_p99(measured) + text("  %.2fx bare", ratio), text("%.1fx", budget), ratio <= budget);
}

void print_profile(contender const& bare, contender const& alone, contender const& embedded, contender const& socket) {
  std::printf("    by hop, p50:                             adds     whole   to the cell  and back  on one core\n");
  auto const line = [](char const* what, contender const& with, double less) {
    hop(what, text("%+4.0f us  %4.0f us  %8.0f us  %5.0f us  %8.0f us", with.whole.p50() - less, with.whole.p50(), with.there.p50(),
                   with.back.p50(), with.confined.p50()));
  };
  line("bare: two frames, JSON, eval", bare, 0);
  line("kernel: spool, output, result", alone, bare.whole.p50());
  line("gateway: queue, commits, threads", embedded, alone.whole.p50());
  line("daemon: client, socket, JSON-RPC", socket, embedded.whole.p50());
  auto const per_cell = [](contender const& each) { return duration(each.processor / static_cast<double>(each.whole.size())); };
  hop("processor time a cell, daemon", per_cell(socket));
  hop("the same, gateway and caller embedded", per_cell(embedded));
  hop("the same, kernel alone", per_cell(alone));
}

void run(std::size_t cells) {
  scratch_directory nursery_home, embedded_home, daemon_home;
  bare_ping_pong bare_peer;
  direct_nursery nursery(nursery_home.path());
  auto kernel = nursery.attach(nursery.spawn());
  gateway embedded_gateway({.home = embedded_home.path() / "home", .python = {}, .settings = {{"grace_seconds", grace_seconds}}});
  embedded_gateway.start();
  auto session = embedded_gateway.open_session();
  daemon_process daemon(daemon_home.path() / "home");
  std::string recorded;               // the newest cell embedded; older ones expire
  boost::json::value recorded_there;  // the same of the daemon

  contender bare{[&](auto const& code) { return bare_peer.run(code); }};
  contender alone{[&](auto const& code) { return kernel.run(code).value.value_or(""); }};
  contender embedded{[&](auto const& code) {
    auto const ran = session.run(code);
    recorded = ran.cell;
    return ran.value.value_or("");
  }};
  contender socket{[&](auto const& code) {
    auto const ran = daemon.run("default", code);
    recorded_there = ran.at("cell");
    return std::string(ran.at("value").as_string());
  }};
  bare.far = bare_peer.pid();
  alone.far = kernel.pid();
  socket.far = daemon.pid();
  socket.run("1+1");
  embedded.run("1+1");
  std::vector<pid_t> processes{::getpid(), bare_peer.pid(), kernel.pid(), daemon.pid()};
  for (auto const& listed : {boost::json::parse(embedded_gateway.call("kernel.list")), daemon.call("kernel.list")})
    processes.push_back(static_cast<pid_t>(listed.at("items").at(0).at("pid").as_int64()));
  measure({&bare, &alone, &embedded, &socket}, cells, processes);

  heading(text("1+1 in a warm kernel, %zu cells each, taking turns", socket.whole.size()));
  figure("bare ping-pong", p50_and_p99(bare.whole));
  print("1+1 embedded", embedded.whole, bare.whole, embedded_budget);
  print("1+1 through the socket", socket.whole, bare.whole, socket_budget);
  print_profile(bare, alone, embedded, socket);

  // A result from the record: the whole way but the kernel's, the queue's and the commits'.
  samples embedded_record, socket_record;
  for (std::size_t i = 0; i < cells / stamped_share; ++i) {
    embedded_record.add(microseconds_of([&] { session.cell_get(recorded); }));
    socket_record.add(microseconds_of([&] { daemon.call("cell.get", {{"cell", recorded_there}}); }));
  }
  hop("a recorded result on one core, embedded", p50_and_p99(embedded_record));
  hop("the same through the socket", p50_and_p99(socket_record));

  embedded_gateway.stop(kernels::end);
  daemon.call("shutdown", {{"kernels", true}});
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) {
  using namespace holdfast::bench;
  return run_benchmark("bench_cells", argc, argv, usual_cells, run);
}
