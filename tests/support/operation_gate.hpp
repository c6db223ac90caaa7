// A far side that holds up commands of some kinds until they are let through: what comes late is late for as long as a test needs.
#pragma once

#include <condition_variable>
#include <mutex>
#include <set>
#include <string>

namespace holdfast::test {

class operation_gate {
 public:
  /// From now on such commands wait before they do anything.
  void hold(std::string const& operation) {
    std::lock_guard const lock(mutex_);
    held_.insert(operation);
  }
  void open() {
    std::lock_guard const lock(mutex_);
    held_.clear();
    changed_.notify_all();
  }
  /// Commands that wait.
  std::size_t waiting() const {
    std::lock_guard const lock(mutex_);
    return waiting_;
  }

  /// For the far side: returns once a command of that kind may go on.
  void pass(std::string const& operation) {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.wait(lock, [&] { return !held_.contains(operation); });
    --waiting_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::string> held_;  // operations
  std::size_t waiting_ = 0;
};

}  // namespace holdfast::test
