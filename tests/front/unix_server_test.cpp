// The server over real sockets: what broken and hostile clients do is bounded, and nobody else feels it.
#include <sys/resource.h>
#include <sys/stat.h>

#include <boost/json/parse.hpp>

#include "tests/front/served.hpp"

namespace holdfast::front {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

std::int64_t error_of(std::string const& line) { return json::parse(line).at("error").at("code").as_int64(); }

/// A client whose cell streams 200 numbered notifications gets every one of them, then its answer.
void check_stream_without_gap(client& other) {
  std::int64_t next = 1, dropped = 0;
  auto const answered =
      other.call("run", {{"code", "stream 200 100"}, {"stream", true}}, long_enough, [&](auto method, json::object const& params) {
        CHECK(method == "cell.stream");
        CHECK(params.at("seq").as_int64() == next++);
        dropped += params.at("dropped_bytes").as_int64();
      });
  REQUIRE(answered);
  CHECK(next == 201);
  CHECK(dropped == 0);
}

TEST_CASE("the socket is for its own user only") {
  served daemon;
  struct stat found {};

  REQUIRE(::stat(daemon.socket().c_str(), &found) == 0);

  CHECK((found.st_mode & 0777) == 0600);
}

TEST_CASE("a request is checked, routed and answered under its id") {
  served daemon;
  auto client = daemon.connect();

  auto const answered = client.call("run", {{"code", "1"}, {"session", "s"}}, long_enough);

  REQUIRE(answered);
  CHECK(answered->at("value").as_string() == "1");
  CHECK(daemon.core->last_run()->timeout_ms == 123'000);  // the user's default, as none was given
  CHECK(daemon.core->last_run()->background_after_ms == 45'000);
}

TEST_CASE("requests run side by side and are answered when ready") {
  served daemon;
  auto client = daemon.connect();
  auto const held = *client.send("run", {{"code", "hold"}});
  auto const quick = *client.send("run", {{"code", "1"}});

  CHECK(client.receive(long_enough)->id == quick);
  client.send("run", {{"code", "release"}});

  CHECK(client.receive(long_enough)->id == held);
}

TEST_CASE("the core's error reaches the client with its kind") {
  served daemon;
  raw_connection client(daemon.socket());

  client.request(R"({"code":"refuse"})");

  auto const problem = json::parse(client.read_line()).at("error");
  CHECK(problem.at("code").as_int64() == 1006);
  CHECK(problem.at("data").at("kind").as_string() == "queue_full");
}

TEST_CASE("garbage is answered and the connection goes on") {
  served daemon;
  raw_connection client(daemon.socket());

  for (std::string line : {std::string("garbage"), std::string("\x00\xff", 2), std::string(10'000, '['), std::string(),
                           std::string("[]"), std::string("{}")}) {
    client.send(line + "\n");
    CHECK(error_of(client.read_line()) < 0);
  }
  client.request("{}", 5, "no.such");
  CHECK(error_of(client.read_line()) == -32601);
  client.request("{}", 6, "status");
  CHECK(json::parse(client.read_line()).at("id").as_int64() == 6);
}

TEST_CASE("rpc.discover is answered without the core") {
  served daemon;
  auto client = daemon.connect();

  CHECK(client.call("rpc.discover", {}, long_enough)->at("protocol").as_string() == "1.0");
  CHECK(daemon.core->calls == 0);
}

TEST_CASE("a line above 8 MiB is refused once, skipped, and the next one is served") {
  served daemon;
  raw_connection client(daemon.socket());
  auto other = daemon.connect();

  client.send(R"({"jsonrpc":"2.0","id":1,"method":"run","params":{"code":")" + std::string(std::size_t{20} << 20, 'x'));
  check_stream_without_gap(other);
  client.send("\"}}\n");
  client.request("{}", 2, "status");

  CHECK(error_of(client.read_line()) == 1009);
  CHECK(json::parse(client.read_line()).at("id").as_int64() == 2);
}

TEST_CASE("300 clients with half a line are closed in time, and another one is served meanwhile") {
  served daemon({.line_deadline = 500ms});
  std::vector<std::unique_ptr<raw_connection>> halves;
  for (int i = 0; i < 300; ++i) halves.push_back(std::make_unique<raw_connection>(daemon.socket()));
  for (auto& each : halves) each->send("{\"jsonrpc\":");
  auto other = daemon.connect();

  check_stream_without_gap(other);
  for (auto& each : halves) CHECK(each->is_closed());

  CHECK(other.call("status", {}, long_enough));  // silent for as long, but with no line begun
}

TEST_CASE("a line that trickles is closed as well") {
  served daemon({.line_deadline = 300ms});
  raw_connection client(daemon.socket());

  auto const until = std::chrono::steady_clock::now() + long_enough;
  while (client.send("x") && std::chrono::steady_clock::now() < until) {
  }

  CHECK(client.is_closed());
}

TEST_CASE("a client that does not read loses stream notifications, is told, and another one's stream has no gap") {
  served daemon;
  raw_connection slow(daemon.socket());
  auto other = daemon.connect();

  slow.request(R"({"code":"stream 800 65536","stream":true})");
  slow.request("{}", 2, "status");
  check_stream_without_gap(other);
  // It begins to read: what was kept, then the answers; 50 MiB cannot have been.
  std::int64_t received = 0, dropped = 0;
  for (int answers = 0; answers < 2;) {
    auto const line = json::parse(slow.read_line()).as_object();
    if (line.contains("id")) {
      ++answers;
      continue;
    }
    received += static_cast<std::int64_t>(line.at("params").at("text").as_string().size());
    dropped += line.at("params").at("dropped_bytes").as_int64();
  }
  CHECK(received < 800 * 65'536 / 2);
  CHECK(received >= std::int64_t(defaults::client_stream_limit) / 2);

  slow.request(R"({"code":"stream 1 10","stream":true})", 3);
  dropped += json::parse(slow.read_line()).at("params").at("dropped_bytes").as_int64();
  CHECK(received + dropped == 800 * 65'536);
}

TEST_CASE("a client with more than 64 MiB unread loses its connection, and another one is served") {
  served daemon;
  raw_connection slow(daemon.socket());
  auto other = daemon.connect();

  for (int i = 0; i < 5; ++i) slow.request(R"({"code":"big 20000000"})", i);
  slow.request(R"({"code":"hold"})");
  check_stream_without_gap(other);

  CHECK(slow.read_to_end() < std::size_t{64} << 20);
}

TEST_CASE("an answer of 30 MiB arrives whole") {
  served daemon;
  auto client = daemon.connect();

  auto const answered = client.call("run", {{"code", "big 30000000"}}, long_enough);

  REQUIRE(answered);
  CHECK(answered->as_string() == std::string(30'000'000, 'x'));
}

TEST_CASE("open requests of a connection are bounded") {
  served daemon({.max_open_requests = 3});
  raw_connection client(daemon.socket());

  for (int id = 1; id <= 4; ++id) client.request(R"({"code":"hold"})", id);

  auto const refused = client.read_line();
  CHECK(error_of(refused) == 1004);
  CHECK(json::parse(refused).at("id").as_int64() == 4);
}

TEST_CASE("over the limit of connections the one silent for longest without an open request is closed") {
  served daemon({.max_connections = 3});
  raw_connection waiting(daemon.socket());
  waiting.request(R"({"code":"hold"})");
  raw_connection silent(daemon.socket());
  silent.request("{}", 1, "status");
  silent.read_line();
  raw_connection busy(daemon.socket());
  busy.request("{}", 1, "status");
  busy.read_line();

  raw_connection newest(daemon.socket());
  newest.request("{}", 1, "status");

  CHECK_FALSE(newest.read_line().empty());
  CHECK(silent.is_closed());
  busy.request(R"({"code":"release"})", 2);
  CHECK_FALSE(busy.read_line().empty());
  CHECK_FALSE(waiting.read_line().empty());
}

TEST_CASE("when every connection waits for an answer a new one is refused") {
  served daemon({.max_connections = 2});
  raw_connection first(daemon.socket()), second(daemon.socket());
  for (auto* each : {&first, &second}) {
    each->request(R"({"code":"hold"})", 1);
    each->request("{}", 2, "status");
    each->read_line();
  }

  raw_connection third(daemon.socket());

  CHECK(third.is_closed());
}

TEST_CASE("a client that goes away is reported to the core, with its requests still open") {
  served daemon;
  auto other = daemon.connect();
  {
    raw_connection client(daemon.socket());
    client.request(R"({"code":"hold"})", 1);
    client.request("{}", 2, "status");
    client.read_line();
  }

  while (daemon.core->closed_connections == 0) REQUIRE(other.call("status", {}, long_enough));

  CHECK(daemon.core->closed_connections == 1);
  CHECK(other.call("run", {{"code", "release"}}, long_enough));  // the answer to nobody is dropped
}

TEST_CASE("near the limit of descriptors the acceptor pauses, and goes on when some are free again") {
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit const low{700, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &low) == 0);  // 444 for connections, of which each takes two in this process
  {
    served daemon;
    auto first = daemon.connect();
    std::vector<std::unique_ptr<raw_connection>> many;
    for (int i = 0; i < 210; ++i) many.push_back(std::make_unique<raw_connection>(daemon.socket()));
    for (int i = 0; i < 40; ++i) many.push_back(std::make_unique<raw_connection>(daemon.socket()));  // into the backlog
    CHECK(first.call("status", {}, long_enough));

    many.erase(many.begin(), many.begin() + 200);
    many.back()->request("{}", 1, "status");

    CHECK_FALSE(many.back()->read_line().empty());
  }
  ::setrlimit(RLIMIT_NOFILE, &before);
}

TEST_CASE("a shutdown is answered, connections are closed and the socket file is gone") {
  served daemon;
  auto asking = daemon.connect();
  raw_connection idle(daemon.socket());
  idle.request("{}", 1, "status");
  idle.read_line();

  CHECK(asking.call("shutdown", {}, long_enough)->at("kernels_left").as_int64() == 0);

  CHECK(idle.is_closed());
  caf::scoped_actor(daemon.system())->wait_for(daemon.server);
  CHECK_FALSE(std::filesystem::exists(daemon.socket()));
}

TEST_CASE("a shutdown does not wait for long for a client that does not read") {
  served daemon({.farewell = 200ms});
  raw_connection slow(daemon.socket());
  slow.request(R"({"code":"big 20000000"})");
  auto asking = daemon.connect();

  CHECK(asking.call("shutdown", {}, long_enough));
  caf::scoped_actor(daemon.system())->wait_for(daemon.server);

  CHECK(slow.read_to_end() < 20'000'000);
}

TEST_CASE("a second server at the same socket is refused") {
  served daemon;
  server_options options;
  options.socket = daemon.socket();
  options.core = daemon.core;

  auto const second = start_unix_server(daemon.system(), options);

  REQUIRE_FALSE(second);
  CHECK(second.error().code == error_code::busy);
}

TEST_CASE("cost of a round trip through the server", "[.cost]") {
  served daemon;
  auto client = daemon.connect();
  constexpr int rounds = 20'000;
  auto const begin = std::chrono::steady_clock::now();
  for (int i = 0; i < rounds; ++i) REQUIRE(client.call("run", {{"code", "1"}}, long_enough));
  std::chrono::duration<double, std::micro> const took = std::chrono::steady_clock::now() - begin;
  WARN("a round trip takes " << took.count() / rounds << " us");
}

}  // namespace
}  // namespace holdfast::front
