#include "actors/base/home.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/support/forked.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace holdfast;
using Catch::Matchers::Contains;
using test::temporary_directory;

namespace {

unsigned mode_of(std::filesystem::path const& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 ? found.st_mode & 07777 : 0;
}

home_lock must_acquire(std::filesystem::path const& home) {
  auto lock = home_lock::acquire(home);
  if (!lock) FAIL(lock.error().message);
  return std::move(*lock);
}

/// 0: another process gets the lock; 1: it is refused, naming `holder`; 2: it is refused otherwise.
int as_other_process(std::filesystem::path const& home, pid_t holder) {
  test::forked other([&] {
    auto const lock = home_lock::acquire(home);
    if (lock) return 0;
    auto const wanted = "another daemon, pid " + std::to_string(holder) + ", has this home";
    return lock.error().message.find(wanted) != std::string::npos && lock.error().code == error_code::busy ? 1 : 2;
  });
  return other.exit_code();
}

}  // namespace

TEST_CASE("a fresh home and its directories are open to nobody else, under any umask") {
  temporary_directory const directory;
  auto const before = ::umask(0);
  auto const made = prepare_home(directory / "state/holdfast");
  ::umask(before);

  REQUIRE(made);
  CHECK(mode_of(directory / "state") == 0700);
  CHECK(mode_of(directory / "state/holdfast") == 0700);
  for (auto const* name : {"run", "state", "output", "nursery", "program", "store"})
    CHECK(mode_of(directory.path() / "state/holdfast" / name) == 0700);
  CHECK(prepare_home(directory / "state/holdfast"));
}

TEST_CASE("another user can neither enter nor list a home") {
  temporary_directory const directory;
  REQUIRE(prepare_home(directory / "home"));
  if (::geteuid() != 0) return;  // there is no other user to be
  ::chmod(directory.path().c_str(), 0755);

  CHECK(test::as_nobody([&] {
          auto const home = directory / "home";
          return ::open(home.c_str(), O_RDONLY) == -1 && ::access((home / "run").c_str(), F_OK) == -1 ? 0 : 1;
        }) == 0);
}

TEST_CASE("an empty home that others may enter is closed to them") {
  temporary_directory const home;
  ::chmod(home.path().c_str(), 0755);

  REQUIRE(prepare_home(home.path()));

  CHECK(mode_of(home.path()) == 0700);
}

TEST_CASE("a used home that others may enter is refused and left as it is") {
  temporary_directory const home;
  test::write_file(home / "config.toml", "");
  ::chmod(home.path().c_str(), 0750);

  auto const made = prepare_home(home.path());

  REQUIRE_FALSE(made);
  CHECK_THAT(made.error().message, Contains("mode 0750, wanted 0700); run: chmod 700 " + home.path().string()));
  CHECK(mode_of(home.path()) == 0750);
}

TEST_CASE("a home of another user is refused") {
  temporary_directory const home;
  if (::geteuid() != 0) return;  // only root can give it away
  REQUIRE(::chown(home.path().c_str(), 65534, 65534) == 0);

  auto const made = prepare_home(home.path());

  REQUIRE_FALSE(made);
  CHECK_THAT(made.error().message, Contains("belongs to uid 65534, wanted 0"));
}

TEST_CASE("a home that is a file, or in a place that cannot be written, is refused") {
  temporary_directory const directory;
  test::write_file(directory / "file", "");
  CHECK_THAT(prepare_home(directory / "file").error().message, Contains("not a directory"));
  CHECK_THAT(prepare_home(directory / "file/home").error().message, Contains("cannot make directory"));

  ::chmod(directory.path().c_str(), 0755);
  CHECK(test::as_nobody([&] { return prepare_home(directory / "home") ? 1 : 0; }) == (::geteuid() == 0 ? 0 : 1));
}

TEST_CASE("a second daemon is refused and told the first one's pid") {
  temporary_directory const home;
  auto const lock = must_acquire(home.path());

  CHECK(as_other_process(home.path(), ::getpid()) == 1);
  CHECK(mode_of(home / "lock") == 0600);
}

TEST_CASE("a second gateway of one process is refused under any path, and the refusal does not drop the lock") {
  temporary_directory const home;
  auto const lock = must_acquire(home.path());
  temporary_directory const elsewhere;
  std::filesystem::create_directory_symlink(home.path(), elsewhere / "link");

  for (auto const& path : {home.path(), elsewhere / "link", home.path() / "."}) {
    auto const second = home_lock::acquire(path);
    REQUIRE_FALSE(second);
    CHECK(second.error().code == error_code::busy);
    CHECK_THAT(second.error().message, Contains("another gateway of this process"));
  }

  CHECK(as_other_process(home.path(), ::getpid()) == 1);
}

TEST_CASE("the lock ends with its object, and moves with it") {
  temporary_directory const home;
  {
    auto first = must_acquire(home.path());
    auto second = std::move(first);
    CHECK_FALSE(home_lock::acquire(home.path()));
    CHECK(as_other_process(home.path(), ::getpid()) == 1);
  }
  CHECK(as_other_process(home.path(), ::getpid()) == 0);
  auto again = must_acquire(home.path());
  temporary_directory const other;
  again = must_acquire(other.path());
  CHECK(home_lock::acquire(home.path()));
}

TEST_CASE("the lock falls with its holder, and a child that it left does not keep it") {
  temporary_directory const home;
  test::gate held;
  test::gate never;
  test::forked daemon([&] {
    auto const lock = home_lock::acquire(home.path());
    if (::fork() == 0) {
      never.wait();
      ::_exit(0);
    }
    held.open();
    never.wait();
    return 0;
  });
  REQUIRE(held.wait());
  CHECK(as_other_process(home.path(), daemon.pid()) == 1);

  ::kill(daemon.pid(), SIGKILL);
  daemon.wait();

  CHECK(as_other_process(home.path(), 0) == 0);
  never.open();
}

TEST_CASE("a lock file that is a symbolic link is refused") {
  temporary_directory const home;
  std::filesystem::create_symlink(home / "elsewhere", home / "lock");

  CHECK_FALSE(home_lock::acquire(home.path()));
  CHECK_FALSE(std::filesystem::exists(home / "elsewhere"));
}

TEST_CASE("a held home is lost when it is removed, moved away or replaced, and not when it cannot be looked at") {
  temporary_directory const directory;
  auto const home = directory / "above" / "home";
  REQUIRE(prepare_home(home));
  auto const lock = must_acquire(home);
  CHECK_FALSE(lock.lost());

  SECTION("removed, whatever is at its path then") {
    std::filesystem::remove_all(home);
    CHECK_THAT(lock.lost().value_or(""), Contains("home " + home.string() + " was removed"));
    REQUIRE(prepare_home(home));
    auto const second = must_acquire(home);
    CHECK_THAT(lock.lost().value_or(""), Contains("was removed"));
    CHECK_FALSE(second.lost());
  }
  SECTION("moved away") {
    std::filesystem::rename(directory / "above", directory / "elsewhere");
    CHECK_THAT(lock.lost().value_or(""), Contains("home " + home.string() + " was moved away"));
    REQUIRE(prepare_home(home));
    CHECK(lock.lost());
    std::filesystem::remove_all(directory / "above");
    std::filesystem::rename(directory / "elsewhere", directory / "above");
    CHECK_FALSE(lock.lost());
  }
  SECTION("out of sight") {
    std::filesystem::permissions(directory / "above", std::filesystem::perms(0));
    test::forked nobody([&] {
      if (::geteuid() == 0 && ::setuid(65534) != 0) return 2;
      return lock.lost() ? 1 : 0;  // EACCES proves nothing
    });
    CHECK(nobody.exit_code() == 0);
    std::filesystem::permissions(directory / "above", std::filesystem::perms(0700));
  }
}
