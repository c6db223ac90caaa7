// Starts one process with exactly the descriptors, variables and directory that it is given, and finds the file of a program.
// Collaborators: start_process (runs one to its end), attended_process (talks to one). Refuses to wait: whoever starts a process reaps it.
// Safe beside other threads. What it starts leads a session of its own and holds none of this process's descriptors.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "actors/base/errors.hpp"
#include "actors/base/unique_fd.hpp"

namespace holdfast {

struct spawn_plan {
  std::vector<std::string> argv;           // argv[0] without a slash is looked for on PATH of `env`
  std::map<std::string, std::string> env;  // all of its environment
  std::filesystem::path cwd;
};

/// Descriptors of this process, at 3 or above, that become 0, 1 and 2.
struct standard_descriptors {
  int input, output, errors;
};

/// Executes it; `start_failed` when that cannot be done.
result<pid_t> spawn_process(spawn_plan const& plan, standard_descriptors const& given);

/// The file that `name` means: itself if it has a slash, else the first executable of that name on `path`; empty when none is.
std::filesystem::path find_program(std::string const& name, std::string const& path);

/// Two connected descriptors, both at 3 or above and closed in what is executed.
struct stream_pair {
  unique_fd ours;    // non-blocking
  unique_fd theirs;  // blocking
};

/// A socketpair: writing to a process that has ended fails without SIGPIPE. The error is an errno.
tl::expected<stream_pair, int> make_socket_pair();
/// /dev/null for reading and writing; not open when it cannot be had.
unique_fd open_null();
/// A pipe that `theirs` writes to: what a process may open again as /dev/stdout. The error is an errno.
tl::expected<stream_pair, int> make_output_pipe();

}  // namespace holdfast
