#include "bin/holdfast/service.hpp"

#include <algorithm>
#include <thread>

#include "actors/base/config.hpp"
#include "actors/base/home.hpp"
#include "bin/holdfast/daemon_start.hpp"

namespace holdfast::cli {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds connect_timeout{5'000};  // a daemon that lives accepts at once, unless its machine stalls
constexpr milliseconds start_timeout{20'000};   // from the first try to a daemon that listens: a cold disk, a slow machine
constexpr milliseconds winner_timeout{
    1'000};  // for another daemon that has the home to answer or to end; then a start is tried again
constexpr milliseconds retry_delay{50};

error cannot_start(std::filesystem::path const& home, std::string const& why) {
  return error{error_code::unreachable, "cannot start a daemon in " + home.string() + ": " + why, {{"closed", true}}};
}

/// Asks every 50 ms until `deadline`.
result<front::client> connect_before(std::filesystem::path const& home, steady_clock::time_point deadline,
                                     std::function<bool()> const& is_cancelled) {
  for (;;) {
    auto connection = front::client::connect(socket_of(home), connect_timeout);
    if (connection || is_cancelled() || steady_clock::now() >= deadline) return connection;
    std::this_thread::sleep_for(retry_delay);
  }
}

std::string reason_of(start_outcome const& outcome) {
  switch (outcome.end) {
    case start_end::home_taken:
    case start_end::refused: return outcome.reason;
    case start_end::died: return "it ended before it was ready";
    case start_end::ready: return "it was ready and does not answer";
    case start_end::timed_out: break;
  }
  return "it did not become ready in time";
}

}  // namespace

result<std::filesystem::path> find_home(std::optional<std::string> const& flag) {
  auto const environment = current_environment();
  std::filesystem::path home;
  if (flag) {
    home = *flag;
  } else if (auto const found = environment.find("HOLDFAST_HOME"); found != environment.end()) {
    home = found->second;
  } else {
    auto standard = default_home(environment);
    if (!standard) return standard;
    home = *standard;
  }
  if (home.empty()) return fail(error_code::invalid_params, "the home is empty; name a directory with --home or HOLDFAST_HOME");
  std::error_code problem;
  auto const absolute = std::filesystem::absolute(home, problem);
  return problem ? home : absolute.lexically_normal();
}

std::filesystem::path socket_of(std::filesystem::path const& home) { return home / "holdfast.sock"; }
std::filesystem::path log_of(std::filesystem::path const& home) { return home / "daemon.log"; }

result<front::client> connect_running(std::filesystem::path const& home) {
  auto connection = front::client::connect(socket_of(home), connect_timeout);
  if (connection) return connection;
  return fail(error_code::unreachable, "no daemon answers in " + home.string() + "; holdfast run and holdfast serve start one",
              {{"closed", true}});
}

result<front::client> connect_or_start(std::filesystem::path const& home, std::function<bool()> const& is_cancelled) {
  auto const deadline = steady_clock::now() + start_timeout;
  if (auto connection = front::client::connect(socket_of(home), connect_timeout)) return connection;
  // Where there is no home there is no log to be seen.
  if (auto const prepared = prepare_home(home); !prepared) return tl::unexpected(cannot_start(home, prepared.error().message));
  std::string reason = "interrupted";
  // Bounded by the deadline. Safe to repeat: a daemon too many finds the home taken, says so and ends.
  while (!is_cancelled() && steady_clock::now() < deadline) {
    auto const outcome = start_daemon(home, deadline, is_cancelled);
    if (!outcome) return tl::unexpected(outcome.error());
    auto const patience = outcome->end == start_end::home_taken ? winner_timeout : retry_delay;
    auto connection = connect_before(home, std::min(deadline, steady_clock::now() + patience), is_cancelled);
    if (connection) return connection;
    reason = reason_of(*outcome);
    // Its own words are complete: another try says the same, and the log no more.
    if (outcome->end == start_end::refused)
      return fail(error_code::unreachable, "cannot start a daemon: " + reason, {{"closed", true}});
  }
  return tl::unexpected(cannot_start(home, reason + "; see " + log_of(home).string()));
}

}  // namespace holdfast::cli
