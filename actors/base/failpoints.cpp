#include "actors/base/failpoints.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include <spdlog/fmt/fmt.h>

#include "actors/base/unique_fd.hpp"
#include "storage/failpoint_names.hpp"

namespace holdfast {
namespace {

constexpr std::string_view own_names[] = {
#define HOLDFAST_FAILPOINT(identifier, name) name,
    HOLDFAST_FAILPOINT_NAMES(HOLDFAST_FAILPOINT)
#undef HOLDFAST_FAILPOINT
};

struct armed_failpoint {
  std::vector<failpoint_step> steps;  // as planned; the front one is in force, its hits are counted down
};

struct registry {
  std::mutex mutex;
  std::map<std::string, armed_failpoint, std::less<>> armed;  // guarded by mutex; only names of this process
  unique_fd log;                                              // guarded by mutex; none: no log
};
registry& the_registry() {
  static registry instance;
  return instance;
}

bool belongs_to_program(std::string_view name) { return name.starts_with("kernel.") || name.starts_with("nursery."); }

tl::unexpected<error> refuse(std::string_view piece, std::string_view why) {
  return fail(error_code::invalid_params, fmt::format("bad failpoint \"{}\": {}", piece, why));
}

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> pieces;
  while (true) {
    auto const end = text.find(separator);
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + separator.size());
  }
}

std::optional<std::uint32_t> parse_number(std::string_view text) {
  std::uint32_t number = 0;
  auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// `[N*]off`, `kill`, `error` or `delay(MS)`.
result<failpoint_step> parse_step(std::string_view piece) {
  failpoint_step step;
  auto action = piece;
  if (auto const star = piece.find('*'); star != std::string_view::npos) {
    step.hits = parse_number(piece.substr(0, star));
    if (!step.hits || *step.hits == 0) return refuse(piece, "wanted a number from 1 before *");
    action = piece.substr(star + 1);
  }
  if (action == "off") return step;
  if (action == "kill") return step.action = failpoint_action::kill, step;
  if (action == "error") return step.action = failpoint_action::error, step;
  if (action.starts_with("delay(") && action.ends_with(")")) {
    auto const milliseconds = parse_number(action.substr(6, action.size() - 7));
    if (!milliseconds) return refuse(piece, "wanted delay(milliseconds)");
    step.action = failpoint_action::delay;
    step.delay = std::chrono::milliseconds(*milliseconds);
    return step;
  }
  return refuse(piece, "unknown action; wanted off, kill, error or delay(milliseconds)");
}

result<failpoint_plan> parse_plan(std::string_view piece) {
  auto const equals = piece.find('=');
  if (equals == std::string_view::npos) return refuse(piece, "wanted name=action");
  failpoint_plan plan{std::string(piece.substr(0, equals)), {}};
  auto const known = failpoint_names();
  if (!belongs_to_program(plan.name) && std::find(known.begin(), known.end(), plan.name) == known.end())
    return refuse(plan.name, "no failpoint has this name");
  for (auto const text : split(piece.substr(equals + 1), "->")) {
    auto const step = parse_step(text);
    if (!step) return tl::unexpected(step.error());
    if (!plan.steps.empty() && !plan.steps.back().hits)
      return refuse(piece, "only the last action may go without a number of hits");
    plan.steps.push_back(*step);
  }
  return plan;
}

/// The step in force for this hit, its count taken down.
failpoint_step next_step(armed_failpoint& point) {
  while (!point.steps.empty()) {
    auto& front = point.steps.front();
    if (!front.hits) return front;
    if (*front.hits > 0) {
      --*front.hits;
      return front;
    }
    point.steps.erase(point.steps.begin());
  }
  return {};
}

}  // namespace

std::span<std::string_view const> failpoint_names() {
  static std::vector<std::string_view> const names = [] {
    std::vector<std::string_view> all(std::begin(own_names), std::end(own_names));
    all.insert(all.end(), std::begin(storage::failpoint::names), std::end(storage::failpoint::names));
    return all;
  }();
  return names;
}

std::string_view to_string(failpoint_id id) { return own_names[static_cast<std::size_t>(id)]; }

result<std::vector<failpoint_plan>> parse_failpoints(std::string_view text) {
  std::vector<failpoint_plan> plans;
  for (auto const piece : split(text, ";")) {
    if (piece.empty()) continue;
    auto plan = parse_plan(piece);
    if (!plan) return tl::unexpected(plan.error());
    plans.push_back(std::move(*plan));
  }
  return plans;
}

result<void> arm_failpoints(std::string_view text, std::filesystem::path const& log) {
  auto plans = parse_failpoints(text);
  if (!plans) return tl::unexpected(plans.error());
  unique_fd log_fd;
  if (!log.empty()) {
    log_fd = unique_fd(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (!log_fd)
      return fail(error_code::invalid_params, fmt::format("cannot open failpoint log {}: {}", log.string(), std::strerror(errno)));
  }
  auto& all = the_registry();
  std::lock_guard const lock(all.mutex);
  all.armed.clear();
  for (auto& plan : *plans)
    if (!belongs_to_program(plan.name)) all.armed[plan.name] = {std::move(plan.steps)};
  all.log = std::move(log_fd);
  detail::any_failpoint_armed.store(!all.armed.empty(), std::memory_order_relaxed);
  return {};
}

void disarm_failpoints() {
  auto& all = the_registry();
  std::lock_guard const lock(all.mutex);
  detail::any_failpoint_armed.store(false, std::memory_order_relaxed);
  all.armed.clear();
  all.log.reset();
}

bool detail::hit_failpoint(std::string_view name) {
  failpoint_step step;
  {
    auto& all = the_registry();
    std::lock_guard const lock(all.mutex);
    auto const point = all.armed.find(name);
    if (point == all.armed.end()) return false;
    step = next_step(point->second);
    if (step.action == failpoint_action::off) return false;
    // One write, before the action: a test reads the name although the process was killed.
    auto const line = std::string(name) + "\n";
    if (all.log && ::write(all.log.get(), line.data(), line.size()) == -1) all.log.reset();
  }
  if (step.action == failpoint_action::kill) ::kill(::getpid(), SIGKILL);
  if (step.action == failpoint_action::delay) std::this_thread::sleep_for(step.delay);
  return step.action == failpoint_action::error;
}

}  // namespace holdfast
