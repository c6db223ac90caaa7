// Interface between the actors of this layer: session and kernel, session and supervisor, everyone and the disk store.
// Requests go down (session -> kernel), results come up (kernel -> session). One process, never serialized.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <caf/actor.hpp>
#include <caf/allowed_unsafe_message_type.hpp>

#include "actors/base/caf.hpp"
#include "actors/base/messages.hpp"
#include "actors/core/eviction.hpp"
#include "actors/link/journal.hpp"
#include "actors/link/messages.hpp"
#include "storage/records.hpp"

namespace holdfast::core {

// ---- session -> kernel ------------------------------------------------------------------------------------------------

/// What a session does with an attached kernel on the path of a cell: called, not sent, which spares a turn of the event loop each way.
/// On the multiplexer thread only; calls nobody back.
class kernel_port {
 public:
  virtual ~kernel_port() = default;
  /// Writes a payload; held back until the kernel is attached again if the connection is down.
  virtual void send(std::string payload) = 0;
  virtual void send_execute(std::string payload) = 0;
  /// The effects of every frame up to `seq` are recorded: it may be acked.
  virtual void record(std::uint64_t seq) = 0;
  /// For how long in all what was to reach the kernel has waited for a command to carry it: no time that the kernel has had.
  virtual steady_time::duration waited() const = 0;
};
/// Why a kernel is ended on order. The first is what its successor's `reason` says.
enum class end_reason : std::uint8_t { reset, stop, close, deadline, shutdown, unrecorded, hibernated };
constexpr std::string_view to_string(end_reason reason) {
  constexpr std::array<std::string_view, 7> words = {"reset", "stop", "close", "deadline", "shutdown", "unrecorded", "hibernated"};
  return words[static_cast<std::size_t>(reason)];
}
/// Ends the kernel: `shutdown` lets it end by itself and kills it after the interrupt grace; `abort` lets its interpreter write where it
/// stands into kernel.log and kills it after abort_patience; `kill` does not wait.
struct end_kernel {
  enum class how : std::uint8_t { shutdown, abort, kill } way = how::shutdown;
  end_reason reason = end_reason::reset;
};
/// Closes the link and ends the actor; the kernel lives on.
struct let_go {};

// ---- kernel -> session ------------------------------------------------------------------------------------------------

/// A must-deliver or output frame, or why it could not be read.
struct unreadable {
  std::string type;  // what it claims to be, or empty
  std::string reason;
};
struct said {
  std::uint64_t seq = 0;
  std::variant<link::from_kernel, unreadable> what;
};

/// The process is known; the link's row may become live.
struct kernel_live {
  kernel_id kernel;
  nursery_id nursery;
  std::string python;
  std::string program;
  storage::process_identity process;
};
struct kernel_start_failed {
  kernel_id kernel;
  error problem;
  bool died = false;  // its process was there and ended
};
struct kernel_attached {
  kernel_id kernel;
  std::uint64_t epoch = 0;
  storage::process_identity process;
  std::uint32_t protocol = 0;
  /// The first hello of this incarnation from a kernel of an earlier one.
  bool reattached = false;
  std::shared_ptr<kernel_port> port;  // usable as long as its actor's address is held
};
struct kernel_said {
  kernel_id kernel;
  std::vector<said> frames;  // fresh ones, in order
};
/// Told once per loss; the kernel is retried while its budget lasts.
struct kernel_unreachable {
  kernel_id kernel;
  std::string why;
};
/// It runs and has not answered for silence_told; told once until it does.
struct kernel_silent {
  kernel_id kernel;
};
/// What a dead kernel left.
struct remains {
  std::optional<link::exited> exit;
  bool spool_readable = false;
  std::vector<said> frames;  // from the spool
  link::journal_image journal;
  std::vector<std::int32_t> ended;  // pids of what it left, ended by this daemon as its nursery was dead
  /// The file where the session's namespace is saved, if there is one: not necessarily this kernel's.
  struct state_file {
    std::uint64_t bytes = 0;
    storage::unix_ms written_at = 0;
  };
  std::optional<state_file> state;
};
struct kernel_dead {
  kernel_id kernel;
  remains left;
  /// Why it could not be reached, of one whose end is not proven: it was given up, and is an orphan from now on.
  std::optional<std::string> given_up = {};
  bool was_foreign = false;  // it spoke another protocol
};
/// It belongs to another home: the link ends, the kernel is left alone.
struct kernel_left {
  kernel_id kernel;
};

// ---- supervisor -> session --------------------------------------------------------------------------------------------

/// Ends the kernel if it is idle and still the session's, its namespace saved first if asked for; answers with its row.
struct stop_session_kernel {
  reply_to from;
  kernel_id kernel;
  bool save = true;
};
/// Ends the kernel with its namespace saved, if it is idle and still the session's; else nothing happens. One that cannot be saved whole is
/// ended only if `even_in_part`.
struct hibernate_kernel {
  kernel_id kernel;
  eviction_reason reason = eviction_reason::idle;
  bool even_in_part = false;
};
/// To a session that waits for a kernel: there may be room for it now.
struct room_for_kernel {};
/// What is asked of a job of the session, wherever its kernel is.
struct job_call {
  reply_to from;
  std::variant<stop_job, read_job_output> what;
};
/// The gateway ends: waiting calls get their current results, kernels are let go, the actor ends.
struct wind_down {
  bool end_kernels = false;  // each is ended first, a running cell as interrupted, its namespace saved
  bool at_once = false;      // those that have not ended yet are killed
};

/// From a session that has left context.sessions.
struct session_ended {};

// ---- disk store -------------------------------------------------------------------------------------------------------

/// Commits one unit to `disk`, grouped with others; answers disk_committed with the same tag to `asker`, if there is one.
struct commit_to_disk {
  storage::changes unit;
  caf::actor asker;
  std::uint64_t tag = 0;
};
struct disk_committed {
  std::uint64_t tag = 0;
  std::optional<storage::failure> problem;
};

// ---- files of dead kernels --------------------------------------------------------------------------------------------

/// Reads exit file, spool and journal of a run directory; answers with remains_found. Without an exit file no nursery has ended what the
/// kernel left: that is done first.
struct read_remains {
  caf::actor asker;
  kernel_id kernel;
  std::int32_t pid = 0;
  std::string directory;  // absolute
  std::string state;      // absolute: where it saves itself
};
struct remains_found {
  remains left;
};
/// Reads one display of a cell from its directory; `to` is answered with it.
struct read_display_file {
  reply_to to;
  std::string directory;  // absolute
  std::uint64_t index = 0;
  std::string mime;
};
/// Ends what bears that job's mark, for one whose kernel is gone; answers with job_group_ended.
struct end_job_group {
  caf::actor asker;
  job_id job;
};
struct job_group_ended {
  job_id job;
  bool is_gone = false;    // nothing of it is left
  bool was_found = false;  // something of it was there
};
/// Copies a file so that it is whole and synced under its new name, or not there; answers with file_copied.
struct copy_file {
  caf::actor asker;
  std::string from, to;  // absolute
  std::uint32_t tag = 0;
};
struct file_copied {
  std::uint32_t tag = 0;
  std::string problem;  // empty: it is there
};
/// Reads the resident bytes of these kernels' processes; answers with memory_measured.
struct measure_memory {
  caf::actor asker;
  std::vector<std::pair<kernel_id, std::int32_t>> of;  // by pid
};
struct memory_measured {
  std::unordered_map<std::string, std::uint64_t> bytes;  // by kernel; 0: it could not be read
};
/// Removes a directory tree of ours; no answer.
struct remove_tree {
  std::string path;
};

}  // namespace holdfast::core

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::end_kernel)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::let_go)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::kernel_live)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::kernel_start_failed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::kernel_attached)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::kernel_said)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::kernel_unreachable)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::kernel_silent)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::kernel_dead)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::kernel_left)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::stop_session_kernel)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::hibernate_kernel)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::room_for_kernel)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::job_call)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::wind_down)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::session_ended)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::commit_to_disk)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::disk_committed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::read_remains)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::remains_found)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::read_display_file)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::end_job_group)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::job_group_ended)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::copy_file)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::file_copied)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::measure_memory)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::memory_measured)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::remove_tree)
