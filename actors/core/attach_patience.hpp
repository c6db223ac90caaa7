// How long a kernel is waited for that does not answer. Unreachable time is taken from a budget and adds up until it answers; a silent
// kernel, which runs, costs none of it, is told after a while and has a limit of its own. Pure: who owns it looks at the two instants.
#pragma once

#include <optional>

#include "actors/base/caf.hpp"
#include "actors/base/defaults.hpp"

namespace holdfast::core {

class attach_patience {
 public:
  /// It cannot be reached now, or still not. `budget`: for how long in all.
  void on_unreachable(steady_time now, steady_time::duration budget) {
    silent_since_.reset();
    tell_silence_at.reset();
    if (!unreachable_since_) unreachable_since_ = now;
    give_up_at = *unreachable_since_ + (budget - before_);
  }
  /// It took the connection, or lets it wait, since `asked`; its process runs.
  void on_silent(steady_time now, steady_time asked, steady_time::duration most) {
    if (unreachable_since_) before_ += now - *unreachable_since_;
    unreachable_since_.reset();
    if (!silent_since_) {
      silent_since_ = asked;
      if (!is_told_) tell_silence_at = asked + defaults::silence_told;
    }
    give_up_at = *silent_since_ + most;
  }
  void on_silence_told() { is_told_ = true; }
  void on_answer() { *this = {}; }

  std::optional<steady_time> give_up_at;
  std::optional<steady_time> tell_silence_at;

 private:
  std::optional<steady_time> unreachable_since_;
  steady_time::duration before_{0};  // unreachable, since it answered last
  std::optional<steady_time> silent_since_;
  bool is_told_ = false;
};

}  // namespace holdfast::core
