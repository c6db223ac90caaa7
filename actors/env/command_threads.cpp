#include "actors/env/command_threads.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace holdfast::env {

namespace {

constexpr std::chrono::seconds kept_idle{30};  // a thread that has had nothing to do for so long ends

}  // namespace

struct command_threads::shared {
  std::mutex mutex;
  std::condition_variable changed;
  // Guarded by mutex.
  std::deque<std::function<void()>> urgent, usual;  // not begun
  std::size_t most = 0, spare = 0;
  std::size_t threads = 0, idle = 0;
  bool is_ended = false;

  /// What a thread may begin now. With the last `spare` threads only what is urgent.
  std::function<void()> take() {
    auto const busy = threads - idle;
    auto& from = !urgent.empty() || busy >= most ? urgent : usual;
    if (from.empty()) return {};
    auto work = std::move(from.front());
    from.pop_front();
    return work;
  }

  static void serve(std::shared_ptr<shared> const& all) {
    std::unique_lock lock(all->mutex);
    while (!all->is_ended) {
      if (auto work = all->take()) {
        --all->idle;
        lock.unlock();
        work();
        work = {};  // what it holds goes before others may be told that all is over
        lock.lock();
        ++all->idle;
        continue;
      }
      if (all->changed.wait_for(lock, kept_idle) == std::cv_status::timeout && all->urgent.empty() && all->usual.empty()) break;
    }
    --all->threads;
    --all->idle;
  }
};

command_threads::command_threads(std::size_t most, std::size_t spare) : shared_(std::make_shared<shared>()) {
  shared_->most = most;
  shared_->spare = spare;
}

command_threads::~command_threads() {
  std::lock_guard const lock(shared_->mutex);
  shared_->is_ended = true;
  shared_->urgent.clear();
  shared_->usual.clear();
  shared_->changed.notify_all();
}

void command_threads::run(std::function<void()> work, bool is_urgent) {
  std::lock_guard const lock(shared_->mutex);
  (is_urgent ? shared_->urgent : shared_->usual).push_back(std::move(work));
  auto const waiting = shared_->urgent.size() + shared_->usual.size();
  if (shared_->idle < waiting && shared_->threads < shared_->most + (is_urgent ? shared_->spare : 0)) {
    ++shared_->threads;
    ++shared_->idle;
    std::thread([all = shared_] { shared::serve(all); }).detach();
  }
  shared_->changed.notify_all();
}

}  // namespace holdfast::env
