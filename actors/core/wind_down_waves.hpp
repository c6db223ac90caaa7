// In which order do sessions hear that the gateway ends? All at once; where their kernels are saved and ended, which takes processor and
// disk, hibernations_at_once at a time. Used by the supervisor, which gives it time. Ends nothing itself.
#pragma once

#include <chrono>
#include <optional>
#include <set>

#include <caf/io/broker.hpp>

#include "actors/core/context.hpp"

namespace holdfast::core {

class wind_down_waves {
 public:
  wind_down_waves(caf::io::broker* self, shared_context shared) : self_(self), shared_(std::move(shared)) {}

  /// How long those that have been told may take.
  std::chrono::milliseconds begin(bool end_kernels);
  /// A session has ended: the next one is told, and all have as much time again. None: nothing changes for it.
  std::optional<std::chrono::milliseconds> go_on();
  /// Has every kernel killed that has not ended yet; false: none is to be ended, or that was done before.
  bool kill_late();
  bool ends_kernels() const { return ends_kernels_; }

 private:
  std::chrono::milliseconds tell_next();

  caf::io::broker* self_;
  shared_context shared_;
  bool ends_kernels_ = false;
  bool was_late_ = false;
  std::set<session_key> told_;
};

}  // namespace holdfast::core
