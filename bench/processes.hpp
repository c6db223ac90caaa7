// The processes of a benchmark: started, measured, and ended with the temporary home that they work in.
// Nothing is signalled that was not identified: by having been started here, or by that home's path in its command line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

namespace holdfast::bench {

/// Starts argv[0], looked for on PATH, with `variables` added to the environment. Its descriptor 0 is `standard_input` (-1:
/// /dev/null), 1 is /dev/null, 2 is `standard_error` (-1: this process's). It ends with this process at the latest. The caller
/// waits for it.
pid_t start_program(std::vector<std::string> const& argv, std::map<std::string, std::string> const& variables,
                    int standard_input = -1, int standard_error = -1);

/// SIGKILL to a child of this process, and returns once it is gone.
void kill_child(pid_t child);

/// Memory of a process, in bytes.
struct memory {
  std::uint64_t anonymous = 0;  // its own pages
  std::uint64_t file = 0;       // mapped files: code, the stores' maps, spool and journal
  std::uint64_t total() const { return anonymous + file; }
};
/// Resident memory, shared pages in full.
memory resident(pid_t process);
/// Proportional set size: a page that n processes share counts as its nth part.
memory proportional(pid_t process);

/// Processor time that all threads of the process have used, in microseconds.
double processor_time(pid_t process);
/// Confines every thread of the process to that processor.
void confine(pid_t process, unsigned processor);

/// A fresh directory below TMPDIR, for a home. With the object it goes, and every process with its path in the command line: daemons,
/// nurseries and their kernels. Kernels of a benchmark that is killed end by themselves (see grace_seconds).
class scratch_directory {
 public:
  scratch_directory();
  scratch_directory(scratch_directory const&) = delete;
  scratch_directory& operator=(scratch_directory const&) = delete;
  ~scratch_directory();

  std::filesystem::path const& path() const { return path_; }
  /// SIGKILL to this process if it works in here; false if it does not. For kernels, which are not our children.
  bool kill(pid_t process) const;

 private:
  std::filesystem::path path_;
};

/// For grace_seconds of the configuration: the kernels of a killed benchmark live on alone for so long.
inline constexpr char const* grace_seconds = "60";

}  // namespace holdfast::bench
