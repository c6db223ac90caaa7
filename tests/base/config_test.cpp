#include "actors/base/config.hpp"

#include <stdlib.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "tests/support/forked.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace holdfast;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using test::temporary_directory;
using test::write_file;

namespace {

config must_load(temporary_directory const& home, environment_map const& environment = {}) {
  auto loaded = load_config(home.path(), environment);
  if (!loaded) FAIL(loaded.error().message);
  return *loaded;
}

std::string refusal(temporary_directory const& home, environment_map const& environment = {}) {
  auto const loaded = load_config(home.path(), environment);
  REQUIRE_FALSE(loaded);
  CHECK(loaded.error().code == error_code::invalid_params);
  return loaded.error().message;
}

}  // namespace

TEST_CASE("without a file and variables every setting has its default") {
  temporary_directory const home;

  auto const loaded = must_load(home);

  CHECK(loaded.home == home.path());
  CHECK(loaded.python == "python3");
  CHECK(loaded.cell_timeout == 300s);
  CHECK(loaded.background_after == 60s);
  CHECK(loaded.interrupt_grace == 2s);
  CHECK(loaded.grace == 3600s);
  CHECK(loaded.hello_deadline == 2s);
  CHECK(loaded.attach_budget == 71s);
  CHECK(loaded.admission_timeout == 30s);
  CHECK(loaded.keep_cells == 1000);
  CHECK(loaded.keep_cells_days == 7);
  CHECK(loaded.boot_slots == 4);
  CHECK(loaded.pass_env.empty());
  CHECK(loaded.preload.empty());
  CHECK_FALSE(loaded.strict_durability);
  CHECK(loaded.idle == 1800s);
  CHECK(loaded.max_kernels == 64);
  CHECK(loaded.max_kernels_hard == 0);
  CHECK(loaded.max_kernels_per_owner == 0);
  CHECK(loaded.max_memory_mb == 0);
  CHECK(loaded.fallback_per_call);
  CHECK(loaded.tools_module == "tools");
  CHECK(loaded.metrics_listen == "off");
  CHECK(loaded.time_scale == 1);
}

TEST_CASE("every key can be set in the file") {
  temporary_directory const home;
  write_file(home / "config.toml", R"(
cell_timeout_seconds = 1
background_after_seconds = 2
interrupt_grace_seconds = 0.5
grace_seconds = 3
hello_deadline_seconds = 4
attach_budget_seconds = 5
admission_timeout_seconds = 5
keep_cells = 6
keep_cells_days = 8
boot_slots = 9
python = "/opt/python"
pass_env = ["A_TOKEN", "B"]
preload = ["json"]
durability = "strict"
idle_seconds = 10
max_kernels = 11
max_kernels_hard = 12
max_kernels_per_owner = 13
max_memory_mb = 14
fallback = "error"
tools_module = "host"
metrics_listen = "127.0.0.1:9464"
)");

  auto const loaded = must_load(home);

  CHECK(loaded.cell_timeout == 1s);
  CHECK(loaded.background_after == 2s);
  CHECK(loaded.interrupt_grace == 500ms);
  CHECK(loaded.grace == 3s);
  CHECK(loaded.hello_deadline == 4s);
  CHECK(loaded.attach_budget == 5s);
  CHECK(loaded.admission_timeout == 5s);
  CHECK(loaded.keep_cells == 6);
  CHECK(loaded.keep_cells_days == 8);
  CHECK(loaded.boot_slots == 9);
  CHECK(loaded.python == "/opt/python");
  CHECK(loaded.pass_env == std::vector<std::string>{"A_TOKEN", "B"});
  CHECK(loaded.preload == std::vector<std::string>{"json"});
  CHECK(loaded.strict_durability);
  CHECK(loaded.idle == 10s);
  CHECK(loaded.max_kernels == 11);
  CHECK(loaded.max_kernels_hard == 12);
  CHECK(loaded.max_kernels_per_owner == 13);
  CHECK(loaded.max_memory_mb == 14);
  CHECK_FALSE(loaded.fallback_per_call);
  CHECK(loaded.tools_module == "host");
  CHECK(loaded.metrics_listen == "127.0.0.1:9464");
}

TEST_CASE("metrics are served on the loopback only") {
  temporary_directory const home;
  for (auto const* bad : {"0.0.0.0:9464", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:70000", "127.0.0.1:1x", "on", ""})
    CHECK_FALSE(load_config(home.path().string(), {{"HOLDFAST_METRICS_LISTEN", bad}}));
  for (auto const* good : {"127.0.0.1:1", "localhost:65535", "[::1]:9464", "off"})
    CHECK(load_config(home.path().string(), {{"HOLDFAST_METRICS_LISTEN", good}}));
}

TEST_CASE("the module of tools bears a name that can be imported") {
  temporary_directory const home;
  for (auto const* bad : {"", "1a", "a.b", "a-b", "a b", "ä"})
    CHECK_FALSE(load_config(home.path().string(), {{"HOLDFAST_TOOLS_MODULE", bad}}));
  CHECK(load_config(home.path().string(), {{"HOLDFAST_TOOLS_MODULE", "_host2"}}));
}

TEST_CASE("every key can be set by a variable") {
  temporary_directory const home;

  auto const loaded = must_load(home, {{"HOLDFAST_CELL_TIMEOUT_SECONDS", "1.5"},
                                       {"HOLDFAST_KEEP_CELLS", "6"},
                                       {"HOLDFAST_PYTHON", "python3.12"},
                                       {"HOLDFAST_PASS_ENV", "A_TOKEN,B"},
                                       {"HOLDFAST_PRELOAD", ""},
                                       {"HOLDFAST_DURABILITY", "strict"},
                                       {"HOLDFAST_TIME_SCALE", "50"},
                                       {"HOLDFAST_FAILPOINTS", "link.before_ack=kill"},
                                       {"HOLDFAST_FAILPOINT_LOG", "/tmp/fired"}});

  CHECK(loaded.cell_timeout == 1500ms);
  CHECK(loaded.keep_cells == 6);
  CHECK(loaded.python == "python3.12");
  CHECK(loaded.pass_env == std::vector<std::string>{"A_TOKEN", "B"});
  CHECK(loaded.preload.empty());
  CHECK(loaded.strict_durability);
  CHECK(loaded.time_scale == 50);
  CHECK(loaded.failpoints == "link.before_ack=kill");
  CHECK(loaded.failpoint_log == "/tmp/fired");
  CHECK(loaded.ignored_variables.empty());
}

TEST_CASE("a variable goes before the file") {
  temporary_directory const home;
  write_file(home / "config.toml", "keep_cells = 6\nboot_slots = 2\n");

  auto const loaded = must_load(home, {{"HOLDFAST_KEEP_CELLS", "7"}});

  CHECK(loaded.keep_cells == 7);
  CHECK(loaded.boot_slots == 2);
}

TEST_CASE("the home comes from the flag, else HOLDFAST_HOME, else the state directory") {
  environment_map environment{{"HOME", "/home/u"}};
  CHECK(load_config(std::nullopt, environment)->home == "/home/u/.local/state/holdfast");
  environment["XDG_STATE_HOME"] = "relative";
  CHECK(load_config(std::nullopt, environment)->home == "/home/u/.local/state/holdfast");
  environment["XDG_STATE_HOME"] = "/state";
  CHECK(load_config(std::nullopt, environment)->home == "/state/holdfast");
  environment["HOLDFAST_HOME"] = "/a/home/";
  CHECK(load_config(std::nullopt, environment)->home == "/a/home");
  CHECK(load_config("/flag/../other", environment)->home == "/other");
  CHECK(load_config("here", environment)->home == std::filesystem::current_path() / "here");

  CHECK_THAT(load_config(std::nullopt, {}).error().message, Contains("HOLDFAST_HOME"));
}

TEST_CASE("an unknown key is refused with file, line and key") {
  temporary_directory const home;
  write_file(home / "config.toml", "# comment\nkeep_cells = 6\nkeep_sells = 6\n");

  CHECK(refusal(home) == (home / "config.toml").string() + ", line 3: unknown key keep_sells; correct its name or remove it");
}

TEST_CASE("a key that is not built is unknown") {
  for (auto const* line : {"calls_per_cell = 5", "[environment.box]\nkind = \"sandbox\""}) {
    temporary_directory const home;
    write_file(home / "config.toml", line);
    CHECK_THAT(refusal(home), Contains("line 1: unknown key"));
  }
}

TEST_CASE("a bad value in the file is refused with file, line, key and what was wanted") {
  struct {
    char const* line;
    char const* wanted;
  } const cases[] = {
      {"keep_cells = 0", "bad value for keep_cells: wanted a whole number from 1"},
      {"keep_cells = 1.5", "bad value for keep_cells"},
      {"keep_cells = true", "bad value for keep_cells"},
      {"keep_cells = 99999999999999", "bad value for keep_cells"},
      {"keep_cells = [1]", "bad value for keep_cells: it has the wrong type"},
      {"grace_seconds = -1", "bad value for grace_seconds: wanted a number of seconds"},
      {"grace_seconds = nan", "bad value for grace_seconds"},
      {"grace_seconds = inf", "bad value for grace_seconds"},
      {"hello_deadline_seconds = 0", "bad value for hello_deadline_seconds"},
      {"durability = \"maybe\"", "bad value for durability: wanted relaxed or strict"},
      {"python = \"\"", "bad value for python"},
      {"python = 3", "bad value for python"},
      {"pass_env = [\"A=B\"]", "bad value for pass_env"},
      {"pass_env = [\"\"]", "bad value for pass_env"},
      {"pass_env = [1]", "bad value for pass_env"},
      {"preload = {a = 1}", "bad value for preload"},
  };
  for (auto const& one : cases) {
    temporary_directory const home;
    write_file(home / "config.toml", std::string("\n") + one.line + "\n");
    INFO(one.line);
    auto const message = refusal(home);
    CHECK_THAT(message, Contains("config.toml, line 2: "));
    CHECK_THAT(message, Contains(one.wanted));
  }
}

TEST_CASE("a file that is not TOML is refused with its line") {
  temporary_directory const home;
  write_file(home / "config.toml", "keep_cells = 6\nkeep_cells_days = = 7\n");

  CHECK_THAT(refusal(home), Contains("config.toml, line 2: "));
}

TEST_CASE("a key that is given twice is refused") {
  temporary_directory const home;
  write_file(home / "config.toml", "keep_cells = 6\nkeep_cells = 7\n");

  CHECK_THAT(refusal(home), Contains("config.toml, line 2: "));
}

TEST_CASE("a config.toml that cannot be read is refused, not skipped") {
  temporary_directory const home;
  std::filesystem::create_directory(home / "config.toml");
  CHECK_THAT(refusal(home), Contains("cannot read"));

  temporary_directory const closed;
  write_file(closed / "config.toml", "");
  ::chmod((closed / "config.toml").c_str(), 0);
  ::chmod(closed.path().c_str(), 0755);
  CHECK(test::as_nobody([&] { return load_config(closed.path(), {}) ? 1 : 0; }) == 0);
}

TEST_CASE("a bad variable is refused by its name") {
  temporary_directory const home;
  CHECK_THAT(refusal(home, {{"HOLDFAST_KEEP_CELLS", "many"}}), Contains("bad value \"many\" for HOLDFAST_KEEP_CELLS: wanted"));
  CHECK_THAT(refusal(home, {{"HOLDFAST_KEEP_CELLS", ""}}), Contains("HOLDFAST_KEEP_CELLS"));
  CHECK_THAT(refusal(home, {{"HOLDFAST_GRACE_SECONDS", "5s"}}), Contains("HOLDFAST_GRACE_SECONDS"));
  CHECK_THAT(refusal(home, {{"HOLDFAST_PASS_ENV", "A,,B"}}), Contains("HOLDFAST_PASS_ENV"));
  for (auto const* scale : {"0", "-1", "0.5", "nan", "inf", "1e9", "x", ""})
    CHECK_THAT(refusal(home, {{"HOLDFAST_TIME_SCALE", scale}}), Contains("HOLDFAST_TIME_SCALE"));
}

TEST_CASE("a variable that names nothing is reported and not refused") {
  temporary_directory const home;

  auto const loaded = must_load(home, {{"HOLDFAST_SERVICE_HOST", "10.0.0.1"}, {"HOLDFAST_KERNEL", "k-1"}, {"PATH", "/bin"}});

  CHECK(loaded.ignored_variables == std::vector<std::string>{"HOLDFAST_SERVICE_HOST"});
}

TEST_CASE("a scaled deadline never falls below 250 ms and never grows") {
  config settings;
  CHECK(settings.scaled(2s) == 2s);
  settings.time_scale = 4;
  CHECK(settings.scaled(2s) == 500ms);
  settings.time_scale = 100;
  CHECK(settings.scaled(2s) == 250ms);
  CHECK(settings.scaled(3600s) == 36s);
  CHECK(settings.scaled(100ms) == 100ms);
  CHECK(settings.scaled(0ms) == 0ms);
}

TEST_CASE("a scaled delay has no floor but a millisecond") {
  config settings;
  settings.time_scale = 100;
  CHECK(settings.scaled_delay(2s) == 20ms);
  CHECK(settings.scaled_delay(50ms) == 1ms);
  CHECK(settings.scaled_delay(0ms) == 0ms);
}

TEST_CASE("the environment is read as it is") {
  ::setenv("HOLDFAST_TEST_VALUE", "a=b", 1);
  CHECK(current_environment().at("HOLDFAST_TEST_VALUE") == "a=b");
  ::unsetenv("HOLDFAST_TEST_VALUE");
}
