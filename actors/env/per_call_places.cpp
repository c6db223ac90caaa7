#include "actors/env/per_call_places.hpp"

#include <utility>

namespace holdfast::env {

per_call_places::place per_call_places::make_place() {
  return {nullptr, [room = shared_from_this()](std::nullptr_t) { room->on_left(); }};
}

void per_call_places::enter(void const* who, std::function<void(place)> begin) {
  {
    std::lock_guard const lock(mutex_);
    if (taken_ == most_) return (void)queue_.push_back({who, std::move(begin)});
    ++taken_;
  }
  begin(make_place());
}

void per_call_places::leave(void const* who) {
  std::list<waiting> left;  // what it holds ends without the lock
  std::lock_guard const lock(mutex_);
  for (auto each = queue_.begin(); each != queue_.end();) {
    auto const at = each++;
    if (at->who == who) left.splice(left.end(), queue_, at);
  }
}

/// The place goes to the next one.
void per_call_places::on_left() {
  std::list<waiting> next;
  {
    std::lock_guard const lock(mutex_);
    if (queue_.empty()) return (void)--taken_;
    next.splice(next.end(), queue_, queue_.begin());
  }
  next.front().begin(make_place());
}

}  // namespace holdfast::env
