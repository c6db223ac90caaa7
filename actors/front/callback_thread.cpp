#include "actors/front/callback_thread.hpp"

#include <csignal>
#include <exception>

#include "actors/base/log.hpp"

namespace holdfast::front {

callback_thread::callback_thread(limits within) : limits_(within) {
  // The embedder's signals go to the embedder's threads.
  sigset_t all{}, before{};
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

callback_thread::~callback_thread() {
  {
    std::lock_guard const lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void callback_thread::post(std::function<void()> task) {
  std::lock_guard const lock(mutex_);
  queue_.push_back({std::move(task), 0});
  changed_.notify_one();
}

bool callback_thread::try_post(std::function<void()> task, std::size_t bytes) {
  std::lock_guard const lock(mutex_);
  if (queue_.size() >= limits_.tasks || queued_bytes_ > limits_.bytes) return false;
  queued_bytes_ += bytes;
  queue_.push_back({std::move(task), bytes});
  changed_.notify_one();
  return true;
}

void callback_thread::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_ending_ || !queue_.empty(); });
    if (queue_.empty()) return;
    auto next = std::move(queue_.front());
    queue_.pop_front();
    queued_bytes_ -= next.bytes;
    lock.unlock();
    try {
      next.task();
    } catch (std::exception const& problem) {
      log::error("callback-failed", "callback threw: {}", problem.what());
    } catch (...) {
      log::error("callback-failed", "callback threw something that is no std::exception");
    }
    next = {};
    lock.lock();
  }
}

}  // namespace holdfast::front
