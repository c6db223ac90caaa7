#include "actors/core/kernel_roll.hpp"

#include "actors/base/defaults.hpp"

namespace holdfast::core {

/// Room as it would be once those before in the queue had their kernels.
class kernel_roll::rehearsal {
 public:
  explicit rehearsal(kernel_roll const& roll) : roll_(roll) {}

  shortage shortage_for(std::string_view owner, bool is_here) const {
    auto limits = roll_.limits();
    if (!is_here) limits.memory_bytes = 0;
    auto const given = given_.find(owner);
    return shortage_of(
        {roll_.kernels() + started_, roll_.of(owner) + (given == given_.end() ? 0 : given->second), roll_.memory_bytes() + memory_},
        limits);
  }
  void start(std::string_view owner, bool is_here) {
    ++started_;
    ++given_[owner];
    if (is_here) memory_ += defaults::kernel_memory_assumed;
  }

 private:
  kernel_roll const& roll_;
  std::size_t started_ = 0;
  std::uint64_t memory_ = 0;  // that these are assumed to take
  std::unordered_map<std::string_view, std::size_t> given_;
};

kernel_roll::place& kernel_roll::place::operator=(place&& other) noexcept {
  if (this == &other) return *this;
  leave();
  roll_ = std::exchange(other.roll_, nullptr);
  at_ = other.at_;
  return *this;
}

void kernel_roll::place::leave() noexcept {
  auto* const roll = std::exchange(roll_, nullptr);
  if (roll == nullptr) return;
  roll->memory_ -= at_->memory_bytes;
  auto const of_owner = roll->of_owner_.find(at_->owner);
  if (--of_owner->second == 0) roll->of_owner_.erase(of_owner);
  roll->kernels_.erase(at_);
  if (!roll->queue_.empty()) roll->look();
}

void kernel_roll::place::measured(std::uint64_t bytes) {
  if (roll_ == nullptr || bytes == 0) return;  // its process is gone, or not there yet
  roll_->memory_ += bytes - at_->memory_bytes;
  at_->memory_bytes = bytes;
}

kernel_roll::turn& kernel_roll::turn::operator=(turn&& other) noexcept {
  if (this == &other) return *this;
  leave();
  roll_ = std::exchange(other.roll_, nullptr);
  at_ = other.at_;
  return *this;
}

void kernel_roll::turn::leave() noexcept {
  auto* const roll = std::exchange(roll_, nullptr);
  if (roll == nullptr) return;
  roll->queue_.erase(at_);
  if (!roll->queue_.empty()) roll->look();  // there may have been room for this one, and for nobody behind it
}

kernel_roll::place kernel_roll::enter(std::string owner, bool is_here) {
  place made;
  made.roll_ = this;
  made.at_ = kernels_.insert(kernels_.end(), {std::move(owner), is_here ? defaults::kernel_memory_assumed : 0});
  ++of_owner_[made.at_->owner];
  memory_ += made.at_->memory_bytes;
  if (limits_.kernels > 0 && kernels_.size() > limits_.kernels) look();
  return made;
}

kernel_roll::turn kernel_roll::wait(std::string owner, caf::actor session, bool is_here) {
  turn made;
  made.roll_ = this;
  made.at_ = queue_.insert(queue_.end(), {std::move(owner), std::move(session), is_here});
  look();
  return made;
}

std::size_t kernel_roll::of(std::string_view owner) const {
  auto const found = of_owner_.find(owner);
  return found == of_owner_.end() ? 0 : found->second;
}

shortage kernel_roll::shortage_for(std::string_view owner, turn const& own, bool is_here) const {
  rehearsal ahead(*this);
  auto const now = ahead.shortage_for(owner, is_here);
  if (queue_.empty() || now != shortage::none) return now;
  for (auto at = queue_.begin(); at != queue_.end() && !(own && at == own.at_); ++at) {
    auto const why = ahead.shortage_for(at->owner, at->is_here);
    if (why == shortage::none)
      ahead.start(at->owner, at->is_here);
    else if (why == shortage::kernels || (why == shortage::memory && is_here))
      return why;
  }
  return ahead.shortage_for(owner, is_here);
}

std::vector<caf::actor> kernel_roll::admitted() const {
  std::vector<caf::actor> found;
  rehearsal ahead(*this);
  for (auto const& each : queue_) {
    auto const why = ahead.shortage_for(each.owner, each.is_here);
    if (why == shortage::none) {
      ahead.start(each.owner, each.is_here);
      found.push_back(each.session);
    } else if (why == shortage::kernels) {
      break;
    }
  }
  return found;
}

bool kernel_roll::is_short() const {
  return !queue_.empty() || (limits_.kernels > 0 && kernels_.size() > limits_.kernels) ||
         (limits_.memory_bytes > 0 && memory_ > limits_.memory_bytes);
}

}  // namespace holdfast::core
