// status, metrics and stop: the daemon itself.
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <spdlog/fmt/fmt.h>
#include <boost/json/serialize.hpp>

#include "actors/base/unique_fd.hpp"
#include "bin/holdfast/ask.hpp"
#include "bin/holdfast/exit_codes.hpp"
#include "bin/holdfast/failure.hpp"
#include "bin/holdfast/fields.hpp"
#include "bin/holdfast/format.hpp"
#include "bin/holdfast/rows.hpp"
#include "bin/holdfast/service.hpp"
#include "bin/holdfast/streams.hpp"

namespace holdfast::cli {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds answer_timeout{30'000};
/// From the answer to shutdown to the end of the process: waiters are answered and the stores closed meanwhile.
constexpr milliseconds end_timeout{30'000};
constexpr milliseconds progress_pause{2'000};

unique_fd open_pidfd(std::int64_t pid) {
  return unique_fd(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0u)));
}

bool wait_gone(unique_fd const& pidfd) {
  pollfd waiting{pidfd.get(), POLLIN, 0};
  return !pidfd || ::poll(&waiting, 1, static_cast<int>(end_timeout.count())) != 0;
}

/// Asks for the end of daemon and kernels; tells a terminal how many are left, as saving takes its time.
result<boost::json::value> end_with_kernels(front::client& connection) {
  auto const sent = connection.send("shutdown", {{"kernels", true}});
  if (!sent) return tl::unexpected(sent.error());
  for (;;) {
    auto came = connection.receive(progress_pause);
    if (came && came->id == *sent) return came->problem ? result<boost::json::value>(tl::unexpected(*came->problem)) : came->result;
    if (came) continue;
    if (!came.error().data.contains("timeout")) return tl::unexpected(came.error());
    auto const status = connection.call("status", {}, answer_timeout);
    if (!status && status.error().data.contains("timeout")) return tl::unexpected(status.error());
    // One that has ended meanwhile has answered before that: it is received next.
    if (!status || ::isatty(STDERR_FILENO) == 0 || !status->is_object()) continue;
    std::int64_t left = 0;
    if (auto const* states = object_in(status->get_object(), "kernels"))
      for (auto const& [state, amount] : *states) left += number(*states, state);
    complain(counted(left, "kernel") + " left to save and end");
  }
}

}  // namespace

int execute(settings const& here, status_arguments const& given) {
  auto connection = connect_running(here.home);
  if (!connection) return show_failure(connection.error(), here.json);
  auto const answer = connection->call("status", {}, answer_timeout);
  if (!answer) return show_failure(answer.error(), here.json);
  auto const status = answer->is_object() ? answer->get_object() : boost::json::object{};
  if (here.json)
    write_out(boost::json::serialize(status) + "\n");
  else if (given.only_pid)
    write_out(fmt::format("{}\n", number(status, "pid")));
  else
    write_out(render_facts(status_facts(status)));
  return exit_ok;
}

int execute(settings const& here, metrics_arguments const&) {
  auto connection = connect_running(here.home);
  if (!connection) return show_failure(connection.error(), here.json);
  auto const answer = connection->call("metrics", {}, answer_timeout);
  if (!answer) return show_failure(answer.error(), here.json);
  if (here.json)
    write_out(boost::json::serialize(*answer) + "\n");
  else if (auto const* text = answer->if_string())
    write_out({text->data(), text->size()});
  return exit_ok;
}

int execute(settings const& here, stop_arguments const& given) {
  auto connection = connect_running(here.home);
  if (!connection) return show_failure(connection.error(), here.json);
  auto const status = connection->call("status", {}, answer_timeout);
  if (!status) return show_failure(status.error(), here.json);
  // Opened while the daemon answers, so this is the daemon and not a later process of its number.
  auto const pidfd = status->is_object() ? open_pidfd(number(status->get_object(), "pid")) : unique_fd();
  auto const answer = given.kernels ? end_with_kernels(*connection) : connection->call("shutdown", {}, answer_timeout);
  if (!answer) return show_failure(answer.error(), here.json);
  if (!wait_gone(pidfd)) complain("the daemon has answered but has not ended within 30 s; see " + log_of(here.home).string());
  auto const left = answer->is_object() ? number(answer->get_object(), "kernels_left") : 0;
  if (here.json)
    write_out(boost::json::serialize(*answer) + "\n");
  else
    write_out(fmt::format("stopped; {} {} on\n", counted(left, "kernel"), left == 1 ? "lives" : "live"));
  auto const lost = answer->is_object() ? number(answer->get_object(), "not_saved") : 0;
  if (lost > 0)
    complain(counted(lost, "namespace") + " could not be saved; not-saved in " + log_of(here.home).string() + " says which");
  if (given.kernels && left > 0) complain("not all kernels could be ended; see " + log_of(here.home).string());
  return given.kernels && left > 0 ? exit_refused : exit_ok;
}

}  // namespace holdfast::cli
