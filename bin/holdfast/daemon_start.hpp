// Starts this very executable as the daemon of a home, in the background and on its own: own session, nobody's child, none of our
// descriptors, no mark of a kernel that it may be started from. Says only whether it became ready; connecting is the caller's.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include "actors/base/errors.hpp"

namespace holdfast::cli {

enum class start_end {
  ready,
  home_taken,  // another daemon has the home: it is about to answer, or to end
  refused,     // for a reason that another try does not change
  died,        // without a word
  timed_out,
};

struct start_outcome {
  start_end end = start_end::died;
  std::string reason;  // of home_taken and refused: the daemon's own words
};

/// Waits for the daemon's word until `deadline`, asking `is_cancelled` every 50 ms. An error only when it could not even be forked.
result<start_outcome> start_daemon(std::filesystem::path const& home, std::chrono::steady_clock::time_point deadline,
                                   std::function<bool()> const& is_cancelled);

/// What a daemon writes to its --ready-fd.
std::string ready_line();
std::string failed_line(error const& problem);

}  // namespace holdfast::cli
