// Who a process is, and whether it still is: identity is boot id, pid namespace, pid and start time, as a pid alone is reused.
// Reads /proc/PID/stat only (it takes no mmap_lock, so a process that thrashes cannot block the caller). Signals nothing.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include <tl/expected.hpp>

#include "actors/base/unique_fd.hpp"
#include "storage/records.hpp"

namespace holdfast {

/// Of the running system, constant until a reboot; empty when /proc does not tell.
std::string const& boot_id();
/// From /etc/machine-id; empty when there is none.
std::string const& machine_id();
/// Inode of this process's pid namespace; 0 when /proc does not tell.
std::uint64_t own_pid_namespace();

/// The identity of a process as this pid namespace numbers it; none when there is no such process or /proc does not tell.
std::optional<storage::process_identity> identify(pid_t pid);

enum class process_state {
  running,  ///< there, or a zombie leader whose other threads still run
  stopped,  ///< by a signal or a tracer: there, but silent
  zombie,   ///< ended and not reaped yet
  gone,     ///< proof of absence: no process has this identity
  unknown,  ///< cannot be told from here: another pid namespace, or /proc refused
};
char const* to_string(process_state state);

process_state inspect(storage::process_identity const& identity);

/// Whether the other end of a unix socket is certainly not this process: the pid that listened there is known, and another.
bool is_other_peer(int socket, storage::process_identity const& expected);

/// A pidfd of exactly this process (a zombie's included), or why there is none: `gone` or `unknown`.
tl::expected<unique_fd, process_state> open_pidfd(storage::process_identity const& identity);

}  // namespace holdfast
