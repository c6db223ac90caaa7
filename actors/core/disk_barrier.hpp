// What must not happen before `disk` has what `boot` has recorded of kernels elsewhere: a command that tells one of them so. Otherwise a
// power loss could leave a kernel that was told more than is known here. Steps are done in the order in which they were given.
// Pure: whoever moves rows counts the units and says up to which of them they are in `disk`. Refuses to know what a step is.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <utility>

#include "storage/failure.hpp"

namespace holdfast::core {

class disk_barrier {
 public:
  /// `boot` has one more unit that `disk` has to have.
  void on_recorded() { ++recorded_; }
  std::uint64_t recorded() const { return recorded_; }
  /// `disk` has the first so many.
  void on_disk(std::uint64_t units) {
    on_disk_ = units;
    is_refused_ = false;
    while (!waiting_.empty() && waiting_.front().units <= on_disk_) {
      auto const next = std::move(waiting_.front().step);
      waiting_.pop_front();
      next();
    }
  }

  /// `disk` has taken nothing of it and is tried again: what would rather not be done than wait is told.
  void on_refused(storage::failure const& why) {
    is_refused_ = true;
    auto all = std::exchange(waiting_, {});
    for (auto& each : all) {
      if (each.refused)
        each.refused(why);
      else
        waiting_.push_back(std::move(each));
    }
  }
  /// It was the last time, and has not been taken since.
  bool is_refused() const { return is_refused_; }

  bool is_behind() const { return on_disk_ < recorded_; }
  bool is_waited_for() const { return !waiting_.empty(); }
  /// Now, or once `disk` has all units recorded so far.
  void then(std::function<void()> step, std::function<void(storage::failure const&)> refused = {}) {
    if (!is_behind()) return step();
    waiting_.push_back({recorded_, std::move(step), std::move(refused)});
  }
  /// What waits never happens.
  void drop() { waiting_.clear(); }

 private:
  struct waiting {
    std::uint64_t units;
    std::function<void()> step;
    std::function<void(storage::failure const&)> refused;  // empty: it waits on
  };
  std::uint64_t recorded_ = 0;
  bool is_refused_ = false;
  std::uint64_t on_disk_ = 0;    // never more than recorded_
  std::deque<waiting> waiting_;  // ascending by units
};

}  // namespace holdfast::core
