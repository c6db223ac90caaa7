#include "actors/core/kernel_roll.hpp"

#include "actors/base/defaults.hpp"

namespace holdfast::core {

/// Room as it would be once those before in the queue had their kernels.
class kernel_roll::rehearsal {
 public:
  explicit rehearsal(kernel_roll const& roll) : roll_(roll) {}

  shortage shortage_for(std::string_view owner) const {
    auto const given = given_.find(owner);
    return shortage_of({roll_.kernels() + started_, roll_.of(owner) + (given == given_.end() ? 0 : given->second),
                        roll_.memory_bytes() + started_ * defaults::kernel_memory_assumed},
                       roll_.limits());
  }
  void start(std::string_view owner) {
    ++started_;
    ++given_[owner];
  }

 private:
  kernel_roll const& roll_;
  std::size_t started_ = 0;
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

kernel_roll::place kernel_roll::enter(std::string owner) {
  place made;
  made.roll_ = this;
  made.at_ = kernels_.insert(kernels_.end(), {std::move(owner), defaults::kernel_memory_assumed});
  ++of_owner_[made.at_->owner];
  memory_ += made.at_->memory_bytes;
  if (limits_.kernels > 0 && kernels_.size() > limits_.kernels) look();
  return made;
}

kernel_roll::turn kernel_roll::wait(std::string owner, caf::actor session) {
  turn made;
  made.roll_ = this;
  made.at_ = queue_.insert(queue_.end(), {std::move(owner), std::move(session)});
  look();
  return made;
}

std::size_t kernel_roll::of(std::string_view owner) const {
  auto const found = of_owner_.find(owner);
  return found == of_owner_.end() ? 0 : found->second;
}

shortage kernel_roll::shortage_for(std::string_view owner, turn const& own) const {
  auto const now = shortage_of({kernels(), of(owner), memory_}, limits_);
  if (queue_.empty() || now != shortage::none) return now;
  rehearsal ahead(*this);
  for (auto at = queue_.begin(); at != queue_.end() && !(own && at == own.at_); ++at) {
    auto const why = ahead.shortage_for(at->owner);
    if (why == shortage::none)
      ahead.start(at->owner);
    else if (why != shortage::of_owner)
      return why;
  }
  return ahead.shortage_for(owner);
}

std::vector<caf::actor> kernel_roll::admitted() const {
  std::vector<caf::actor> found;
  rehearsal ahead(*this);
  for (auto const& each : queue_) {
    auto const why = ahead.shortage_for(each.owner);
    if (why == shortage::none) {
      ahead.start(each.owner);
      found.push_back(each.session);
    } else if (why != shortage::of_owner) {
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
