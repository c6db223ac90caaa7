#include "actors/core/eviction.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "actors/base/defaults.hpp"

namespace holdfast::core {

namespace {

bool may_be_ended(candidate const& each) {
  return !each.is_busy && !each.is_asked_for && !each.is_starting && !each.is_being_ended && each.live_jobs == 0;
}

bool is_over_idle_limit(candidate const& each, kernel_limits const& limits, storage::unix_ms now) {
  return limits.idle_ms > 0 && now - each.idle_since >= limits.idle_ms;
}

/// Nothing but the time since its last cell speaks against replacing it.
bool is_to_be_upgraded(candidate const& each) {
  return each.is_stale && each.is_wholly_saveable && !each.is_pinned && may_be_ended(each);
}

/// Those that may be ended, the first victim first.
std::vector<std::size_t> in_order(std::span<candidate const> all) {
  std::vector<std::size_t> order;
  for (std::size_t at = 0; at < all.size(); ++at)
    if (may_be_ended(all[at])) order.push_back(at);
  std::sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
    auto const key = [&](candidate const& each) {
      return std::tuple(!each.is_wholly_saveable, !each.is_stale, each.idle_since, each.kernel);
    };
    return key(all[left]) < key(all[right]);
  });
  return order;
}

/// The kernels that stay while victims are taken from them.
class selection {
 public:
  explicit selection(std::span<candidate const> all) : all_(all), is_taken_(all.size(), false), order_(in_order(all)) {
    for (auto const& each : all) {
      if (each.is_being_ended) continue;
      ++kernels_;
      ++of_owner_[each.owner];
      memory_ += each.memory_bytes;
      if (each.memory_bytes > 0) ++with_memory_;
    }
  }

  std::size_t kernels() const { return kernels_; }
  std::uint64_t memory() const { return memory_; }
  std::size_t with_memory() const { return with_memory_; }
  std::size_t of(std::string_view owner) const {
    auto const found = of_owner_.find(owner);
    return found == of_owner_.end() ? 0 : found->second;
  }
  std::vector<std::size_t> const& order() const { return order_; }

  void take(std::size_t at, eviction_reason reason, std::vector<victim>& into) {
    auto const& each = all_[at];
    is_taken_[at] = true;
    --kernels_;
    --of_owner_[each.owner];
    memory_ -= each.memory_bytes;
    if (each.memory_bytes > 0) --with_memory_;
    auto const is_urgent = reason == eviction_reason::idle || !each.is_wholly_saveable;
    into.push_back({at, reason, is_urgent && reason != eviction_reason::upgraded});
  }

  /// Takes the next one to make room, of that owner if one is named; false: there is none.
  bool take_next(storage::unix_ms now, eviction_reason reason, std::string_view owner, std::vector<victim>& into) {
    for (auto const at : order_) {
      auto const& each = all_[at];
      if (is_taken_[at] || each.is_pinned || each.save_again_at > now || (!owner.empty() && each.owner != owner)) continue;
      if (reason == eviction_reason::memory && each.memory_bytes == 0) continue;
      take(at, reason, into);
      return true;
    }
    return false;
  }

 private:
  std::span<candidate const> all_;
  std::vector<bool> is_taken_;
  std::vector<std::size_t> order_;
  std::size_t kernels_ = 0;
  std::uint64_t memory_ = 0;
  std::size_t with_memory_ = 0;  // kernels that take some
  std::map<std::string_view, std::size_t> of_owner_;
};

/// Makes room within the caps of owners; answers for how many of those who wait there is room then.
std::size_t make_room_for_owners(selection& staying, std::span<std::string_view const> waiting, kernel_limits const& limits,
                                 storage::unix_ms now, std::vector<victim>& into) {
  if (limits.kernels_per_owner == 0) return waiting.size();
  std::map<std::string_view, std::size_t> given;
  std::size_t with_room = 0;
  for (auto const owner : waiting) {
    auto& of_owner = given[owner];
    if (staying.of(owner) + of_owner >= limits.kernels_per_owner && !staying.take_next(now, eviction_reason::cap, owner, into))
      continue;
    ++of_owner;
    ++with_room;
  }
  return with_room;
}

}  // namespace

std::vector<victim> choose_victims(std::span<candidate const> all, std::span<std::string_view const> waiting,
                                   kernel_limits const& limits, storage::unix_ms now) {
  // Behind a start the least recently used one may be among those that are not attached again yet.
  if (std::any_of(all.begin(), all.end(), [](auto const& each) { return each.is_sought; })) return {};
  selection staying(all);
  // What goes for its age makes room as well: it is counted first and told last.
  std::vector<victim> aged, chosen;
  for (auto const at : staying.order()) {
    auto const& each = all[at];
    if (each.save_again_at > now) continue;
    if (is_over_idle_limit(each, limits, now))
      staying.take(at, eviction_reason::idle, aged);
    else if (is_to_be_upgraded(each) && now - each.idle_since >= limits.upgrade_ms)
      staying.take(at, eviction_reason::upgraded, chosen);
  }

  auto const wanted = make_room_for_owners(staying, waiting, limits, now, chosen);
  auto const is_over_caps = [&] {
    return (limits.kernels > 0 && staying.kernels() > limits.kernels) ||
           (limits.kernels_hard > 0 && staying.kernels() + wanted > limits.kernels_hard && staying.kernels() > 0);
  };
  while (is_over_caps() && staying.take_next(now, eviction_reason::cap, {}, chosen)) {
  }
  // Nobody gains by the end of the only kernel while nobody waits.
  auto const is_over_memory = [&] {
    if (limits.memory_bytes == 0) return false;
    if (wanted > 0) return staying.memory() + defaults::kernel_memory_assumed > limits.memory_bytes;
    return staying.with_memory() > 1 && staying.memory() > limits.memory_bytes;
  };
  while (is_over_memory() && staying.take_next(now, eviction_reason::memory, {}, chosen)) {
  }
  chosen.insert(chosen.end(), aged.begin(), aged.end());
  return chosen;
}

std::vector<std::size_t> victim_ranks(std::span<candidate const> all) {
  std::vector<std::size_t> ranks(all.size(), 0);
  std::size_t rank = 0;
  for (auto const at : in_order(all))
    if (!all[at].is_pinned) ranks[at] = ++rank;
  return ranks;
}

storage::unix_ms next_look(std::span<candidate const> all, kernel_limits const& limits, storage::unix_ms now) {
  storage::unix_ms next = limits.idle_ms > 0 ? now + limits.idle_ms : 0;
  auto const sooner = [&](storage::unix_ms when) {
    if (next == 0 || when < next) next = when;
  };
  for (auto const& each : all) {
    if (each.is_stale && limits.upgrade_ms > 0) sooner(now + limits.upgrade_ms);
    if (!may_be_ended(each)) continue;
    if (each.save_again_at > now) {
      sooner(each.save_again_at);
      continue;
    }
    if (limits.idle_ms > 0) sooner(std::max(now, each.idle_since + limits.idle_ms));
    if (is_to_be_upgraded(each)) sooner(std::max(now, each.idle_since + limits.upgrade_ms));
  }
  return next;
}

shortage shortage_of(occupancy const& there, kernel_limits const& limits) {
  if (limits.kernels_per_owner > 0 && there.of_owner >= limits.kernels_per_owner) return shortage::of_owner;
  if (limits.kernels_hard > 0 && there.kernels >= limits.kernels_hard) return shortage::kernels;
  if (limits.memory_bytes > 0 && there.memory_bytes > 0 &&
      there.memory_bytes + defaults::kernel_memory_assumed > limits.memory_bytes)
    return shortage::memory;
  return shortage::none;
}

}  // namespace holdfast::core
