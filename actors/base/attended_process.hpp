// A process that is talked to while it runs: its descriptor 0 is a socket, read and written by both sides; 1 and 2 are pipes to us.
// Collaborators: whoever polls the descriptors and asks; spawn_process starts it. Refuses to outlive its owner: its process group is
// killed with it, and only while the leader is not reaped, so that the group's number is its own. Needs a pidfd, which says when it ends.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "actors/base/errors.hpp"
#include "actors/base/spawn_process.hpp"
#include "actors/base/unique_fd.hpp"

namespace holdfast {

class attended_process {
 public:
  /// Executes it; `start_failed` when that cannot be done.
  static result<attended_process> start(spawn_plan const& plan);

  attended_process(attended_process&& other) noexcept;
  attended_process& operator=(attended_process&&) = delete;
  /// Kills the group of one that was not reaped, and reaps it.
  ~attended_process();

  pid_t pid() const { return pid_; }
  int channel() const { return channel_.get(); }  // non-blocking, as the next two
  int output() const { return output_.get(); }
  int errors() const { return errors_.get(); }
  int end() const { return pidfd_.get(); }  // readable once it has ended

  bool has_ended() const;
  /// To the process alone; harmless once it has ended.
  void send_signal(int number) const;
  void kill_group() const;
  /// Kills what is left of its group, waits for its end and takes the exit code, minus a signal's number; none when somebody else in this
  /// process reaped it. Once.
  std::optional<int> reap();

 private:
  attended_process() = default;

  pid_t pid_ = -1;  // -1: reaped, or moved away
  unique_fd pidfd_, channel_, output_, errors_;
};

}  // namespace holdfast
