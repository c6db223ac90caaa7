// Whether what was found is well, and what to do when it is not. Pure: doctor_facts.hpp looks, doctor_command.cpp shows.
// Three verdicts: `ok`; `note`, which is worth knowing and keeps nothing from working; `wrong`, which does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace holdfast::cli {

enum class verdict { ok, note, wrong };

struct finding {
  std::string check;  // what was looked at, one word
  verdict how = verdict::ok;
  std::string text;    // what was found
  std::string advice;  // what to do; empty when nothing is
};
char const* to_string(verdict how);

struct home_facts {
  std::string path;
  bool is_there = false;
  std::string problem;  // why it could not be looked at; empty: it could
  bool is_directory = true;
  uid_t owner = 0, wanted_owner = 0;
  mode_t mode = 0700;            // permission bits
  bool is_writable = true;       // of the directory in which it would be made, if it is not there
  std::string file_system;       // its name
  bool is_network = false;       // NFS: refused
  bool is_doubtful = false;      // another one where locks and mapped files may not mean what they do on a disk
  std::uint64_t free_bytes = 0;  // for this user
  std::uint64_t kernels = 0;     // that max_kernels allows
};

struct daemon_facts {
  std::optional<pid_t> lock_holder;
  bool has_socket = false;
  std::optional<pid_t> answered;  // by the pid that it names
  std::string problem;            // why it did not
  std::string log;                // its path
};

struct python_facts {
  std::string wanted;   // as configured
  std::string path;     // the file that it is; empty: none
  std::string problem;  // it did not run, or told nothing
  int major = 0, minor = 0, micro = 0;
  std::vector<std::string> missing;          // "MODULE: why", of those that every kernel needs
  std::vector<std::string> preload_missing;  // the same of the setting preload
};

struct limit_facts {
  std::uint64_t kernels = 0;  // that max_kernels allows; 0: any number
  std::uint64_t files_soft = 0, files_hard = 0;
  std::optional<std::uint64_t> processes_most;  // RLIMIT_NPROC; none: unlimited, or root
  std::uint64_t processes_now = 0;              // of this user
  std::optional<std::uint64_t> pid_max, threads_max;
  std::optional<std::uint64_t> group_pids_left,
      group_memory_left;  // of the control group, the least up to its root; none: no limit
};

struct system_facts {
  bool has_proc = false;  // /proc tells of processes
  bool has_boot_id = false;
  std::string pidfd_problem;  // empty: pidfd_open works
};

struct leftover_facts {
  struct directory {
    std::string kernel;
    std::vector<pid_t> processes;  // that have it open
    bool is_known = true;          // to the daemon that answers; without one nothing is known, and all are taken for known
    bool is_removed = false;       // it is not there any more, but processes of it are
  };
  std::vector<directory> kernels;
  bool has_daemon = false;
};

finding check_settings(std::string const& problem, std::vector<std::string> const& ignored_variables);
finding check_home(home_facts const& found);
finding check_daemon(daemon_facts const& found);
finding check_python(python_facts const& found);
/// One finding a limit.
std::vector<finding> check_limits(limit_facts const& found);
finding check_system(system_facts const& found);
/// One `ok`, or one finding a kind of leftover.
std::vector<finding> check_leftovers(leftover_facts const& found);

bool is_well(std::vector<finding> const& all);

}  // namespace holdfast::cli
