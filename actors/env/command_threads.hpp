// Threads for work that blocks for as long as it likes: an embedder's callbacks. Bounded in number; what is urgent has some of its own.
// Refuses to wait for work that does not end: destroying this lets such a thread end by itself.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace holdfast::env {

class command_threads {
 public:
  /// At most that many at once, and `spare` more for what is urgent.
  command_threads(std::size_t most, std::size_t spare);
  command_threads(command_threads const&) = delete;
  command_threads& operator=(command_threads const&) = delete;
  /// What has not begun is dropped.
  ~command_threads();

  /// Any thread. `work` must not throw.
  void run(std::function<void()> work, bool is_urgent);

 private:
  struct shared;
  std::shared_ptr<shared> shared_;
};

}  // namespace holdfast::env
