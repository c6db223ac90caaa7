// How many interpreters may run at once? Who comes later begins in its turn. Collaborators: per_call.cpp, whose threads hold the places.
// Any thread. Refuses nobody: how long somebody waits is the business of who asked, who leaves the queue by killing what it asked for.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>

namespace holdfast::env {

class per_call_places : public std::enable_shared_from_this<per_call_places> {
 public:
  explicit per_call_places(std::size_t most) : most_(most) {}
  per_call_places(per_call_places const&) = delete;
  per_call_places& operator=(per_call_places const&) = delete;

  /// Taken until the last copy is gone.
  using place = std::shared_ptr<void>;

  /// Calls `begin` with a place, in the order of arrival: at once, or on the thread that leaves one.
  void enter(void const* who, std::function<void(place)> begin);
  /// It does not begin any more, unless it has.
  void leave(void const* who);

 private:
  struct waiting {
    void const* who;
    std::function<void(place)> begin;
  };

  place make_place();
  void on_left();

  std::size_t const most_;
  std::mutex mutex_;
  std::size_t taken_ = 0;     // guarded by mutex_; at most most_
  std::list<waiting> queue_;  // guarded by mutex_; empty unless all are taken
};

}  // namespace holdfast::env
