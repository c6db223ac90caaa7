#include "actors/core/kernel_keeper.hpp"

#include <algorithm>

#include "actors/base/clock.hpp"

namespace holdfast::core {

using std::chrono::steady_clock;

kernel_limits limits_of(config const& settings) {
  return {settings.max_kernels,
          settings.max_kernels_hard,
          settings.max_kernels_per_owner,
          std::uint64_t{settings.max_memory_mb} * defaults::mib,
          settings.idle.count() == 0 ? 0 : settings.scaled_delay(settings.idle).count(),
          settings.scaled_delay(defaults::upgrade_after).count()};
}

kernel_keeper::kernel_keeper(caf::io::broker* self, shared_context shared, alarm& wake)
    : self_(self), shared_(std::move(shared)), wake_(wake) {}

void kernel_keeper::start() {
  look();
  measure();
}

void kernel_keeper::gather() {
  candidates_.clear();
  sessions_.clear();
  for (auto const& [key, entry] : shared_->sessions) {
    if (!entry.face) continue;
    entry.face->add_candidates(candidates_);
    sessions_.resize(candidates_.size(), &entry.actor);
  }
}

void kernel_keeper::look() {
  shared_->look_asked = false;
  if (shared_->shutting_down) return;
  gather();
  auto const& roll = *shared_->kernels;
  std::vector<std::string_view> waiting;
  for (auto const& each : roll.queue()) waiting.push_back(each.owner);
  auto const now = now_ms();
  auto underway = static_cast<std::size_t>(
      std::count_if(candidates_.begin(), candidates_.end(), [](auto const& each) { return each.is_being_ended; }));
  for (auto const& each : choose_victims(candidates_, waiting, roll.limits(), now)) {
    if (underway++ >= defaults::hibernations_at_once) break;
    self_->send(*sessions_[each.at],
                hibernate_kernel{kernel_id(std::string(candidates_[each.at].kernel)), each.reason, each.even_in_part});
  }
  for (auto const& session : roll.admitted()) self_->send(session, room_for_kernel{});
  look_at_.reset();
  if (auto const next = next_look(candidates_, roll.limits(), now); next != 0) {
    look_at_ = steady_clock::now() + std::max(milliseconds(next - now), defaults::idle_look_least);
    wake_.at(self_, *look_at_);
  }
}

void kernel_keeper::on_wake(steady_time now) {
  if (wake_.due(self_, look_at_, now)) look();
  if (wake_.due(self_, measure_at_, now)) measure();
}

/// What /proc says of many kernels takes its time: a worker reads it. Those elsewhere are not in it, and take none of our memory.
void kernel_keeper::measure() {
  if (shared_->kernels->limits().memory_bytes == 0 || shared_->shutting_down) return;
  measure_memory request{caf::actor_cast<caf::actor>(self_), {}};
  for (auto const& [key, entry] : shared_->sessions)
    if (entry.face)
      for (auto const& view : entry.face->kernels())
        if (view.live && view.environment == "local") request.of.emplace_back(view.kernel, view.pid);
  self_->send(shared_->files, std::move(request));
}

void kernel_keeper::on_measured(memory_measured const& told) {
  if (shared_->shutting_down) return;
  for (auto const& [key, entry] : shared_->sessions)
    if (entry.face) entry.face->on_measured(told.bytes);
  if (shared_->kernels->is_short()) look();
  measure_at_ = steady_clock::now() + shared_->settings.scaled_delay(defaults::memory_look);
  wake_.at(self_, *measure_at_);
}

std::map<std::string, std::size_t, std::less<>> kernel_keeper::ranks() {
  gather();
  std::map<std::string, std::size_t, std::less<>> found;
  auto const ranks = victim_ranks(candidates_);
  for (std::size_t at = 0; at < ranks.size(); ++at)
    if (ranks[at] > 0) found.emplace(candidates_[at].kernel, ranks[at]);
  return found;
}

}  // namespace holdfast::core
