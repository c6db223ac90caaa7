#include "actors/core/job_outcome.hpp"

#include <signal.h>
#include <string.h>

#include <charconv>
#include <string>

namespace holdfast::core {

namespace {

/// The number of "SIGKILL" or "SIG34"; 0 for none.
int signal_number(std::string_view name) {
  if (!name.starts_with("SIG")) return 0;
  name.remove_prefix(3);
  for (int number = 1; number < NSIG; ++number)
    if (auto const* known = ::sigabbrev_np(number); known != nullptr && name == known) return number;
  int number = 0;
  auto const [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
  return problem == std::errc{} && end == name.data() + name.size() && number > 0 && number < NSIG ? number : 0;
}

}  // namespace

std::optional<std::int64_t> exit_code_of(link::job_finished const& frame) {
  if (!frame.signal) return frame.exit_code;
  auto const number = signal_number(*frame.signal);
  return number == 0 ? frame.exit_code : std::optional<std::int64_t>(-number);
}

storage::job_record finished(storage::job_record row, link::job_finished const& frame) {
  row.state = frame.stopped ? storage::job_state::stopped : storage::job_state::finished;
  row.exit_code = exit_code_of(frame);
  row.timed_out = frame.timed_out;
  row.finished_at = std::max(frame.at, row.started_at);
  row.output_bytes = frame.output_bytes;
  return row;
}

}  // namespace holdfast::core
