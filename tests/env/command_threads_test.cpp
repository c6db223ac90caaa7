#include <catch2/catch.hpp>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>

#include "actors/env/command_threads.hpp"

namespace holdfast::env {
namespace {

using namespace std::chrono_literals;

/// Work that ends when it is told to.
struct gate {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_open = false;
  int inside = 0;

  void pass() {
    std::unique_lock lock(mutex);
    ++inside;
    changed.notify_all();
    changed.wait(lock, [this] { return is_open; });
  }
  void open() {
    std::lock_guard const lock(mutex);
    is_open = true;
    changed.notify_all();
  }
  bool has(int wanted) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, 10s, [&] { return inside >= wanted; });
  }
};

TEST_CASE("no more work runs at once than there may be threads, and what is urgent has its own") {
  auto held = std::make_shared<gate>();
  std::promise<void> usual, urgent;
  command_threads threads(2, 1);
  threads.run([held] { held->pass(); }, false);
  threads.run([held] { held->pass(); }, false);
  REQUIRE(held->has(2));

  threads.run([&] { usual.set_value(); }, false);
  threads.run([&] { urgent.set_value(); }, true);

  CHECK(urgent.get_future().wait_for(10s) == std::future_status::ready);
  auto waits = usual.get_future();
  CHECK(waits.wait_for(0s) == std::future_status::timeout);
  held->open();
  CHECK(waits.wait_for(10s) == std::future_status::ready);
}

TEST_CASE("the end waits for nothing, and what has not begun never does") {
  auto held = std::make_shared<gate>();
  std::atomic<bool> has_begun{false};
  {
    command_threads threads(1, 0);
    threads.run([held] { held->pass(); }, false);
    REQUIRE(held->has(1));
    threads.run([&] { has_begun = true; }, false);
  }
  held->open();

  CHECK_FALSE(has_begun);
}

}  // namespace
}  // namespace holdfast::env
