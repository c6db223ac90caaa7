// One thread that runs an embedder's callbacks one after the other, so that none of them holds up the gateway. What piles up behind
// a slow callback is bounded: what may be lost is then lost.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace holdfast::front {

class callback_thread {
 public:
  struct limits {
    std::size_t tasks = 4096;
    std::size_t bytes = std::size_t{8} << 20;
  };

  callback_thread() : callback_thread(limits{}) {}
  explicit callback_thread(limits within);
  /// Runs what is queued, then ends.
  ~callback_thread();

  /// Queues a task that must run.
  void post(std::function<void()> task);
  /// Queues a task that holds `bytes`, unless too much waits already; false: it was dropped.
  bool try_post(std::function<void()> task, std::size_t bytes);

 private:
  struct entry {
    std::function<void()> task;
    std::size_t bytes = 0;
  };
  void run();

  limits const limits_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<entry> queue_;
  std::size_t queued_bytes_ = 0;  // of the queue
  bool is_ending_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace holdfast::front
