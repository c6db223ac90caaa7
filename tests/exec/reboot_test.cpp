// The machine of the gateway was booted anew, or its gateway was killed: what concerns kernels elsewhere goes on, and each cell once.
// A gateway that must not end in an orderly way runs in a child, on the far side behind /bin/sh.
#include <catch2/catch.hpp>

#include "actors/base/identity.hpp"
#include "storage/codecs.hpp"
#include "storage/schema.hpp"
#include "storage/transaction.hpp"
#include "tests/exec/far_sides.hpp"
#include "tests/support/forked.hpp"

namespace holdfast::test {
namespace {

/// As if the system had been booted since a gateway ran on that home: `boot` is of another boot, and may be anything.
void boot_anew(std::filesystem::path const& home) {
  using namespace holdfast::storage;
  auto store = environment::open(home / "store" / "disk", durability::synced, std::size_t{1} << 30);
  REQUIRE(store);
  REQUIRE(look_at_schema(**store));
  REQUIRE(open_tables(**store));
  write_transaction in(**store);
  auto row = in.find<home_codec>(home_codec::name);
  REQUIRE(row);
  row->boot_id = "of an earlier boot";
  in.put<home_codec>(home_codec::name, *row);
  REQUIRE(std::move(in).commit());
  write_file(home / "store" / "boot" / "data.mdb", "what a power loss may leave");
}

template <class Far>
struct rebooted : embedded<Far> {
  using embedded<Far>::embedded;

  void reboot() {
    this->running.reset();
    boot_anew(this->home.path());
    this->restart();
  }
};

TEMPLATE_TEST_CASE("after a reboot a kernel elsewhere is attached again", "", by_script, by_shell) {
  rebooted<TestType> setup;
  auto const first = setup.run("main", "1 + 1");

  setup.reboot();
  CHECK(comes_true([&] { return setup.kernels_there().size() == 1; }));
  auto const second = setup.run("main", "1 + 1");

  CHECK(second.status == "ok");
  CHECK(second.kernel == first.kernel);
  CHECK(kernel_of(second).at("reused") == true);
  CHECK(kernel_of(second).at("state_lost") == false);
  CHECK(kernel_of(second).at("execution_count") == 2);
}

TEMPLATE_TEST_CASE("a cell that runs elsewhere over a reboot is answered, those behind it run once", "", by_script, by_shell) {
  rebooted<TestType> setup;
  auto const first = setup.run("main", "1 + 1");
  auto const carries = setup.far.environment->count("carry");
  setup.run("main", TestType::wait(), {.cell = "slow", .wait = 1ms});
  setup.run("main", "1 + 1", {.cell = "behind", .wait = 1ms});
  REQUIRE(comes_true([&] { return setup.far.environment->count("carry") > carries; }));

  setup.reboot();
  setup.far.release();
  auto const slow = setup.open("main").cell_wait("slow");
  auto const behind = setup.open("main").cell_wait("behind");

  CHECK(slow.status == "ok");
  CHECK(slow.value == "2");
  CHECK(slow.kernel == first.kernel);
  CHECK(behind.status == "ok");
  CHECK(behind.kernel == first.kernel);
  CHECK(kernel_of(behind).at("execution_count") == 3);
}

TEST_CASE("after a reboot variables and jobs elsewhere are there") {
  rebooted<by_shell> setup;
  auto const started = setup.run("main", "x = 41\njob = run('sleep', '600')\njob.id");
  REQUIRE(started.value);
  auto const job = started.value->substr(1, started.value->size() - 2);

  setup.reboot();

  auto const listed = boost::json::parse(setup.running->call("job.list")).at("items").as_array();
  REQUIRE(listed.size() == 1);
  CHECK(listed.front().at("job").as_string() == job);
  CHECK(listed.front().at("state") == "running");
  CHECK(setup.run("main", "x + 1").value == "42");
  auto const stopped = setup.running->call("job.stop", R"({"job":")" + job + "\"}");
  CHECK(boost::json::parse(stopped).at("state") == "stopped");
}

TEST_CASE("a cell of this machine is lost to a reboot, that of the same session elsewhere is not") {
  rebooted<by_shell> setup;
  auto session = setup.open("main");
  setup.run("main", "x = 41");
  auto const here = session.run("import time; time.sleep(600)", {.cell = "here", .environment = "local", .wait = 1ms});
  CHECK_FALSE(here.is_final);
  REQUIRE(comes_true([&] { return status_of(session, "here") == "running"; }));
  auto const all = setup.kernels_there();
  auto const local = std::find_if(all.begin(), all.end(), [](auto const& each) { return each.at("environment") == "local"; });
  REQUIRE(local != all.end());
  auto const pid = static_cast<pid_t>(local->at("pid").as_int64());

  setup.reboot();

  CHECK(setup.open("main").cell_wait("here").status == "lost");
  CHECK(setup.run("main", "x + 1").value == "42");
  CHECK(comes_true([&] { return ::kill(pid, 0) != 0; }));  // its directory went with what was known of it
}

TEST_CASE("a kernel elsewhere that ended before a reboot is no kernel after it") {
  rebooted<by_script> setup;
  auto const first = setup.run("main", "1 + 1");
  setup.open("main").reset();
  auto const second = setup.run("main", "1 + 1");

  setup.reboot();

  auto const left = setup.kernels_there();
  REQUIRE(left.size() == 1);
  CHECK(left.front().at("kernel").as_string() == second.kernel);
  CHECK(setup.far.environment->living() == 1);
}

// ---- a gateway that is killed ----

struct killed_gateway {
  temporary_directory home;
  std::shared_ptr<sh_environment> far = std::make_shared<sh_environment>();
  std::unique_ptr<gateway> running;
  ~killed_gateway() {
    if (running) running->stop(kernels::end);
  }

  std::filesystem::path effects() const { return far->place() / "effects"; }
  std::string effect() const { return "with open(" + quoted(effects()) + ", 'a') as file: file.write('ran\\n')\nx += 1\nx"; }
  static std::string quoted(std::filesystem::path const& path) { return "'" + path.string() + "'"; }

  std::unique_ptr<gateway> start() const {
    auto made = std::make_unique<gateway>(gateway::config{.home = home.path()});
    made->add_environment("far", far);
    made->start();
    return made;
  }

  /// A first cell, then a second gateway with one that has an effect. Killed at those failpoints by then, or else 3.
  int live_and_die(std::string const& failpoints) const {
    forked child([&] {
      auto made = start();
      auto session = made->open_session("ada", "", "main");
      session.run("x = 41", {.environment = "far"});
      made.reset();
      ::setenv("HOLDFAST_FAILPOINTS", failpoints.c_str(), 1);
      made = start();
      session = made->open_session("ada", "", "main");
      try {
        session.run(effect(), {.cell = "c1", .environment = "far"});
      } catch (failure const&) {
        return 2;
      }
      made->stop(kernels::keep);  // not before all is moved
      return 3;
    });
    return child.exit_code();
  }
  std::size_t times_run() const {
    auto const text = read_file(effects());
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
};

void expect_once_after_kill_at(std::string const& name) {
  auto const hit = GENERATE(0, 1, 2);
  auto const is_booted = GENERATE(false, true);
  INFO(name << " at hit " << hit << (is_booted ? ", booted anew" : ""));
  killed_gateway setup;
  auto const ended = setup.live_and_die(name + "=" + (hit > 0 ? std::to_string(hit) + "*off->kill" : "kill"));
  REQUIRE((ended == -SIGKILL || ended == 3));  // there may be fewer hits
  if (is_booted) boot_anew(setup.home.path());

  setup.running = setup.start();
  auto session = setup.running->open_session("ada", "", "main");
  auto const result = session.run(setup.effect(), {.cell = "c1", .environment = "far"});

  CHECK(result.status == "ok");
  CHECK(result.value == "42");
  CHECK(setup.times_run() == 1);
  CHECK(session.run("x", {.environment = "far"}).value == "42");
}

TEST_CASE("killed with a row in boot that disk does not have, a gateway has a cell elsewhere once, also booted anew") {
  expect_once_after_kill_at("core.before_moved_to_disk");
}

TEST_CASE("killed once disk has it and the kernel elsewhere was not told, a gateway has its cell once, also booted anew") {
  expect_once_after_kill_at("core.after_moved_to_disk");
}

TEST_CASE("killed behind any commit of a cell elsewhere, a gateway has it once, also booted anew") {
  expect_once_after_kill_at("storage.boot.after_commit");
}

}  // namespace
}  // namespace holdfast::test
