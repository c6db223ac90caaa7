// The thread that commits to `disk`, as a gateway has one: units go in, are committed in groups, and come back when they are durable.
#pragma once

#include <condition_variable>
#include <iostream>
#include <mutex>
#include <thread>
#include <vector>

#include "storage/stores.hpp"

namespace holdfast::storage::crash {

/// What the thread of `boot` does once its unit is in `disk`.
struct moved_unit {
  changes unit;
  changes then_in_boot;
  session_number closed = 0;  // or 0
  session_number saved = 0;   // whose namespace the unit saves, or 0
  session_number woken = 0;   // whose saved namespace it erases, or 0
  bool copies = false;        // it brings what is of kernels elsewhere up to date
};

class store_thread {
 public:
  explicit store_thread(stores& into) : stores_(into), thread_([this] { run(); }) {}
  ~store_thread() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  store_thread(store_thread const&) = delete;
  store_thread& operator=(store_thread const&) = delete;

  void add(moved_unit unit) {
    {
      std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(unit));
    }
    wake_.notify_one();
  }
  std::vector<moved_unit> take_done() {
    std::lock_guard lock(mutex_);
    return std::exchange(done_, {});
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      auto group = std::exchange(waiting_, {});
      lock.unlock();
      std::vector<changes> units;
      for (auto const& one : group) units.push_back(one.unit);
      if (auto committed = stores_.commit_disk(units); !committed) {
        std::cerr << committed.error().text << '\n';
        std::_Exit(3);
      }
      lock.lock();
      for (auto& one : group) done_.push_back(std::move(one));
    }
  }

  stores& stores_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<moved_unit> waiting_;
  std::vector<moved_unit> done_;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace holdfast::storage::crash
