#include "actors/core/wind_down_waves.hpp"

#include <algorithm>
#include <utility>

#include "actors/core/messages.hpp"

namespace holdfast::core {

using std::chrono::milliseconds;

milliseconds wind_down_waves::begin(bool end_kernels) {
  ends_kernels_ = end_kernels;
  return tell_next();
}

std::optional<milliseconds> wind_down_waves::go_on() {
  if (!ends_kernels_ || was_late_) return std::nullopt;
  return tell_next();
}

milliseconds wind_down_waves::tell_next() {
  auto const& sessions = shared_->sessions;
  auto underway = std::count_if(sessions.begin(), sessions.end(), [this](auto const& each) { return told_.contains(each.first); });
  for (auto const& [key, entry] : sessions) {
    if (ends_kernels_ && underway >= static_cast<std::ptrdiff_t>(defaults::hibernations_at_once)) break;
    if (!told_.insert(key).second) continue;
    ++underway;
    self_->send(entry.actor, wind_down{ends_kernels_});
  }
  auto const& settings = shared_->settings;
  if (!ends_kernels_) return settings.scaled(defaults::settle_deadline);
  return defaults::namespace_deadline + settings.interrupt_grace + defaults::kill_margin;
}

bool wind_down_waves::kill_late() {
  if (!ends_kernels_ || std::exchange(was_late_, true)) return false;
  for (auto const& [key, entry] : shared_->sessions) {
    self_->send(entry.actor, wind_down{true});
    self_->send(entry.actor, wind_down{true, true});
  }
  return true;
}

}  // namespace holdfast::core
