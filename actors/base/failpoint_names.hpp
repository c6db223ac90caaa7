// The steps of the gateway at which a test may make it fail: X(identifier, "layer.step"). Named before_ and after_ what persists or
// leaves the process. Those of the stores are in storage/failpoint_names.hpp, those of nursery and kernel in their program.
#pragma once

// clang-format off
#define HOLDFAST_FAILPOINT_NAMES(X)                                  \
  X(core_before_accept_recorded, "core.before_accept_recorded")      \
  X(core_after_accept_recorded, "core.after_accept_recorded")        \
  X(link_before_execute_sent, "link.before_execute_sent")            \
  X(link_after_execute_sent, "link.after_execute_sent")              \
  X(core_before_started_recorded, "core.before_started_recorded")    \
  X(core_after_started_recorded, "core.after_started_recorded")      \
  X(core_before_result_recorded, "core.before_result_recorded")      \
  X(core_after_result_recorded, "core.after_result_recorded")        \
  X(link_before_ack, "link.before_ack")                              \
  X(link_after_ack, "link.after_ack")                                \
  X(core_before_reply, "core.before_reply")                          \
  X(core_after_reply, "core.after_reply")                            \
  X(core_before_moved_to_disk, "core.before_moved_to_disk")          \
  X(core_after_moved_to_disk, "core.after_moved_to_disk")            \
  X(core_before_spawn_requested, "core.before_spawn_requested")      \
  X(core_after_spawn_recorded, "core.after_spawn_recorded")          \
  X(core_before_attach_sent, "core.before_attach_sent")              \
  X(core_after_hello, "core.after_hello")                            \
  X(core_before_files_removed, "core.before_files_removed")          \
  X(core_before_saved_recorded, "core.before_saved_recorded")        \
  X(core_after_saved_recorded, "core.after_saved_recorded")          \
  X(core_after_saved_unlinked, "core.after_saved_unlinked")          \
  X(core_before_restored_recorded, "core.before_restored_recorded")  \
  X(core_after_restored_recorded, "core.after_restored_recorded")    \
  X(core_after_fork_recorded, "core.after_fork_recorded")            \
  X(core_before_clone_recorded, "core.before_clone_recorded")        \
  X(core_after_clone_recorded, "core.after_clone_recorded")          \
  X(core_before_orphan_recorded, "core.before_orphan_recorded")      \
  X(core_after_orphan_recorded, "core.after_orphan_recorded")        \
  X(core_before_orphan_forgotten, "core.before_orphan_forgotten")    \
  X(core_after_orphan_forgotten, "core.after_orphan_forgotten")
// clang-format on
