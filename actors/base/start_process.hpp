// Runs a short-lived process to its end: how a nursery is started (its first process ends once it listens).
// Blocks its thread: for detached actors only. Safe beside other threads. What it starts is in its own session and holds none
// of this process's descriptors.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "actors/base/errors.hpp"

namespace holdfast {

struct finished_process {
  int exit_code = 0;           // minus the signal's number when one ended it
  std::string standard_error;  // its first 16 KiB
};

/// Runs `argv` with `env` alone as its environment; argv[0] without a slash is looked for on PATH of `env`. Its standard input is
/// `stdin_text`, its standard output /dev/null. Ends when that process does, whoever else holds its standard error.
/// `start_failed` when it cannot be executed or is not over at `timeout`: then its process group has been killed.
result<finished_process> run_process(std::vector<std::string> const& argv, std::map<std::string, std::string> const& env,
                                     std::filesystem::path const& cwd, std::string const& stdin_text,
                                     std::chrono::milliseconds timeout);

}  // namespace holdfast
