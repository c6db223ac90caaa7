// What a user may set, with its precedence: flag, environment (HOLDFAST_<KEY>), file ($HOME/config.toml), default.
// A bad value anywhere, or an unknown key in the file, is an error that names its place; nothing is guessed or corrected.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "actors/base/defaults.hpp"
#include "actors/base/errors.hpp"

namespace holdfast {

struct config {
  std::filesystem::path home;      // absolute; not made yet (home.hpp does that)
  std::string python = "python3";  // as given: a name is looked for on PATH when it is needed

  std::chrono::milliseconds cell_timeout = defaults::cell_timeout;          // 0: none
  std::chrono::milliseconds background_after = defaults::background_after;  // 0: never
  std::chrono::milliseconds interrupt_grace = defaults::interrupt_grace;
  std::chrono::milliseconds grace = defaults::grace;
  std::chrono::milliseconds hello_deadline = defaults::hello_deadline;
  std::chrono::milliseconds attach_budget = defaults::attach_budget;
  std::chrono::milliseconds admission_timeout = defaults::admission_timeout;
  std::chrono::milliseconds idle = defaults::idle;  // 0: never

  std::uint32_t max_kernels = defaults::max_kernels;                      // soft; 0: none
  std::uint32_t max_kernels_hard = defaults::max_kernels_hard;            // 0: none
  std::uint32_t max_kernels_per_owner = defaults::max_kernels_per_owner;  // 0: none
  std::uint32_t max_memory_mb = defaults::max_memory_mb;                  // MiB; 0: none

  std::uint32_t keep_cells = defaults::keep_cells;            // at least 1
  std::uint32_t keep_cells_days = defaults::keep_cells_days;  // at least 1
  std::uint32_t boot_slots = defaults::boot_slots;            // at least 1

  std::vector<std::string> pass_env;   // names of variables that kernels get besides the usual ones
  std::vector<std::string> preload;    // modules that a nursery imports before it forks
  bool strict_durability = false;      // durability = "strict": an accepted cell is synced before it is acknowledged
  bool fallback_per_call = true;       // fallback = "per_call": a cell for which no kernel starts runs once without; or "error"
  std::string tools_module = "tools";  // under which name cells import their tools
  std::string metrics_listen = "off";  // or ADDRESS:PORT, a loopback address

  // For tests; from the environment only.
  double time_scale = 1;      // HOLDFAST_TIME_SCALE: divides the daemon's own timers and the kernels' grace
  std::string failpoints;     // HOLDFAST_FAILPOINTS: see failpoints.hpp; handed on to nursery and kernels as it is
  std::string failpoint_log;  // HOLDFAST_FAILPOINT_LOG: a file to which each name is appended as it fires

  /// HOLDFAST_* variables that name nothing: to be logged, not refused, as others may own the prefix
  /// (Kubernetes sets HOLDFAST_SERVICE_HOST beside a service of that name).
  std::vector<std::string> ignored_variables;

  /// A deadline under the time scale: never below 250 ms, unless it was shorter unscaled.
  std::chrono::milliseconds scaled(std::chrono::milliseconds deadline) const;
  /// A retry delay or a period under the time scale: no floor but 1 ms, so that it never spins.
  std::chrono::milliseconds scaled_delay(std::chrono::milliseconds delay) const;
};

using environment_map = std::map<std::string, std::string>;

/// This process's environment, read once.
environment_map current_environment();

/// `invalid_params` naming file, line and key, or the variable; also when the file is there but cannot be read.
result<config> load_config(std::optional<std::filesystem::path> home_flag, environment_map const& environment);

/// $XDG_STATE_HOME/holdfast, or ~/.local/state/holdfast; an error when the environment has neither.
result<std::filesystem::path> default_home(environment_map const& environment);

}  // namespace holdfast
