// A store that refuses a commit for want of room: nothing of that step has happened, nobody waits in vain, and with room it is done once.
#include <signal.h>

#include <fstream>

#include <catch2/catch.hpp>

#include "actors/base/failpoints.hpp"
#include "tests/exec/far_sides.hpp"

namespace holdfast::test {
namespace {

constexpr int store_full = 1014;

/// One store of this process, `boot` or `disk`, that takes nothing until there is room again.
class full_store {
 public:
  full_store(std::filesystem::path const& home, std::string const& which) : log_(home / "refusals") {
    std::filesystem::remove(log_);
    REQUIRE(arm_failpoints("storage." + which + ".without_room=error", log_));
  }
  ~full_store() { make_room(); }
  full_store(full_store const&) = delete;
  full_store& operator=(full_store const&) = delete;

  void make_room() { disarm_failpoints(); }
  std::size_t refusals() const {
    std::ifstream file(log_);
    std::string line;
    std::size_t count = 0;
    while (std::getline(file, line)) ++count;
    return count;
  }
  bool has_refused(std::size_t at_least = 1) const {
    return comes_true([&] { return refusals() >= at_least; });
  }

 private:
  std::filesystem::path log_;
};

/// Nothing waits for a flush; one that is underway is over when this has been so for some looks.
bool has_moved(gateway& of) { return of.call("metrics").find("holdfast_disk_rows_waiting 0") != std::string::npos; }

/// The code of the failure; 0: it was done.
template <class Request>
int refusal_of(Request const& request) {
  try {
    request();
    return 0;
  } catch (failure const& problem) {
    CHECK(problem.may_retry());
    return problem.code();
  }
}

/// A cell that its kernel has, and does not end by itself.
template <class Far>
std::future<cell_result> start_waiting(embedded<Far>& setup, session in, char const* cell) {
  auto const carries = setup.far.environment->count("carry");
  auto waiting = in.run_async(Far::wait(), {.cell = cell, .environment = "far"});
  REQUIRE(comes_true([&] {
    return std::is_same_v<Far, by_script> ? setup.far.environment->count("carry") > carries : status_of(in, cell) == "running";
  }));
  return waiting;
}

// ---- acceptance ----

TEMPLATE_TEST_CASE("a cell whose acceptance is refused has not run, and runs under its id once there is room", "", by_script,
                   by_shell) {
  embedded<TestType> setup;
  auto const first = setup.run("main", "1 + 1");
  auto const seen = setup.far.environment->count();
  full_store store(setup.home.path(), "boot");

  CHECK(refusal_of([&] { setup.run("main", "1 + 1", {.cell = "again"}); }) == store_full);
  CHECK(status_of(setup.open("main"), "again").empty());
  CHECK(setup.far.environment->count() == seen);
  store.make_room();

  auto const result = setup.run("main", "1 + 1", {.cell = "again"});
  CHECK(result.status == "ok");
  CHECK(result.kernel == first.kernel);
  CHECK_FALSE(result.is_replayed);
  CHECK(kernel_of(result).at("execution_count") == 2);
}

TEST_CASE("with strict durability a cell whose id the disk refuses has not run, and runs under it once there is room") {
  embedded<by_script> setup(keys{{"durability", "strict"}});
  setup.run("main", "1 + 1");
  auto const seen = setup.far.environment->count();
  full_store store(setup.home.path(), "disk");

  CHECK(refusal_of([&] { setup.run("main", "1 + 1", {.cell = "again"}); }) == store_full);
  CHECK(status_of(setup.open("main"), "again").empty());
  CHECK(setup.far.environment->count() == seen);
  store.make_room();

  CHECK(kernel_of(setup.run("main", "1 + 1", {.cell = "again"})).at("execution_count") == 2);
}

// ---- a start ----

TEST_CASE("a kernel that is there and cannot be recorded gets no cell and is ended; with room the next one does") {
  embedded<by_script> setup(keys{{"fallback", "error"}});
  auto& far = *setup.far.environment;
  setup.run("other", "1 + 1");
  setup.gate().hold("spawn");
  auto waiting = setup.open("main").run_async("1 + 1", {.cell = "again", .environment = "far"});
  REQUIRE(comes_true([&] { return setup.gate().waiting() == 1; }));
  full_store store(setup.home.path(), "boot");

  setup.gate().open();
  CHECK(refusal_of([&] { waiting.get(); }) == store_full);
  store.make_room();

  CHECK(setup.run("main", "1 + 1", {.cell = "again"}).status == "ok");
  CHECK(comes_true([&] { return far.living() == 2; }));
  CHECK(setup.kernels_there().size() == 2);
}

TEST_CASE("a failed start that cannot be recorded holds up its accepted cell until there is room, and not longer") {
  embedded<by_script> setup(keys{{"fallback", "error"}});
  auto const first = setup.run("main", "1 + 1");
  setup.gate().hold("spawn");
  setup.far.kill(0);
  auto waiting = setup.open("main").run_async("1 + 1", {.cell = "on", .environment = "far"});
  REQUIRE(comes_true([&] { return setup.gate().waiting() == 1; }));
  setup.far.refuse_spawns();
  full_store store(setup.home.path(), "boot");
  setup.gate().open();
  REQUIRE(store.has_refused(2));
  CHECK_FALSE(waiting.get().is_final);
  CHECK(status_of(setup.open("main"), "on") == "queued");

  setup.far.cut_off(false);
  store.make_room();

  auto const result = setup.open("main").cell_wait("on");
  CHECK(result.status == "ok");
  CHECK(result.kernel != first.kernel);
  CHECK(kernel_of(result).at("execution_count") == 1);
  CHECK(setup.kernels_there().size() == 1);
}

TEST_CASE("a failed start of a key that the session had not before leaves neither kernel nor key, though it is recorded late") {
  embedded<by_script> setup(keys{{"fallback", "error"}});
  auto const first = setup.run("main", "1 + 1");
  setup.gate().hold("spawn");
  auto waiting = setup.open("main").run_async("1 + 1", {.cell = "on", .tools = std::vector<std::string>{"read_file"}});
  REQUIRE(comes_true([&] { return setup.gate().waiting() == 1; }));
  setup.far.refuse_spawns();
  full_store store(setup.home.path(), "boot");
  setup.gate().open();

  CHECK_THROWS_AS(waiting.get(), failure);
  REQUIRE(store.has_refused(2));
  setup.far.cut_off(false);
  store.make_room();

  auto const next = setup.open("main").run("1 + 1");
  CHECK(next.kernel == first.kernel);
  CHECK(comes_true([&] { return setup.kernels_there().size() == 1; }));
  CHECK(setup.open("main").run("1 + 1", {.cell = "on", .tools = std::vector<std::string>{"read_file"}}).status == "ok");
}

TEST_CASE("a cell that falls open runs once, though the failed start of its kernel was recorded late") {
  embedded<by_script> setup;
  setup.run("other", "1 + 1");
  setup.gate().hold("spawn");
  auto waiting = setup.open("main").run_async("alone", {.environment = "far"});
  REQUIRE(comes_true([&] { return setup.gate().waiting() == 1; }));
  setup.far.refuse_spawns();
  full_store store(setup.home.path(), "boot");
  setup.gate().open();
  REQUIRE(store.has_refused(2));
  CHECK(setup.far.environment->ran_alone().empty());

  store.make_room();

  CHECK(waiting.get().status == "ok");
  CHECK(setup.far.environment->ran_alone() == std::vector<std::string>{"alone"});
}

// ---- a death ----

TEMPLATE_TEST_CASE("a death that cannot be recorded is told as not stored yet, and once with room", "", by_script, by_shell) {
  embedded<TestType> setup;
  setup.run("main", "1 + 1");
  auto session = setup.open("main");
  auto waiting = start_waiting(setup, session, "lost");
  auto const pid = setup.only_pid();
  full_store store(setup.home.path(), "boot");

  setup.far.kill(pid);
  auto const told = waiting.get();
  CHECK_FALSE(told.is_final);
  CHECK(setup.kernels_there().size() == 1);
  store.make_room();

  CHECK(session.cell_wait("lost").status == "lost");
  auto const next = setup.run("main", "1 + 1");
  CHECK(next.status == "ok");
  CHECK(kernel_of(next).at("state_lost") == true);
  CHECK(setup.kernels_there().size() == 1);
}

// ---- a save ----

TEMPLATE_TEST_CASE("a save whose row is refused ends no kernel and costs no variable; with room it is taken", "", by_script,
                   by_shell) {
  embedded<TestType> setup;
  auto const first = setup.run("main", "x = 41");
  full_store store(setup.home.path(), "disk");

  CHECK(refusal_of([&] { setup.stop_kernel(first.kernel); }) == store_full);
  auto const rows = setup.kernels_there();
  REQUIRE(rows.size() == 1);
  CHECK(rows.front().at("state") == "idle");
  // Until there is room no cell may go there: what is recorded of it would not survive this machine.
  CHECK(refusal_of([&] { setup.run("main", "x += 1"); }) == store_full);
  store.make_room();
  REQUIRE(comes_true([&] { return refusal_of([&] { setup.run("main", "x += 1", {.cell = "on"}); }) == 0; }));
  CHECK(setup.kernels_there().at(0).at("kernel").as_string() == first.kernel);

  setup.stop_kernel(first.kernel);
  auto const restored = setup.run("main", "x");
  CHECK(kernel_of(restored).at("restored") == true);
  CHECK(restored.value == (std::is_same_v<TestType, by_shell> ? "42" : "2"));
}

TEMPLATE_TEST_CASE("an idle kernel whose save is refused is kept and serves", "", by_script, by_shell) {
  embedded<TestType> setup(keys{{"idle_seconds", "1"}});
  auto const first = setup.run("main", "x = 41");
  REQUIRE(
      comes_true([&, looks = 0]() mutable { return has_moved(*setup.running) && ++looks > 20; }));  // else its kernel is not asked
  full_store store(setup.home.path(), "disk");
  auto const is_kept = [&] {
    std::ifstream file(setup.home.path() / "daemon.log");
    return std::string(std::istreambuf_iterator<char>(file), {}).find("hibernate-failed") != std::string::npos;
  };
  REQUIRE(comes_true(is_kept));

  CHECK(setup.kernels_there().size() == 1);
  store.make_room();
  cell_result next;
  auto const serves = [&] { return refusal_of([&] { next = setup.run("main", "x", {.cell = "on"}); }) == 0; };
  REQUIRE(comes_true(serves));

  CHECK(next.kernel == first.kernel);
  CHECK(next.value == (std::is_same_v<TestType, by_shell> ? "41" : "2"));
}

TEST_CASE("a saved namespace stays until its restoration is recorded, though the kernel that has it dies") {
  embedded<by_script> setup;
  auto session = setup.open("main");
  auto const first = session.run("x = 41");
  setup.stop_kernel(first.kernel);
  full_store store(setup.home.path(), "disk");
  auto waiting = session.run_async("x + 1", {.cell = "on"});
  REQUIRE(store.has_refused(2));
  REQUIRE(comes_true([&] { return setup.kernels_there().size() == 1 && setup.only_pid() != 0; }));
  CHECK(status_of(session, "on") == "queued");
  auto const second = setup.kernels_there().at(0).at("kernel");

  ::kill(static_cast<pid_t>(setup.only_pid()), SIGKILL);
  REQUIRE(comes_true([&] {
    auto const rows = setup.kernels_there();
    return rows.size() == 1 && rows.front().at("kernel") != second;
  }));
  store.make_room();

  auto const result = waiting.get();
  CHECK(result.value == "42");
  CHECK(kernel_of(result).at("restored") == true);
}

TEST_CASE("a saved namespace stays until its restoration is recorded, though the gateway ends") {
  embedded<by_script> setup;
  auto const first = setup.open("main").run("x = 41");
  setup.stop_kernel(first.kernel);
  std::optional<full_store> store(std::in_place, setup.home.path(), "disk");
  auto waiting = setup.open("main").run_async("x + 1", {.cell = "on"});
  REQUIRE(store->has_refused(2));
  REQUIRE(comes_true([&] { return status_of(setup.open("main"), "on") == "queued"; }));

  setup.restart();  // its start disarms what this one had

  auto const result = setup.open("main").cell_wait("on");
  CHECK(result.value == "42");
  CHECK(kernel_of(result).at("restored") == true);
  CHECK_FALSE(waiting.get().is_final);
}

// ---- reset and close ----

TEMPLATE_TEST_CASE("a reset that cannot be recorded has reset nothing, and can be asked for again", "", by_script, by_shell) {
  embedded<TestType> setup;
  auto const first = setup.run("main", "x = 41");
  setup.stop_kernel(first.kernel);
  {
    full_store const store(setup.home.path(), "boot");
    CHECK(refusal_of([&] { setup.open("main").reset(); }) == store_full);
  }
  auto const restored = setup.run("main", "x");
  CHECK(kernel_of(restored).at("restored") == true);
  setup.stop_kernel(restored.kernel);

  setup.open("main").reset();

  auto const fresh = setup.run("main", "1 + 1");
  CHECK(kernel_of(fresh).at("restored") == false);
  CHECK(kernel_of(fresh).at("reason") == "reset");
}

TEMPLATE_TEST_CASE("a reset whose saved namespace cannot be erased is answered, and done when it is asked for again", "", by_script,
                   by_shell) {
  embedded<TestType> setup;
  auto const first = setup.run("main", "x = 41");
  setup.stop_kernel(first.kernel);
  {
    full_store const store(setup.home.path(), "disk");
    CHECK(refusal_of([&] { setup.open("main").reset(); }) == store_full);
    CHECK(refusal_of([&] { setup.open("main").reset(); }) == store_full);
  }

  setup.open("main").reset();

  auto const fresh = setup.run("main", "1 + 1");
  CHECK(kernel_of(fresh).at("restored") == false);
  CHECK(kernel_of(fresh).at("reason") == "reset");
}

TEMPLATE_TEST_CASE("a reset of a kernel whose end cannot be recorded is answered, and done when it is asked for again", "",
                   by_script, by_shell) {
  embedded<TestType> setup;
  auto const first = setup.run("main", "1 + 1");
  {
    full_store const store(setup.home.path(), "boot");
    CHECK(refusal_of([&] { setup.open("main").reset(); }) == store_full);
    CHECK(refusal_of([&] { setup.open("main").reset(); }) == store_full);
  }

  setup.open("main").reset();

  CHECK(setup.kernels_there().empty());
  auto const fresh = setup.run("main", "1 + 1");
  CHECK(fresh.kernel != first.kernel);
  CHECK(kernel_of(fresh).at("reason") == "reset");
}

TEMPLATE_TEST_CASE("a cell that runs when a reset cannot be recorded is not stored yet, and interrupted once there is room", "",
                   by_script, by_shell) {
  embedded<TestType> setup;
  setup.run("main", "1 + 1");
  auto session = setup.open("main");
  auto waiting = start_waiting(setup, session, "c1");
  {
    full_store const store(setup.home.path(), "boot");
    CHECK(refusal_of([&] { session.reset(); }) == store_full);
    CHECK_FALSE(waiting.get().is_final);
  }

  CHECK(session.cell_wait("c1").status == "interrupted");
  auto const fresh = setup.run("main", "1 + 1");
  CHECK(kernel_of(fresh).at("reason") == "reset");
}

TEMPLATE_TEST_CASE("a close that cannot be recorded is answered, and done when it is asked for again", "", by_script, by_shell) {
  auto const* const which = GENERATE("boot", "disk");
  CAPTURE(which);
  embedded<TestType> setup;
  setup.run("main", "1 + 1");
  {
    full_store const store(setup.home.path(), which);
    CHECK(refusal_of([&] { setup.open("main").close(); }) == store_full);
  }

  setup.open("main").close();

  CHECK(setup.kernels_there().empty());
  CHECK(boost::json::parse(setup.running->call("session.list")).at("items").as_array().empty());
  cell_result next;  // refused until the disk has been tried again
  REQUIRE(comes_true([&] { return refusal_of([&] { next = setup.run("main", "1 + 1"); }) == 0; }));
  CHECK(kernel_of(next).at("reason") == "first");
}

}  // namespace
}  // namespace holdfast::test
