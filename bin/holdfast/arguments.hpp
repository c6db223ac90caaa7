// The command line as values: one struct per command. Parsing it touches nothing but argv and HOLDFAST_HOME.
// Refuses what is not built: an unknown command or option is a usage error that names it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <boost/json/object.hpp>

namespace holdfast::cli {

/// Whose session.
struct scope {
  std::string session = "default";
  std::string owner = "default";
  /// Adds `session` and `owner` to the params of a request.
  void add_to(boost::json::object& params) const;
};

struct run_arguments {
  scope where;
  std::map<std::string, std::string> env;  // -e; beside PATH, which always goes along
  std::optional<std::string> python;
  std::optional<std::vector<std::string>> tools;     // none: the session's last
  std::optional<std::chrono::milliseconds> timeout;  // 0: none
  bool reset = false;
  std::optional<std::string> cell;
  bool detach = false;
  std::optional<std::string> file;  // exactly one of file and code; "-" in `code` is standard input
  std::optional<std::string> code;
};
struct wait_arguments {
  scope where;
  std::string cell;
};
struct logs_arguments {
  scope where;
  std::string cell;  // or a job
  bool follow = false;
};
struct cells_arguments {
  scope where;
  std::optional<std::string> status;
  std::int64_t limit = 100;
};
struct cell_arguments {
  scope where;
  std::string cell;
};
struct interrupt_arguments {
  scope where;
  std::optional<std::string> cell;
};

struct sessions_arguments {
  std::optional<std::string> owner, state;
  std::int64_t limit = 100;
};
struct session_arguments {
  scope where;
};
struct reset_arguments {
  scope where;
};
struct close_arguments {
  scope where;
  bool is_whole_owner = false;  // all sessions of where.owner
};

struct fork_arguments {
  scope where;
  std::string into;
};

struct kernels_arguments {
  std::optional<std::string> owner, session, state;
  std::int64_t limit = 100;
};
struct kernel_arguments {
  std::string kernel;
  bool stop = false;
  bool no_save = false;  // only with stop
};

struct display_arguments {
  scope where;
  std::string cell;
  std::int64_t index = 0;
  std::string mime = "text/plain";
};
struct variables_arguments {
  scope where;
  std::int64_t limit = 100;
};
struct jobs_arguments {
  std::optional<std::string> owner, session, state;
  std::int64_t limit = 100;
};
struct job_arguments {
  std::string job;
  bool stop = false;
};

struct notices_arguments {
  std::string owner = "default";
  std::optional<std::string> session;
  bool ack = false;
  std::int64_t limit = 100;
};
struct events_arguments {
  std::optional<std::string> owner;
  std::vector<std::string> types;
  std::optional<std::uint64_t> since;
  bool follow = false;
};

struct serve_arguments {
  std::optional<int> ready_fd;
};
struct status_arguments {
  bool only_pid = false;
};
struct metrics_arguments {};
struct doctor_arguments {};
struct stop_arguments {
  bool kernels = false;  // they are saved and ended as well
};

using command =
    std::variant<run_arguments, wait_arguments, logs_arguments, cells_arguments, cell_arguments, interrupt_arguments,
                 sessions_arguments, session_arguments, reset_arguments, close_arguments, fork_arguments, kernels_arguments,
                 kernel_arguments, display_arguments, variables_arguments, jobs_arguments, job_arguments, notices_arguments,
                 events_arguments, serve_arguments, status_arguments, metrics_arguments, doctor_arguments, stop_arguments>;

struct invocation {
  std::optional<std::string> home;  // --home; else HOLDFAST_HOME and so on
  bool json = false;
  command what;
};

/// Nothing to do but to print: help, the version, or what is wrong with the command line.
struct parse_end {
  std::string text;
  int exit_code = 0;  // 0: to stdout; else to stderr
};

std::variant<invocation, parse_end> parse(int argc, char const* const* argv);

}  // namespace holdfast::cli
