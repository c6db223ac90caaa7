#include "actors/base/failpoints.hpp"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <set>

#include <catch2/catch.hpp>

#include "storage/failpoint_names.hpp"
#include "tests/support/forked.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace holdfast;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

/// What is armed is one for the process: none again after each test.
struct failpoint_guard {
  ~failpoint_guard() { disarm_failpoints(); }
};

void must_arm(std::string_view text, std::filesystem::path const& log = {}) {
  auto const armed = arm_failpoints(text, log);
  if (!armed) FAIL(armed.error().message);
}

}  // namespace

TEST_CASE("a failpoint that is not armed does nothing") {
  failpoint_guard const guard;
  CHECK_FALSE(failpoint(failpoint_id::link_before_ack));

  must_arm("link.after_ack=error");

  CHECK_FALSE(failpoint(failpoint_id::link_before_ack));
  CHECK(failpoint(failpoint_id::link_after_ack));
  disarm_failpoints();
  CHECK_FALSE(failpoint(failpoint_id::link_after_ack));
}

TEST_CASE("names are unique and cover the gateway and the stores") {
  auto const names = failpoint_names();
  std::set<std::string_view> const unique(names.begin(), names.end());

  CHECK(unique.size() == names.size());
  CHECK(unique.contains("core.before_reply"));
  for (auto const name : storage::failpoint::names) CHECK(unique.contains(name));
  CHECK(to_string(failpoint_id::core_after_hello) == "core.after_hello");
}

TEST_CASE("a chain of actions is gone through hit by hit") {
  failpoint_guard const guard;
  must_arm("core.before_reply=2*off->2*error->off");

  std::vector<bool> seen;
  for (int i = 0; i < 6; ++i) seen.push_back(failpoint(failpoint_id::core_before_reply));

  CHECK(seen == std::vector<bool>{false, false, true, true, false, false});
}

TEST_CASE("a counted action at the end is followed by nothing") {
  failpoint_guard const guard;
  must_arm("core.before_reply=1*error");

  CHECK(failpoint(failpoint_id::core_before_reply));
  CHECK_FALSE(failpoint(failpoint_id::core_before_reply));
}

TEST_CASE("a failpoint is hit by its name too, as the stores do") {
  failpoint_guard const guard;
  auto const name = storage::failpoint::names.front();
  must_arm(std::string(name) + "=error");

  CHECK(failpoint(name));
  CHECK_FALSE(failpoint("storage.no_such_step"));
}

TEST_CASE("a delay holds the step up and lets it succeed") {
  failpoint_guard const guard;
  must_arm("core.before_reply=delay(50)");
  auto const before = std::chrono::steady_clock::now();

  CHECK_FALSE(failpoint(failpoint_id::core_before_reply));
  CHECK(std::chrono::steady_clock::now() - before >= 50ms);
}

TEST_CASE("kill is SIGKILL to this process, with the name in the log before") {
  test::temporary_directory const directory;
  test::forked child([&] {
    if (!arm_failpoints("link.before_ack=2*off->kill;core.before_reply=error", directory / "fired")) return 1;
    failpoint(failpoint_id::core_before_reply);
    failpoint(failpoint_id::link_before_ack);
    failpoint(failpoint_id::link_before_ack);
    failpoint(failpoint_id::link_before_ack);
    return 2;
  });

  CHECK(child.exit_code() == -SIGKILL);
  CHECK(test::read_file(directory / "fired") == "core.before_reply\nlink.before_ack\n");
}

TEST_CASE("the program's failpoints are let through, and do not arm the gateway's") {
  failpoint_guard const guard;
  must_arm("kernel.after_started=kill;nursery.before_reap=3*off->delay(5)");

  CHECK_FALSE(failpoint("kernel.after_started"));
  CHECK(parse_failpoints("kernel.x=off")->front() == failpoint_plan{"kernel.x", {{failpoint_action::off, std::nullopt, 0ms}}});
}

TEST_CASE("a text is parsed into its plans") {
  auto const plans = parse_failpoints("link.before_ack=3*off->kill;;core.after_hello=delay(50)");

  REQUIRE(plans);
  REQUIRE(plans->size() == 2);
  CHECK(plans->at(0).steps ==
        std::vector<failpoint_step>{{failpoint_action::off, 3, 0ms}, {failpoint_action::kill, std::nullopt, 0ms}});
  CHECK(plans->at(1).steps == std::vector<failpoint_step>{{failpoint_action::delay, std::nullopt, 50ms}});
  CHECK(parse_failpoints("")->empty());
}

TEST_CASE("a text that is wrong is refused whole, naming the wrong piece") {
  failpoint_guard const guard;
  must_arm("core.before_reply=error");
  for (auto const* text :
       {"no.such.step=kill", "link.before_ack", "link.before_ack=", "link.before_ack=boom", "link.before_ack=0*kill",
        "link.before_ack=x*kill", "link.before_ack=*kill", "link.before_ack=delay", "link.before_ack=delay()",
        "link.before_ack=delay(-1)", "link.before_ack=delay(99999999999)", "link.before_ack=kill->off", "link.before_ack=1*off->",
        "=kill", "kernel.x=boom", "link.before_ack=off;x=kill"}) {
    INFO(text);
    auto const armed = arm_failpoints(text);
    REQUIRE_FALSE(armed);
    CHECK(armed.error().code == error_code::invalid_params);
    CHECK_THAT(armed.error().message, Contains("bad failpoint \""));
  }
  CHECK(failpoint(failpoint_id::core_before_reply));
}

TEST_CASE("a failpoint log that cannot be opened is refused") {
  failpoint_guard const guard;
  CHECK_FALSE(arm_failpoints("link.before_ack=error", "/no/such/directory/log"));
  CHECK_FALSE(failpoint(failpoint_id::link_before_ack));
}
