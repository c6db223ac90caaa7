#include "actors/core/disk_barrier.hpp"

#include <string>

#include <catch2/catch.hpp>

using holdfast::core::disk_barrier;

TEST_CASE("a step is taken at once when nothing is behind") {
  disk_barrier barrier;
  auto done = 0;

  barrier.then([&] { ++done; });
  barrier.on_recorded();
  barrier.on_disk(1);
  barrier.then([&] { ++done; });

  CHECK(done == 2);
  CHECK_FALSE(barrier.is_behind());
}

TEST_CASE("a step waits for what was recorded before it, not for what came after") {
  disk_barrier barrier;
  std::string done;
  barrier.on_recorded();
  barrier.then([&] { done += "a"; });
  barrier.then([&] { done += "b"; });
  barrier.on_recorded();
  barrier.then([&] { done += "c"; });

  CHECK(done.empty());
  barrier.on_disk(1);
  CHECK(done == "ab");
  CHECK(barrier.is_waited_for());
  barrier.on_disk(2);

  CHECK(done == "abc");
  CHECK_FALSE(barrier.is_waited_for());
}

TEST_CASE("a step may record and wait again") {
  disk_barrier barrier;
  std::string done;
  barrier.on_recorded();
  barrier.then([&] {
    barrier.on_recorded();
    barrier.then([&] { done += "later"; });
  });

  barrier.on_disk(1);
  CHECK(done.empty());
  barrier.on_disk(2);

  CHECK(done == "later");
}

TEST_CASE("what was dropped never happens") {
  disk_barrier barrier;
  auto done = false;
  barrier.on_recorded();
  barrier.then([&] { done = true; });

  barrier.drop();
  barrier.on_disk(1);

  CHECK_FALSE(done);
}

TEST_CASE("what would rather not be done than wait is told when disk refuses, and everything else waits on") {
  disk_barrier barrier;
  std::vector<std::string> happened;
  barrier.on_recorded();
  barrier.then([&] { happened.push_back("carried"); });
  barrier.then([&] { happened.push_back("saved"); }, [&](auto const& why) { happened.push_back("not saved: " + why.text); });

  barrier.on_refused({holdfast::storage::failure_code::full, "no room"});
  CHECK(barrier.is_refused());
  CHECK(happened == std::vector<std::string>{"not saved: no room"});
  barrier.on_disk(1);

  CHECK_FALSE(barrier.is_refused());
  CHECK(happened == std::vector<std::string>{"not saved: no room", "carried"});
}
