// Looks at what doctor_checks.hpp judges. Reads only: makes no file, signals nothing, connects to the daemon alone, and limits every wait.
#pragma once

#include <filesystem>
#include <set>

#include "actors/base/config.hpp"
#include "bin/holdfast/doctor_checks.hpp"

namespace holdfast::cli {

home_facts look_at_home(std::filesystem::path const& home, config const& settings);
/// `known` becomes the ids of the kernels that the daemon knows.
daemon_facts look_at_daemon(std::filesystem::path const& home, std::set<std::string>& known);
/// Runs the interpreter, for 30 s at most.
python_facts look_at_python(config const& settings);
limit_facts look_at_limits(config const& settings);
system_facts look_at_system();

/// The directories of kernels in the home, and who has them open.
std::vector<leftover_facts::directory> look_at_kernels(std::filesystem::path const& home);
/// Which of them the daemon does not know. Those younger than a minute are left out: they may come or go right now.
leftover_facts judge_leftovers(std::filesystem::path const& home, std::vector<leftover_facts::directory> kernels,
                               daemon_facts const& daemon, std::set<std::string> const& known);

}  // namespace holdfast::cli
