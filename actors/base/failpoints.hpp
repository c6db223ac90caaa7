// Failpoints: named steps at which a test kills, fails or delays the gateway. Unset, a step costs one relaxed load.
// Syntax: `link.before_ack=3*off->kill;core.after_hello=delay(50)`: per name a chain of actions, each with a number of hits
// except the last, which stays. Actions: off, kill (SIGKILL to itself), error (the step fails), delay(milliseconds).
// Unknown names are refused, save those of the program (kernel.*, nursery.*), to which the text is handed on.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "actors/base/errors.hpp"
#include "actors/base/failpoint_names.hpp"

namespace holdfast {

enum class failpoint_id : std::uint16_t {
#define HOLDFAST_FAILPOINT(identifier, name) identifier,
  HOLDFAST_FAILPOINT_NAMES(HOLDFAST_FAILPOINT)
#undef HOLDFAST_FAILPOINT
};

/// All names that may be armed in this process: the gateway's, then the stores'.
std::span<std::string_view const> failpoint_names();
std::string_view to_string(failpoint_id id);

enum class failpoint_action : std::uint8_t { off, kill, error, delay };

struct failpoint_step {
  failpoint_action action = failpoint_action::off;
  std::optional<std::uint32_t> hits;  // none: for ever
  std::chrono::milliseconds delay{0};
  friend bool operator==(failpoint_step const&, failpoint_step const&) = default;
};

struct failpoint_plan {
  std::string name;
  std::vector<failpoint_step> steps;  // not empty; in the order of hits; after the last counted one it is off
  friend bool operator==(failpoint_plan const&, failpoint_plan const&) = default;
};

/// `invalid_params` naming the piece of text that is wrong.
result<std::vector<failpoint_plan>> parse_failpoints(std::string_view text);

/// Arms these and no others from now on; `log` (none: empty) is a file to which a name is appended before its action, `off` excepted.
result<void> arm_failpoints(std::string_view text, std::filesystem::path const& log = {});
void disarm_failpoints();

namespace detail {
inline std::atomic<bool> any_failpoint_armed{false};
bool hit_failpoint(std::string_view name);
}  // namespace detail

/// True: act as if this step failed. May not return at all.
inline bool failpoint(failpoint_id id) {
  return detail::any_failpoint_armed.load(std::memory_order_relaxed) && detail::hit_failpoint(to_string(id));
}
/// The same by name: what storage::options::failpoint takes.
inline bool failpoint(std::string_view name) {
  return detail::any_failpoint_armed.load(std::memory_order_relaxed) && detail::hit_failpoint(name);
}

}  // namespace holdfast
