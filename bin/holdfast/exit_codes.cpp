#include "bin/holdfast/exit_codes.hpp"

#include "bin/holdfast/fields.hpp"

namespace holdfast::cli {

int code_of_result(boost::json::object const& result) {
  if (!flag(result, "final")) return exit_running;
  auto const status = text(result, "status");
  if (status == "ok") return exit_ok;
  if (status == "exit") return static_cast<int>(number(result, "exit_code") & 0xff);
  if (status == "timeout") return exit_timeout;
  if (status == "interrupted") return exit_interrupted;
  if (status == "lost") return exit_lost;
  return exit_cell_error;
}

int code_of_error(error const& problem) {
  if (problem.code == error_code::invalid_params) return exit_usage;
  // The same code means two things: a kernel that the daemon cannot reach (refused), and a daemon that we cannot reach.
  if (problem.code == error_code::unreachable && (flag(problem.data, "closed") || flag(problem.data, "timeout")))
    return exit_no_service;
  return exit_refused;
}

}  // namespace holdfast::cli
