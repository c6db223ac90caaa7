#include "actors/base/start_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include <catch2/catch.hpp>

#include "actors/base/defaults.hpp"
#include "actors/base/identity.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace holdfast;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using test::temporary_directory;

namespace {

std::map<std::string, std::string> const plain_env{{"PATH", "/usr/bin:/bin"}};

finished_process must_run(std::string const& script, std::string const& input = "", std::chrono::milliseconds timeout = 10s,
                          std::map<std::string, std::string> const& env = plain_env) {
  auto done = run_process({"sh", "-c", script}, env, "/", input, timeout);
  if (!done) FAIL(done.error().message);
  return *done;
}

}  // namespace

TEST_CASE("a process gets exactly its arguments, environment, directory and input") {
  temporary_directory const directory;

  auto const done = run_process({"sh", "-c", R"x(printf '%s|%s|%s|%s|' "$0" "$A" "$(pwd)" "$(cat)" >&2; exit 7)x", "zero arg"},
                                {{"PATH", "/usr/bin:/bin"}, {"A", "one"}}, directory.path(), "input", 10s);

  REQUIRE(done);
  CHECK(done->exit_code == 7);
  CHECK(done->standard_error == "zero arg|one|" + directory.path().string() + "|input|");
  auto const names = must_run("env | cut -d= -f1 | sort | tr '\\n' ' ' >&2").standard_error;
  CHECK(names.find("HOME") == std::string::npos);
}

TEST_CASE("a signal's number is the exit code, negated") { CHECK(must_run("kill -9 $$").exit_code == -9); }

TEST_CASE("a large input is written whole, and one that nobody reads does no harm") {
  std::string const input(3 << 20, 'x');
  CHECK(must_run("wc -c >&2", input).standard_error == std::to_string(input.size()) + "\n");
  CHECK(must_run("exit 0", input).exit_code == 0);
}

TEST_CASE("standard error is kept up to its limit and read to its end") {
  auto const done = must_run("head -c 1000000 /dev/zero | tr '\\0' e >&2; exit 3");

  CHECK(done.exit_code == 3);
  CHECK(done.standard_error == std::string(defaults::process_error_kept, 'e'));
}

TEST_CASE("the end of the process is the end, although a grandchild keeps its standard error open") {
  temporary_directory const directory;
  auto const pid_file = directory / "pid";
  auto const started = std::chrono::steady_clock::now();

  auto const done = must_run("echo early >&2; sleep 60 & echo $! > " + pid_file.string());

  CHECK(done.standard_error == "early\n");
  CHECK(std::chrono::steady_clock::now() - started < 30s);
  ::kill(std::stoi(test::read_file(pid_file)), SIGKILL);
}

TEST_CASE("a process over its timeout is killed with its group and reported") {
  temporary_directory const directory;
  auto const pid_file = directory / "pid";

  auto const done = run_process({"sh", "-c", "sleep 60 & echo $! > " + pid_file.string() + "; wait"}, plain_env, "/", "", 500ms);

  REQUIRE_FALSE(done);
  CHECK(done.error().code == error_code::start_failed);
  CHECK_THAT(done.error().message, Contains("did not end within 500 ms; killed"));
  auto const grandchild = identify(std::stoi(test::read_file(pid_file)));
  if (grandchild) {  // it may be a zombie until init reaps it
    auto const pidfd = open_pidfd(*grandchild);
    if (pidfd) CHECK(inspect(*grandchild) != process_state::stopped);
    auto const deadline = std::chrono::steady_clock::now() + 5s;
    while (inspect(*grandchild) == process_state::running && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    CHECK(inspect(*grandchild) != process_state::running);
  }
}

TEST_CASE("what cannot be executed is an error that names it") {
  temporary_directory const directory;
  auto const message = [&](std::vector<std::string> const& argv, std::filesystem::path const& cwd = "/") {
    auto const done = run_process(argv, plain_env, cwd, "", 5s);
    REQUIRE_FALSE(done);
    CHECK(done.error().code == error_code::start_failed);
    return done.error().message;
  };
  test::write_file(directory / "plain", "no program");

  CHECK(message({"no-such-program"}) == "cannot start no-such-program: it is not on PATH");
  CHECK_THAT(message({"/no/such/program"}), Contains("cannot start /no/such/program: No such file"));
  CHECK_THAT(message({(directory / "plain").string()}), Contains("Permission denied"));
  CHECK_THAT(message({"sh"}, directory / "none"), Contains("working directory"));
  CHECK_THAT(message({}), Contains("no program"));
}

TEST_CASE("a process inherits no descriptor, no blocked and no ignored signal, and leads its own session") {
  unique_fd const leaky(::fcntl(0, F_DUPFD, 700));  // without close-on-exec, as an embedder may have any number of
  REQUIRE(leaky);
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  auto const handler = ::signal(SIGPIPE, SIG_IGN);

  auto const descriptors = must_run("exec ls /proc/self/fd >&2").standard_error;
  auto const signals = must_run("exec grep -E 'Sig(Blk|Ign)' /proc/self/status >&2").standard_error;
  auto const ids = must_run("exec cut -d' ' -f1,6 /proc/self/stat >&2").standard_error;

  ::signal(SIGPIPE, handler);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  CHECK(descriptors == "0\n1\n2\n3\n");  // 3 is the directory that ls reads
  // glibc leaves its own two, 32 and 33, ignored in what it spawns.
  CHECK(signals == "SigBlk:\t0000000000000000\nSigIgn:\t0000000180000000\n");
  auto const blank = ids.find(' ');
  CHECK(ids.substr(0, blank) + "\n" == ids.substr(blank + 1));
}

TEST_CASE("processes are started while other threads allocate and start their own") {
  std::atomic<bool> stop{false};
  std::thread noise([&] {
    while (!stop) std::string(1000, 'x').append("y");
  });
  std::atomic<int> good{0};
  std::vector<std::thread> starters;
  for (int t = 0; t < 4; ++t)
    starters.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        auto const done = run_process({"/bin/sh", "-c", "cat >/dev/null; exit 5"}, plain_env, "/", "hello", 30s);
        if (done && done->exit_code == 5) ++good;
      }
    });
  for (auto& starter : starters) starter.join();
  stop = true;
  noise.join();

  CHECK(good == 40);
}
