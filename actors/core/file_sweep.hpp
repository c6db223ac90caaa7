// Files of sessions that are no more: a daemon that was killed after the records of a closed session were erased has left its output and
// its saved namespaces. Looked for after a start, some at a time, so that no start and no cell waits for a home of a million sessions.
// Collaborators: supervisor (calls it), files worker (removes). Refuses to touch what belongs to a session that is there, or came later.
#pragma once

#include <filesystem>
#include <optional>

#include "actors/base/caf.hpp"
#include "actors/core/context.hpp"

namespace holdfast::core {

class file_sweep {
 public:
  file_sweep(caf::io::broker* self, shared_context shared, alarm& wake) : self_(self), shared_(std::move(shared)), wake_(wake) {}

  /// From now on on_wake looks; sessions with higher numbers than those given so far are new and have nothing that was left.
  void start();
  void on_wake(steady_time now);

 private:
  void open_next();
  void look_at(std::filesystem::path const& path);

  caf::io::broker* self_;
  shared_context shared_;
  alarm& wake_;
  session_number last_ = 0;
  int opened_ = 0;  // directories so far
  std::filesystem::directory_iterator at_;
  std::optional<steady_time> due_;  // none: all is looked at
};

}  // namespace holdfast::core
