// The embedding API over a fake core.
#include <catch2/catch.hpp>

#include <atomic>
#include <set>
#include <thread>

#include "actors/front/gateway_parts.hpp"
#include "tests/front/fake_core.hpp"
#include "tests/front/served.hpp"

namespace holdfast::front {
namespace {

using namespace std::chrono_literals;

struct embedded {
  test::temporary_directory home;
  std::shared_ptr<fake_core> core = std::make_shared<fake_core>();

  std::unique_ptr<gateway::parts> parts(bool listen = false) {
    auto made = std::make_unique<gateway::parts>();
    made->configuration.home = home.path();
    made->configuration.listen = listen;
    made->start_core = [core = core](caf::actor_system&, holdfast::config const&) -> result<core_handle> { return core; };
    return made;
  }
};

TEST_CASE("an embedded cell gives its result") {
  embedded setup;
  gateway gateway(setup.parts());
  gateway.start();

  auto const result =
      gateway.open_session("ada", "", "main").run("x + 1", {.cell = "c", .timeout = 5s, .wait = 100ms, .text_limit = 500});

  CHECK(result.is_ok());
  CHECK(result.is_final);
  CHECK(result.cell == "c");
  CHECK(result.value == "x + 1");
  CHECK(result.stdout_text == "out");
  CHECK(result.kernel == "k-1");
  CHECK(result.notices == std::vector<std::string>{"gone"});
  CHECK(result.duration == 3ms);
  CHECK(result.json.find("\"owner\":\"ada\"") != std::string::npos);
  CHECK(setup.core->last_run()->timeout_ms == 5000);
  CHECK(setup.core->last_run()->wait_ms == 100);
  CHECK(setup.core->last_run()->text_limit == 500);
  CHECK(result.text == "[cell ended]");
}

TEST_CASE("a refusal is a failure with its code and kind") {
  embedded setup;
  gateway gateway(setup.parts());
  gateway.start();
  auto session = gateway.open_session();

  try {
    session.run("refuse");
    FAIL("not refused");
  } catch (failure const& problem) {
    CHECK(problem.code() == 1006);
    CHECK(problem.kind() == "queue_full");
    CHECK(problem.may_retry());
  }
  CHECK_THROWS_AS(session.run(std::string(2 << 20, 'x')), failure);
  CHECK_THROWS_AS(session.run_async("refuse").get(), failure);
  CHECK_THROWS_AS(gateway.call("no.such"), failure);
  CHECK_THROWS_AS(gateway.call("status", "[1]"), failure);
}

TEST_CASE("cells run from many threads at once, each with its own result") {
  embedded setup;
  gateway gateway(setup.parts());
  gateway.start();
  std::atomic<int> right{0};
  std::vector<std::thread> threads;

  for (int number = 0; number < 8; ++number)
    threads.emplace_back([&, number] {
      auto session = gateway.open_session("ada", "", "s" + std::to_string(number));
      for (int i = 0; i < 50; ++i)
        right += session.run(std::to_string(number * 1000 + i)).value == std::to_string(number * 1000 + i);
    });
  for (auto& each : threads) each.join();

  CHECK(right == 400);
}

TEST_CASE("all output comes before the result, on the one callback thread") {
  embedded setup;
  gateway gateway(setup.parts());
  gateway.start();
  std::set<std::thread::id> threads;
  std::string text;

  auto const result = gateway.open_session().run(
      "stream 50 10", {.on_output = [&](std::string_view stream, std::string_view piece, std::uint64_t offset) {
        CHECK(stream == "stdout");
        CHECK(offset == text.size());
        text += piece;
        threads.insert(std::this_thread::get_id());
      }});

  CHECK(result.is_ok());
  CHECK(text == std::string(500, 'x'));
  CHECK(threads.size() == 1);
  CHECK(threads.count(std::this_thread::get_id()) == 0);
}

TEST_CASE("events and notices reach their callbacks, which may call the gateway and throw") {
  embedded setup;
  gateway gateway(setup.parts());
  std::promise<notice> told;
  std::promise<std::string> asked;
  gateway.on_event([&](event const& happened) {
    asked.set_value(happened.kind + " " + gateway.call("status"));
    throw std::runtime_error("a callback that fails");
  });
  gateway.on_notice([&](notice const& each) { told.set_value(each); });
  gateway.start();

  gateway.open_session().run("notice");

  CHECK(asked.get_future().get() == "notice {\"pid\":1}");
}

TEST_CASE("notices alone can be heard") {
  embedded setup;
  gateway gateway(setup.parts());
  std::promise<notice> told;
  gateway.on_notice([&](notice const& each) { told.set_value(each); });
  gateway.start();

  gateway.open_session().run("notice");

  auto const heard = told.get_future().get();
  CHECK(heard.id == "n-1");
  CHECK(heard.kind == "state_lost");
  CHECK(heard.owner == "ada");
  CHECK(heard.session == "s");
  CHECK(heard.text == "gone");
}

TEST_CASE("after stop every call fails, also one that waits") {
  embedded setup;
  gateway gateway(setup.parts());
  CHECK_THROWS_AS(gateway.open_session().run("1"), failure);  // not started
  gateway.start();
  CHECK_THROWS_AS(gateway.start(), failure);
  auto waiting = gateway.open_session().run_async("hold");

  gateway.stop();
  gateway.stop(kernels::end);

  CHECK_THROWS_AS(gateway.open_session().run("1"), failure);
  CHECK_THROWS_AS(gateway.open_session().run_async("1").get(), failure);
  CHECK_THROWS_AS(waiting.get(), failure);
}

TEST_CASE("an embedded gateway can serve clients, and a client's shutdown ends it") {
  embedded setup;
  gateway gateway(setup.parts(true));
  gateway.start();
  auto client = client::connect(setup.home / "holdfast.sock", long_enough);
  REQUIRE(client);
  CHECK(client->call("run", {{"code", "1"}}, long_enough)->at("value").as_string() == "1");

  CHECK(client->call("shutdown", {}, long_enough));
  CHECK_FALSE(client->receive(long_enough));

  CHECK_THROWS_AS(gateway.open_session().run("1"), failure);
}

TEST_CASE("a setting that is unknown or bad is refused and named") {
  test::temporary_directory home;
  for (auto const& [key, value] : {std::pair<std::string, std::string>{"no_such_key", "1"}, {"grace_seconds", "soon"}}) {
    gateway gateway({.home = home.path(), .python = "", .settings = {{key, value}}, .listen = false});
    try {
      gateway.start();
      FAIL("not refused: " << key);
    } catch (failure const& problem) {
      CHECK(problem.kind() == "invalid_params");
      std::string upper;
      for (char c : key) upper += static_cast<char>(std::toupper(c));
      std::string const message = problem.what();
      CHECK((message.find(key) != std::string::npos || message.find(upper) != std::string::npos));
    }
  }
}

TEST_CASE("cost of an embedded call", "[.cost]") {
  embedded setup;
  gateway gateway(setup.parts());
  gateway.start();
  auto session = gateway.open_session();
  constexpr int rounds = 20'000;
  auto const begin = std::chrono::steady_clock::now();
  for (int i = 0; i < rounds; ++i) session.run("1");
  std::chrono::duration<double, std::micro> const took = std::chrono::steady_clock::now() - begin;
  WARN("a call takes " << took.count() / rounds << " us");
}

}  // namespace
}  // namespace holdfast::front
