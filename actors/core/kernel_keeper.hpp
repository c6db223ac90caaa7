// Keeps the kernels within their limits, for the supervisor: looks at them when something has changed or a deadline has come, has those
// hibernated that eviction.hpp chooses, lets those who wait start theirs, has memory measured. Collaborators: sessions by their faces,
// which refuse what is busy; kernel_roll, which counts. On the multiplexer thread.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include <caf/io/broker.hpp>

#include "actors/base/caf.hpp"
#include "actors/core/context.hpp"
#include "actors/core/messages.hpp"

namespace holdfast::core {

kernel_limits limits_of(config const& settings);

class kernel_keeper {
 public:
  /// `wake` asks for on_wake at a time.
  kernel_keeper(caf::io::broker* self, shared_context shared, alarm& wake);

  void start();
  void look();
  void on_wake(steady_time now);
  void on_measured(memory_measured const& told);
  /// Of each kernel, the place in which it would be ended to make room, from 1; the others have none.
  std::map<std::string, std::size_t, std::less<>> ranks();

 private:
  void gather();
  void measure();

  caf::io::broker* self_;
  shared_context shared_;
  alarm& wake_;
  std::vector<candidate> candidates_;        // of the last look; what they point to is valid within it
  std::vector<caf::actor const*> sessions_;  // of each candidate
  std::optional<steady_time> look_at_, measure_at_;
};

}  // namespace holdfast::core
