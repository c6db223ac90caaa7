#include "actors/base/attended_process.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string_view>
#include <thread>

#include <catch2/catch.hpp>

#include "actors/base/identity.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace holdfast;
using namespace std::chrono_literals;
using test::temporary_directory;

namespace {

attended_process must_start(std::string const& script) {
  auto started = attended_process::start({{"sh", "-c", script}, {{"PATH", "/usr/bin:/bin"}}, "/"});
  if (!started) FAIL(started.error().message);
  return std::move(*started);
}

/// All of it, to its end; the process must close it.
std::string read_to_end(int fd) {
  std::string text;
  std::array<char, 256> buffer{};
  for (;;) {
    pollfd watched{fd, POLLIN, 0};
    if (::poll(&watched, 1, 10'000) != 1) return text + "[nothing more came in 10 s]";
    auto const got = ::read(fd, buffer.data(), buffer.size());
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

void send(attended_process const& to, std::string_view text) {
  REQUIRE(::send(to.channel(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
}

bool has_gone(storage::process_identity const& identity) {
  auto const deadline = std::chrono::steady_clock::now() + 10s;
  while (inspect(identity) == process_state::running && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  return inspect(identity) != process_state::running;
}

}  // namespace

TEST_CASE("descriptor 0 goes both ways, 1 and 2 come apart and can be opened by name") {
  auto process = must_start("read line; echo got $line >&0; echo out > /dev/stdout; echo err > /dev/stderr; exit 7");

  send(process, "it\n");

  CHECK(read_to_end(process.channel()) == "got it\n");
  CHECK(read_to_end(process.output()) == "out\n");
  CHECK(read_to_end(process.errors()) == "err\n");
  CHECK(process.reap() == 7);
}

TEST_CASE("the end of an attended process shows in its descriptor, and a signal is its exit code, negated") {
  auto process = must_start("read line; kill -9 $$");
  CHECK_FALSE(process.has_ended());

  send(process, "\n");

  pollfd watched{process.end(), POLLIN, 0};
  CHECK(::poll(&watched, 1, 10'000) == 1);
  CHECK(process.has_ended());
  CHECK(process.reap() == -SIGKILL);
}

TEST_CASE("a signal goes to the process alone, its end takes its whole group along") {
  temporary_directory const directory;
  auto const pid_file = directory / "pid";
  auto process = must_start("trap 'exit 3' INT; sleep 600 & echo $! > " + pid_file.string() + "; echo >&0; wait");
  pollfd watched{process.channel(), POLLIN, 0};
  REQUIRE(::poll(&watched, 1, 10'000) == 1);
  auto const child = identify(std::stoi(test::read_file(pid_file)));
  REQUIRE(child);

  process.send_signal(SIGINT);
  watched = {process.end(), POLLIN, 0};
  REQUIRE(::poll(&watched, 1, 10'000) == 1);
  CHECK(inspect(*child) == process_state::running);

  CHECK(process.reap() == 3);
  CHECK(has_gone(*child));
}

TEST_CASE("an attended process ends with its owner") {
  std::optional<storage::process_identity> known;
  {
    auto const process = must_start("sleep 600");
    known = identify(process.pid());
    REQUIRE(known);
  }
  CHECK(has_gone(*known));
}

TEST_CASE("what cannot be executed is an error and not a process") {
  auto const started = attended_process::start({{"/no/such/program"}, {}, "/"});

  REQUIRE_FALSE(started);
  CHECK(started.error().code == error_code::start_failed);
}
