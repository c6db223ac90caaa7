#include "actors/base/identity.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include <catch2/catch.hpp>

#include "tests/support/forked.hpp"

using namespace holdfast;
using test::forked;
using test::gate;

namespace {

int pause_until_killed() {
  while (true) ::pause();
}

storage::process_identity must_identify(pid_t pid) {
  auto const found = identify(pid);
  REQUIRE(found);
  return *found;
}

bool is_readable(unique_fd const& pidfd, int timeout_ms) {
  pollfd watched{pidfd.get(), POLLIN, 0};
  return ::poll(&watched, 1, timeout_ms) == 1;
}

}  // namespace

TEST_CASE("this process is running under its own identity") {
  auto const self = must_identify(::getpid());

  CHECK(self.boot_id == boot_id());
  CHECK(self.boot_id.size() == 36);
  CHECK(self.pid_namespace == own_pid_namespace());
  CHECK(self.start_time > 0);
  CHECK(inspect(self) == process_state::running);
}

TEST_CASE("a process whose name holds blanks and parentheses is identified") {
  gate named;
  forked child([&] {
    ::prctl(PR_SET_NAME, ") R 1 (x y");
    named.open();
    return pause_until_killed();
  });
  REQUIRE(named.wait());

  CHECK(inspect(must_identify(child.pid())) == process_state::running);
}

TEST_CASE("a stopped process is stopped and not gone") {
  forked child(pause_until_killed);
  auto const identity = must_identify(child.pid());
  ::kill(child.pid(), SIGSTOP);
  ::waitpid(child.pid(), nullptr, WUNTRACED);

  CHECK(inspect(identity) == process_state::stopped);
  CHECK(open_pidfd(identity));
}

TEST_CASE("an ended process is a zombie until it is reaped, then gone") {
  forked child(pause_until_killed);
  auto const identity = must_identify(child.pid());
  auto const pidfd = open_pidfd(identity);
  REQUIRE(pidfd);
  CHECK_FALSE(is_readable(*pidfd, 0));

  ::kill(child.pid(), SIGKILL);
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(child.pid()), &info, WEXITED | WNOWAIT);

  CHECK(inspect(identity) == process_state::zombie);
  CHECK(is_readable(*pidfd, 1000));
  auto const late = open_pidfd(identity);
  REQUIRE(late);
  CHECK(is_readable(*late, 0));

  child.wait();
  CHECK(inspect(identity) == process_state::gone);
  CHECK(open_pidfd(identity).error() == process_state::gone);
  CHECK_FALSE(identify(identity.pid));
}

TEST_CASE("a zombie leader with a living thread is not dead") {
  gate ready;
  forked child([&] {
    std::thread([&] {
      // The leader is a zombie once its state is Z: only then is the test let on.
      auto const path = "/proc/self/task/" + std::to_string(::getpid()) + "/stat";
      while (true) {
        FILE* file = std::fopen(path.c_str(), "r");
        char state = 0;
        if (file != nullptr) {
          (void)!std::fscanf(file, "%*d %*s %c", &state);
          std::fclose(file);
        }
        if (state == 'Z') break;
        std::this_thread::yield();
      }
      ready.open();
      pause_until_killed();
    }).detach();
    ::syscall(SYS_exit, 0);  // this thread alone
    return 0;
  });
  REQUIRE(ready.wait());

  auto const identity = must_identify(child.pid());
  CHECK(inspect(identity) == process_state::running);
  auto const pidfd = open_pidfd(identity);
  REQUIRE(pidfd);
  CHECK_FALSE(is_readable(*pidfd, 0));
}

TEST_CASE("a reused pid is another process: the recorded one is gone") {
  auto stranger = must_identify(::getpid());
  stranger.start_time += 1;

  CHECK(inspect(stranger) == process_state::gone);
  CHECK(open_pidfd(stranger).error() == process_state::gone);
}

TEST_CASE("a process of an earlier boot is gone") {
  auto earlier = must_identify(::getpid());
  earlier.boot_id = "00000000-0000-0000-0000-000000000000";

  CHECK(inspect(earlier) == process_state::gone);
}

TEST_CASE("a process of another pid namespace is unknown, never gone") {
  auto elsewhere = must_identify(::getpid());
  elsewhere.pid_namespace += 1;
  CHECK(inspect(elsewhere) == process_state::unknown);
  CHECK(open_pidfd(elsewhere).error() == process_state::unknown);

  elsewhere.start_time += 1;
  CHECK(inspect(elsewhere) == process_state::unknown);
}

TEST_CASE("an identity that was never recorded proves nothing") {
  CHECK(inspect({}) == process_state::unknown);
  CHECK_FALSE(identify(0));
  CHECK_FALSE(identify(-1));
}

TEST_CASE("a process of another user is seen all the same") {
  auto const init = identify(1);
  if (!init) return;  // hidden: nothing can be said here

  CHECK(test::as_nobody([&] { return inspect(*init) == process_state::running ? 0 : 1; }) == 0);
}
