// What kernels cost: a new session's first result, memory while idle, being attached again by a restarted daemon, the knowledge of
// a death. One daemon goes through all of it with the same kernels. bench_kernels [KERNELS]
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <boost/json/serialize.hpp>

#include "bench/daemon.hpp"
#include "bench/direct.hpp"
#include "bench/processes.hpp"
#include "bench/support.hpp"

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t usual_kernels = 200;
constexpr std::size_t alone_kernels = 30;  // spawned without a daemon, for the profiles
constexpr std::size_t killed_kernels = 50;
constexpr std::size_t warm_cells = 1'000;
constexpr std::size_t restarts = 3;
constexpr std::size_t hibernations = 10;
constexpr auto settling = 500ms;  // until the last rows are on disk and kernels have looked after themselves
constexpr double mb = 1e6;
constexpr double kib = 1024;
constexpr double new_session_p50 = 5e3, new_session_p99 = 20e3;  // us
constexpr double idle_kernel = 2.0 * mb;
constexpr double daemon_share = 16 * kib;
constexpr double reattach_thousand = 2e6;  // us, for 1,000 kernels
constexpr double lost_known = 100e3;       // us, p99; "far under" a second
constexpr char const* endless = "import time\nprint('on', flush=True)\ntime.sleep(600)";

std::string session_name(std::size_t number) { return "s-" + std::to_string(number); }

/// The same without a daemon: by how much the daemon adds to it.
struct without_daemon {
  samples fork, attach, first_cell;  // of a new kernel, us
  samples fresh, used;               // its own pages before and after that cell, bytes; shared ones as their part
  samples gone, reported;            // from SIGKILL to a readable pidfd, to the nursery's report, us
};

without_daemon measure_alone() {
  without_daemon alone;
  scratch_directory home;
  direct_nursery nursery(home.path());
  for (std::size_t i = 0; i < alone_kernels; ++i) {
    auto start = clock::now();
    auto const birth = nursery.spawn();
    alone.fork.add(microseconds_since(start));
    start = clock::now();
    auto kernel = nursery.attach(birth);
    alone.attach.add(microseconds_since(start));
    alone.fresh.add(static_cast<double>(proportional(kernel.pid()).anonymous));
    alone.first_cell.add(microseconds_of([&] { kernel.run("1+1"); }));
    alone.used.add(static_cast<double>(proportional(kernel.pid()).anonymous));

    kernel.start(endless);
    pollfd end{static_cast<int>(::syscall(SYS_pidfd_open, kernel.pid(), 0)), POLLIN, 0};
    start = clock::now();
    if (!home.kill(kernel.pid())) throw std::runtime_error("a kernel is not where it was");
    ::poll(&end, 1, -1);
    alone.gone.add(microseconds_since(start));
    nursery.wait_exited(kernel.id());
    alone.reported.add(microseconds_since(start));
    ::close(end.fd);
  }
  return alone;
}

/// The daemon's memory before and after it had the kernels.
struct growth {
  memory before, after;
};

growth new_sessions(daemon_process& daemon, std::size_t kernels, without_daemon const& alone) {
  auto const first = microseconds_of([&] { daemon.run("warm-up-0", "1+1"); });
  for (int i = 1; i < 10; ++i) daemon.run("warm-up-" + std::to_string(i), "1+1");
  auto const before = resident(daemon.pid());
  samples sessions;
  for (std::size_t i = 0; i < kernels; ++i) sessions.add(microseconds_of([&] { daemon.run(session_name(i), "1+1"); }));
  std::this_thread::sleep_for(settling);
  auto const after = resident(daemon.pid());

  heading(text("A new session to its first result, %zu sessions", kernels));
  figure("new session", p50_and_p99(sessions), "5 ms / 20 ms",
         sessions.p50() <= new_session_p50 && sessions.p99() <= new_session_p99);
  hop("the daemon's first one: starts a nursery", duration(first));
  hop("alone: spawn to spawned", p50_and_p99(alone.fork));
  hop("alone: connect to hello", p50_and_p99(alone.attach));
  hop("alone: the first cell", p50_and_p99(alone.first_cell));
  hop("the daemon's own part, p50", duration(sessions.p50() - alone.fork.p50() - alone.attach.p50() - alone.first_cell.p50()));
  samples warm;
  for (std::size_t i = 0; i < warm_cells; ++i)
    warm.add(microseconds_of([&] { daemon.run(session_name(i * 7919 % kernels), "1+1"); }));
  figure(text("a warm cell in any of %zu kernels", kernels), p50_and_p99(warm));
  return {before, after};
}

void idle_memory(daemon_process& daemon, growth const& grown, std::size_t kernels, without_daemon const& alone) {
  heading("Memory of idle kernels after one cell");
  samples own, mapped, whole;
  auto const listed = daemon.call("kernel.list", {{"limit", 1000}});
  for (auto const& row : listed.at("items").as_array()) {
    auto const used = proportional(static_cast<pid_t>(row.at("pid").as_int64()));
    own.add(static_cast<double>(used.anonymous));
    mapped.add(static_cast<double>(used.file));
    whole.add(static_cast<double>(used.total()));
  }
  figure("a kernel (PSS)", text("p50 %.2f MB  p99 %.2f MB", whole.p50() / mb, whole.p99() / mb), "2.0 MB",
         whole.p50() <= idle_kernel);
  hop("its own pages", text("%.2f MB", own.p50() / mb));
  hop("of which its first cell wrote", text("%.2f MB", (alone.used.p50() - alone.fresh.p50()) / mb));
  hop("mapped: interpreter, spool, journal", text("%.2f MB", mapped.p50() / mb));
  auto const per_kernel = [&](std::uint64_t more, std::uint64_t less) {
    return (static_cast<double>(more) - static_cast<double>(less)) / static_cast<double>(kernels);
  };
  auto const share = per_kernel(grown.after.total(), grown.before.total());
  figure("its share of the daemon (RSS)", text("%.1f KiB", share / kib), "16 KiB", share <= daemon_share);
  hop("its own pages", text("%.1f KiB", per_kernel(grown.after.anonymous, grown.before.anonymous) / kib));
  hop("pages of the stores' maps and of code", text("%.1f KiB", per_kernel(grown.after.file, grown.before.file) / kib));
}

/// Returns once the restarted daemon has so many kernels, all attached.
void wait_attached(daemon_process& daemon, std::int64_t kernels) {
  auto const deadline = clock::now() + patience;
  for (;;) {
    auto const status = daemon.call("status");
    auto const& states = status.at("kernels").as_object();
    auto const* idle = states.if_contains("idle");
    if (idle && idle->as_int64() == kernels && status.at("attaching") == 0) return;
    if (clock::now() > deadline) throw std::runtime_error("not all attached: " + boost::json::serialize(status));
    std::this_thread::sleep_for(1ms);
  }
}

void reattach(daemon_process& daemon) {
  auto const kernels = daemon.call("status").at("kernels").at("idle").as_int64();
  samples answering, attached;
  for (std::size_t i = 0; i < restarts; ++i) {
    daemon.kill();
    auto const start = clock::now();
    daemon.start();
    answering.add(microseconds_since(start));
    wait_attached(daemon, kernels);
    attached.add(microseconds_since(start));
    if (daemon.run(session_name(0), "1+1").at("kernel").at("reused") != true) throw std::runtime_error("a kernel was lost");
    std::this_thread::sleep_for(settling);
  }
  auto const budget = reattach_thousand * static_cast<double>(kernels) / 1000;
  heading(text("SIGKILL of the daemon with %lld kernels, %zu times", static_cast<long long>(kernels), restarts));
  figure("restart to all attached", "p50 " + duration(attached.p50()) + "  most " + duration(attached.p99()),
         duration(budget) + ": 2 s for 1,000", attached.p50() <= budget);
  hop("to a daemon that takes connections", duration(answering.p50()));
  hop("from there, each kernel", duration((attached.p50() - answering.p50()) / static_cast<double>(kernels)));
}

/// Kills the session's kernel in mid-cell; how long it takes until the client has the result.
double kill_in_mid_cell(daemon_process& daemon, scratch_directory const& home, std::string const& session) {
  auto const row = daemon.call("kernel.list", {{"session", session}}).at("items").at(0);
  auto sent = daemon.client().send("run", {{"session", session}, {"code", endless}, {"stream", true}});
  if (!sent) throw std::runtime_error(sent.error().message);
  clock::time_point killed;
  for (;;) {
    auto came = daemon.client().receive(patience);
    if (!came) throw std::runtime_error(came.error().message);
    if (came->method == "cell.stream") {  // it has printed: it runs
      killed = clock::now();
      if (!home.kill(static_cast<pid_t>(row.at("pid").as_int64()))) throw std::runtime_error("a kernel is not where it was");
    }
    if (!came->id) continue;
    auto const known = microseconds_since(killed);
    if (came->problem) throw std::runtime_error(came->problem->message);
    if (came->result.at("status") != "lost") throw std::runtime_error("not lost: " + boost::json::serialize(came->result));
    return known;
  }
}

void deaths(daemon_process& daemon, scratch_directory const& home, std::size_t kernels, without_daemon const& alone) {
  samples known;
  for (std::size_t i = 0; i < std::min(kernels, killed_kernels); ++i) known.add(kill_in_mid_cell(daemon, home, session_name(i)));
  heading(text("A kernel's SIGKILL in mid-cell to the client's knowledge (lost), %zu deaths", known.size()));
  figure("death known", p50_and_p99(known), "far under 1 s: p99 100 ms", known.p99() <= lost_known);
  hop("alone: to a readable pidfd", p50_and_p99(alone.gone));
  hop("alone: to the nursery's report", p50_and_p99(alone.reported));
  hop("the daemon's own part, p50", duration(known.p50() - alone.reported.p50()));
}

/// Ends the session's kernel with its namespace saved, and brings it back with the next cell.
void hibernate(daemon_process& daemon, std::string const& what, std::string const& code) {
  samples saved, restored;
  for (std::size_t i = 0; i < hibernations; ++i) {
    auto const session = "hibernated-" + what + std::to_string(i);
    daemon.run(session, code);
    auto const kernel = daemon.call("kernel.list", {{"session", session}}).at("items").at(0).at("kernel");
    saved.add(microseconds_of([&] { daemon.call("kernel.stop", {{"kernel", kernel}}); }));
    restored.add(microseconds_of([&] {
      if (daemon.run(session, "x").at("kernel").at("restored") != true) throw std::runtime_error("a namespace was not restored");
    }));
  }
  figure("hibernate, " + what, p50_and_p99(saved));
  figure("its next cell, restored, " + what, p50_and_p99(restored));
}

void run(std::size_t kernels) {
  auto const alone = measure_alone();
  scratch_directory home;
  daemon_process daemon(home.path() / "home");
  auto const grown = new_sessions(daemon, kernels, alone);
  idle_memory(daemon, grown, kernels, alone);
  reattach(daemon);
  deaths(daemon, home, kernels, alone);
  heading("Namespaces saved and restored");
  hibernate(daemon, "small", "x = 1");
  hibernate(daemon, "50MB", "import os\nx = 1\nb0, b1, b2, b3, b4, b5, b6 = (os.urandom(7_500_000) for _ in range(7))\nNone");
  daemon.call("shutdown", {{"kernels", true}});
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) {
  using namespace holdfast::bench;
  return run_benchmark("bench_kernels", argc, argv, usual_kernels, run);
}
