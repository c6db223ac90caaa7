// How hosts fail: nothing of it is taken for the death of a kernel, and nothing runs twice.
#include <catch2/catch.hpp>

#include <thread>

#include "tests/exec/far_sides.hpp"

namespace holdfast::test {
namespace {

using mood = scripted_environment::mood;

TEST_CASE("whatever a command does instead of its work, its kernel is only unreachable") {
  auto const now = GENERATE(mood::exits_255, mood::prints_garbage, mood::throws, mood::cuts_answers_short);
  embedded<by_script> setup;
  auto const first = setup.run("main", "1 + 1");
  auto& far = *setup.far.environment;
  far.set_mood(now);
  auto session = setup.open("main");

  auto waiting = session.run_async("1 + 1", {.environment = "far"});
  auto const seen = far.count();
  CHECK(comes_true([&] { return far.count() > seen + 3; }));
  auto const rows = setup.kernels_there();
  REQUIRE(rows.size() == 1);
  CHECK(rows.front().at("state") == "unreachable");
  far.set_mood(mood::well);

  auto const result = waiting.get();
  CHECK(result.status == "ok");
  CHECK(result.kernel == first.kernel);
  CHECK(kernel_of(result).at("execution_count") == 2);
}

TEST_CASE("a spawn whose answer does not come is a failed start, and what came to be there is ended") {
  embedded<by_script> setup(keys{{"fallback", "error"}});
  auto& far = *setup.far.environment;
  setup.run("other", "1 + 1");
  far.set_mood(mood::cuts_answers_short);

  CHECK_THROWS_AS(setup.run("main", "1 + 1"), failure);
  far.set_mood(mood::well);

  CHECK(setup.kernels_there().size() == 1);
  CHECK(comes_true([&] { return far.living() == 1; }));
}

TEST_CASE("a session that is closed while its kernel is being started there leaves none") {
  embedded<by_script> setup;
  auto& far = *setup.far.environment;
  setup.run("other", "1 + 1");
  auto const spawns = far.count("spawn");
  far.set_mood(mood::holds_spawns);
  auto session = setup.open("main");
  auto waiting = session.run_async("1 + 1", {.environment = "far"});
  REQUIRE(comes_true([&] { return far.count("spawn") > spawns; }));

  auto closing = std::async(std::launch::async, [&] { session.close(); });
  CHECK_THROWS_AS(waiting.get(), failure);
  far.set_mood(mood::well);
  closing.get();

  CHECK(setup.kernels_there().size() == 1);
  CHECK(comes_true([&] { return far.living() == 1; }));
}

struct by_hasty_shell : by_shell {
  by_hasty_shell() { environment->longest = 6s; }
};

TEST_CASE("a cell may take longer than a command may") {
  embedded<by_hasty_shell> setup;
  auto const first = setup.run("main", "import time");
  auto const carries = setup.far.environment->count("carry");

  auto const result = setup.run("main", "time.sleep(7)\n'slept'");

  CHECK(result.value == "'slept'");
  CHECK(result.kernel == first.kernel);
  CHECK(setup.far.environment->count("carry") > carries + 1);
}

TEST_CASE("an interpreter that is not there is named") {
  embedded<by_shell> setup(keys{{"fallback", "error"}});

  try {
    setup.run("main", "1 + 1", {.python = "python-of-nobody"});
    FAIL("it ran");
  } catch (failure const& problem) {
    CHECK(problem.code() == 1007);
    CHECK(std::string(problem.what()).find("python-of-nobody") != std::string::npos);
  }
}

TEST_CASE("the end of a gateway does not wait for a command that waits for a cell") {
  embedded<by_script> setup;
  setup.run("main", "1 + 1");
  auto const carries = setup.far.environment->count("carry");
  setup.run("main", by_script::wait(), {.cell = "slow", .wait = 1ms});
  REQUIRE(comes_true([&] { return setup.far.environment->count("carry") > carries; }));

  auto const begun = std::chrono::steady_clock::now();
  setup.running->stop(kernels::keep);

  CHECK(std::chrono::steady_clock::now() - begun < 10s);
  setup.far.release();
  setup.restart();
  CHECK(setup.open("main").cell_wait("slow").status == "ok");
}

TEST_CASE("nothing is left there of a session that was closed") {
  embedded<by_shell> setup;
  setup.run("main", "1 + 1");
  auto const far = setup.far.environment->place() / "far";
  auto const directories = [&] {
    std::size_t count = 0;
    for (auto const& home : std::filesystem::directory_iterator(far))
      if (std::filesystem::exists(home.path() / "run"))
        for (auto const& each : std::filesystem::directory_iterator(home.path() / "run")) count += each.exists() ? 1 : 0;
    return count;
  };
  REQUIRE(directories() == 1);

  setup.open("main").close();

  CHECK(comes_true([&] { return directories() == 0; }));
}

TEST_CASE("a namespace is saved there and restored there") {
  embedded<by_shell> setup;
  auto const first = setup.run("main", "x = 41");
  setup.running->call("kernel.stop", R"({"kernel":")" + first.kernel + "\"}");

  auto const second = setup.run("main", "x + 1");

  CHECK(second.value == "42");
  CHECK(second.kernel != first.kernel);
  CHECK(kernel_of(second).at("restored") == true);
}

TEST_CASE("a kernel that was saved and could not be ended there before its gateway was gone is ended by the next one") {
  embedded<by_shell> setup;
  auto const first = setup.run("main", "x = 41");
  auto const pid = static_cast<pid_t>(setup.only_pid());
  auto& far = *setup.far.environment;
  far.look_at([&](auto const& what) {
    if (what.input.find("\"shutdown\"") != std::string::npos) far.cut_off(true);
  });
  auto stopping = std::async(std::launch::async, [&] {
    try {
      setup.running->call("kernel.stop", R"({"kernel":")" + first.kernel + "\"}");
    } catch (failure const&) {  // the gateway is gone before the kernel is
    }
  });
  auto const is_saved = [&] {
    return setup.running->call("session.get", R"({"owner":"ada","session":"main"})").find("\"hibernated\"") != std::string::npos;
  };
  REQUIRE(comes_true(is_saved));
  setup.running->stop(kernels::keep);
  stopping.get();
  REQUIRE(::kill(pid, 0) == 0);

  far.look_at({});
  far.cut_off(false);
  setup.restart();
  auto const second = setup.run("main", "x + 1");

  CHECK(second.value == "42");
  CHECK(comes_true([&] { return ::kill(pid, 0) != 0; }));
}

TEST_CASE("a kernel that ended there at its grace, with no gateway, has left its namespace") {
  embedded<by_shell> setup(keys{{"grace_seconds", "1"}});
  auto const first = setup.run("main", "x = 41");
  auto const pid = static_cast<pid_t>(setup.only_pid());

  setup.running.reset();
  REQUIRE(comes_true([&] { return ::kill(pid, 0) != 0; }));
  setup.restart();
  auto const second = setup.run("main", "x + 1");

  CHECK(second.value == "42");
  CHECK(second.kernel != first.kernel);
  CHECK(kernel_of(second).at("restored") == true);
}

TEST_CASE("of a job there that has outlived its kernel and of which nothing is found, nobody says that it was stopped") {
  embedded<by_shell> setup;
  // Without its variables nothing tells the process from others.
  auto const started = setup.run("main", "job = run('env', '-i', 'sleep', '600', keep=True)\nprint(job.pid)\njob.id");
  REQUIRE(started.value);
  auto const job = started.value->substr(1, started.value->size() - 2);
  auto const pid = static_cast<pid_t>(std::stoi(started.stdout_text));
  ::kill(static_cast<pid_t>(setup.only_pid()), SIGKILL);
  setup.run("main", "1 + 1");
  REQUIRE(::kill(pid, 0) == 0);
  auto const stop = [&] { return boost::json::parse(setup.running->call("job.stop", R"({"job":")" + job + "\"}")).at("state"); };

  CHECK(stop() == "running");

  ::kill(pid, SIGKILL);
  CHECK(comes_true([&] { return stop() == "lost"; }));
}

TEST_CASE("a session whose kernel is elsewhere is not forked, and told why") {
  embedded<by_script> setup;
  setup.run("main", "1 + 1");

  try {
    setup.running->call("session.fork", R"({"owner":"ada","session":"main","into":"copy"})");
    FAIL("it was forked");
  } catch (failure const& problem) {
    CHECK(problem.kind() == "cannot_fork");
    CHECK(std::string(problem.what()).find("far") != std::string::npos);
  }
}

TEST_CASE("the program is brought once, however many ask for it at once") {
  embedded<by_shell> setup;
  std::vector<std::future<cell_result>> all;
  for (auto each = 0; each < 4; ++each)
    all.push_back(setup.open("s" + std::to_string(each)).run_async("1 + 1", {.environment = "far"}));

  for (auto& each : all) CHECK(each.get().value == "2");

  CHECK(setup.far.environment->count("stage") == 1);
  CHECK(setup.kernels_there().size() == 4);
}

TEST_CASE("neither code nor token is in a command's words") {
  std::vector<std::string> lines;  // longer than the commands that write to it
  std::mutex mutex;
  embedded<by_shell> setup;
  setup.far.environment->look_at([&](exec_environment::command const& what) {
    std::lock_guard const lock(mutex);
    lines.push_back(what.shell_line());
  });

  setup.run("main", "secret_of_mine = 5");

  std::lock_guard const lock(mutex);
  REQUIRE_FALSE(lines.empty());
  for (auto const& line : lines) {
    CHECK(line == lines.front());
    CHECK(line.find("secret_of_mine") == std::string::npos);
  }
}

TEST_CASE("much output arrives whole, though each command brings only so much of it") {
  embedded<by_shell> setup;
  setup.run("main", "1 + 1");

  auto const result = setup.run("main", "for i in range(60000): print('%059d' % i)");

  CHECK(result.status == "ok");
  CHECK(boost::json::parse(result.json).at("stdout_bytes") == 3600000);
}

TEST_CASE("what a cell of minutes prints is shown while it runs") {
  embedded<by_shell> setup;
  setup.run("main", "1 + 1");
  std::promise<std::string> shown;
  std::atomic<bool> is_first{true};
  run_options options;
  options.environment = "far";
  options.on_output = [&](std::string_view, std::string_view text, std::uint64_t) {
    if (is_first.exchange(false)) shown.set_value(std::string(text));
  };

  auto waiting = setup.open("main").run_async(std::string("print('early', flush=True)\n") + by_shell::wait(), options);
  auto seen = shown.get_future();

  CHECK(seen.wait_for(20s) == std::future_status::ready);
  CHECK(seen.get() == "early\n");
  setup.far.release();
  CHECK(waiting.get().status == "ok");
}

}  // namespace
}  // namespace holdfast::test
