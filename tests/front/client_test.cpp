// The blocking client: every wait ends, and what went wrong is told apart.
#include <thread>

#include <boost/json/serialize.hpp>

#include "tests/front/served.hpp"

namespace holdfast::front {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

TEST_CASE("nobody listening is unreachable and closed") {
  test::temporary_directory home;

  auto const connected = client::connect(home / "holdfast.sock", 1s);

  REQUIRE_FALSE(connected);
  CHECK(connected.error().code == error_code::unreachable);
  CHECK(connected.error().data.at("closed").as_bool());
}

TEST_CASE("a listener that accepts nothing is a timeout") {
  test::temporary_directory home;
  auto const listener = listen_unix(home / "s", 0);
  REQUIRE(listener);
  std::vector<client> held;

  auto connected = client::connect(home / "s", 1s);
  for (int i = 0; connected && i < 10; ++i) {
    held.push_back(std::move(*connected));
    connected = client::connect(home / "s", 100ms);
  }

  REQUIRE_FALSE(connected);
  CHECK(connected.error().data.at("timeout").as_bool());
}

TEST_CASE("a call that is not answered in time is a timeout, and its late answer is no one else's") {
  served daemon;
  auto client = daemon.connect();

  auto const held = client.call("run", {{"code", "hold"}}, 50ms);
  REQUIRE_FALSE(held);
  CHECK(held.error().data.at("timeout").as_bool());
  auto const released = client.call("run", {{"code", "release"}}, long_enough);

  REQUIRE(released);
  CHECK(released->at("value").as_string() == "release");
  CHECK(client.receive(long_enough)->id == 1u);  // kept for who asks
}

TEST_CASE("the daemon's error comes back as that error") {
  served daemon;
  auto client = daemon.connect();

  auto const refused = client.call("run", {{"code", "refuse"}}, long_enough);

  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == error_code::queue_full);
  CHECK(refused.error().message == "64 cells wait");
  CHECK_FALSE(refused.error().data.contains("kind"));
}

TEST_CASE("the end of the daemon is told apart from silence") {
  served daemon;
  auto client = daemon.connect();
  CHECK(client.call("shutdown", {}, long_enough));

  auto const next = client.receive(long_enough);

  REQUIRE_FALSE(next);
  CHECK(next.error().data.at("closed").as_bool());
}

TEST_CASE("receive gives notifications in their order") {
  served daemon;
  auto client = daemon.connect();
  auto const id = client.send("run", {{"code", "stream 3 5"}, {"stream", true}});

  for (int seq = 1; seq <= 3; ++seq) {
    auto const next = client.receive(long_enough);
    REQUIRE(next);
    CHECK(next->method == "cell.stream");
    CHECK(next->params.at("seq").as_int64() == seq);
  }
  CHECK(client.receive(long_enough)->id == *id);
}

TEST_CASE("a request above 8 MiB is not sent") {
  served daemon;
  auto client = daemon.connect();

  CHECK(client.send("run", {{"code", std::string(std::size_t{9} << 20, 'x')}}).error().code == error_code::too_large);
  CHECK(client.call("status", {}, long_enough));
}

TEST_CASE("a peer that speaks something else is an error") {
  test::temporary_directory home;
  auto const listener = listen_unix(home / "s", 1);
  auto client = client::connect(home / "s", 1s);
  REQUIRE(client);
  unique_fd const peer(::accept(listener->get(), nullptr, nullptr));
  std::string_view const hello = "HTTP/1.1 400\n";
  REQUIRE(::send(peer.get(), hello.data(), hello.size(), 0) == ssize_t(hello.size()));

  CHECK(client->receive(long_enough).error().code == error_code::parse_error);
}

}  // namespace
}  // namespace holdfast::front
