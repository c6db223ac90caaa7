// Starts one nursery: stages the program, makes its directory, runs its first process to the end. Blocks: for a detached actor.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "actors/base/errors.hpp"
#include "storage/records.hpp"

namespace holdfast::env {

struct nursery_plan {
  std::filesystem::path home;
  storage::nursery_record row;  // python is resolved, directory is relative to the home
  std::string home_id;
  std::vector<std::string> preload;
  std::map<std::string, std::string> variables;
  std::string failpoints;
  std::string failpoint_log;
  std::int64_t idle_ms = 0;
};

/// Kernels of one key come from one nursery: interpreter, program, preloaded modules, and what of the variables an interpreter looks at.
std::string nursery_key(std::string const& python, std::vector<std::string> const& preload,
                        std::map<std::string, std::string> const& interpreter);

/// Answers once the nursery listens. `start_failed` names the interpreter and what it said.
result<void> start_nursery(nursery_plan const& plan);

/// Writes the embedded program to `home/program/<digest>`, atomically and once; answers that directory.
result<std::filesystem::path> stage_program(std::filesystem::path const& home);

}  // namespace holdfast::env
