// The commands: one function each, its arguments in, the exit code out. Each talks to a daemon and shows what it says; the rows of
// lists are made in rows.hpp, results in cell_view.hpp.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "bin/holdfast/arguments.hpp"

namespace holdfast::cli {

/// What every command knows.
struct settings {
  std::filesystem::path home;  // absolute
  std::string home_flag;       // as given with --home, "" if it was not
  bool json = false;
};

// follow_commands.cpp
int execute(settings const& here, run_arguments const& given);
int execute(settings const& here, wait_arguments const& given);
int follow_log(settings const& here, logs_arguments const& given);
// logs_command.cpp
int execute(settings const& here, logs_arguments const& given);
// cell_commands.cpp
int execute(settings const& here, cells_arguments const& given);
int execute(settings const& here, cell_arguments const& given);
int execute(settings const& here, interrupt_arguments const& given);
int execute(settings const& here, display_arguments const& given);
// session_commands.cpp
int execute(settings const& here, sessions_arguments const& given);
int execute(settings const& here, session_arguments const& given);
int execute(settings const& here, variables_arguments const& given);
int execute(settings const& here, reset_arguments const& given);
int execute(settings const& here, close_arguments const& given);
int execute(settings const& here, fork_arguments const& given);
// kernel_commands.cpp
int execute(settings const& here, kernels_arguments const& given);
int execute(settings const& here, kernel_arguments const& given);
// job_commands.cpp
int execute(settings const& here, jobs_arguments const& given);
int execute(settings const& here, job_arguments const& given);
/// The output of a job; none: there is no such job.
std::optional<int> show_job_log(settings const& here, logs_arguments const& given);
// notice_commands.cpp
int execute(settings const& here, notices_arguments const& given);
int execute(settings const& here, events_arguments const& given);
// service_commands.cpp
int execute(settings const& here, status_arguments const& given);
int execute(settings const& here, metrics_arguments const& given);
int execute(settings const& here, stop_arguments const& given);
// doctor_command.cpp
int execute(settings const& here, doctor_arguments const& given);
// serve_command.cpp
int execute(settings const& here, serve_arguments const& given);

/// The whole command line: parses, executes, returns the exit code.
int execute_line(int argc, char const* const* argv);

}  // namespace holdfast::cli
