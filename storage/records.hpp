// The rows of both stores as plain values. FORMAT.md gives their bytes; *_codec.cpp turn one into the other.
// Times are Unix milliseconds; 0 means "not yet".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "storage/ids.hpp"

namespace holdfast::storage {

using unix_ms = std::int64_t;
using digest = std::array<std::uint8_t, 32>;  // SHA-256

/// What identifies a process beyond its reusable pid.
struct process_identity {
  std::string boot_id;
  std::uint64_t pid_namespace = 0;  // inode of /proc/PID/ns/pid
  std::int32_t pid = 0;
  std::uint64_t start_time = 0;  // field 22 of /proc/PID/stat
  friend bool operator==(process_identity const&, process_identity const&) = default;
};

/// Who this home is; a copy of the directory does not match and becomes another home.
struct home_identity {
  std::string id;  // random, 32 hex digits
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::string machine_id;
};

/// A kernel key of a session, under a number: its environment, interpreter and tools. Each has a kernel and a namespace of its own.
struct kernel_slot {
  std::uint32_t number = 0;  // unique in its session
  std::string environment = "local";
  std::string python;                  // as it was asked for; empty: it never had a kernel
  std::vector<std::string> tools;      // sorted, each once
  std::string fresh_reason = "first";  // why its next kernel will be a fresh one: reset, died, or the reason of an unused one

  bool is_for(std::string const& wanted_environment, std::string const& wanted_python,
              std::vector<std::string> const& wanted_tools) const {
    return environment == wanted_environment && python == wanted_python && tools == wanted_tools;
  }
};

struct session_record {
  session_number number = 0;
  session_key key;
  unix_ms created_at = 0;
  std::vector<kernel_slot> slots = {{}};  // at least one, ascending by number
  std::uint32_t slot = 0;                 // that its last kernel was started for or its last cell went to
  std::uint32_t restarts = 0;             // kernels it has lost or given up so far
  std::string cwd;                        // for its next kernel; empty: the environment's own choice
  std::vector<std::string> variables;     // NAME=value, over the environment's, for its next kernel
};

enum class cell_status : std::uint8_t { queued, running, ok, error, exit, timeout, interrupted, lost };
/// The word in JSON, such as "ok".
char const* to_string(cell_status status);
inline bool is_final(cell_status status) { return status > cell_status::running; }

struct cell_record {
  session_number session = 0;
  cell_number number = 0;
  cell_id cell;
  digest code{};       // of the source; the same id with another digest is a conflict
  std::string source;  // the first 80 characters, for lists
  cell_status status = cell_status::queued;
  kernel_id kernel;              // that it was last sent to, empty while queued without one
  std::uint64_t generation = 0;  // its number among the kernel's cells, 0 while it has none
  std::uint32_t requeues = 0;    // how often it moved to a fresh kernel without having started
  unix_ms queued_at = 0;
  unix_ms started_at = 0;
  unix_ms finished_at = 0;
  std::int64_t timeout_ms = 0;  // 0: none
  std::uint64_t output_bytes = 0;
  std::uint32_t displays = 0;
  std::int64_t background_after_ms = 0;  // from its start; later cells may run from then on while it awaits; 0: never
  bool background = false;               // it awaits beside later cells in its kernel
  std::string result;                    // the final result object as JSON text, empty until then
};

/// What must still reach a kernel: the source of a cell until its start is recorded.
struct outbox_record {
  session_number session = 0;
  cell_number number = 0;
  std::string code;
  bool reset = false;      // the session's kernel is to be replaced before this cell
  std::uint32_t slot = 0;  // that it was accepted for
  std::string if_kernel;   // the only kernel that may run it; empty: any
};

/// What a cell's id leaves behind when its row is gone: it never runs again.
struct cell_index {
  cell_number number = 0;
  digest code{};
  bool expired = false;  // the row was trimmed: answer cell_expired
};

enum class link_state : std::uint8_t { intended, live, orphan };

/// The relation session <-> kernel and the persisted part of its channel.
struct link_record {
  kernel_id kernel;
  session_number session = 0;
  std::uint32_t slot = 0;  // of the session, whose environment, asked_python and tools these are
  std::string environment = "local";
  std::string python;        // as the interpreter itself says, once it is known
  std::string asked_python;  // as it was asked for: a path, or a name to find on PATH
  std::vector<std::string> tools;
  link_state state = link_state::intended;  // intended: the spawn was asked for, its answer is not recorded; orphan: given up
  std::string token;                        // 64 hex digits
  nursery_id nursery;
  std::string directory;  // relative to the home
  process_identity process;
  std::string program;  // digest of the program it runs
  std::uint32_t protocol = 0;
  std::uint64_t epoch = 0;       // of the last hello
  std::uint64_t last_seq = 0;    // highest seq from the kernel whose effect is recorded
  std::uint64_t generation = 0;  // of the last cell sent to it
  std::string reason =
      "first";  // why it came to be: first, reset, died, tools_changed, environment_changed, restored, restore_failed, forked
  unix_ms started_at = 0;
  unix_ms idle_since = 0;  // end of its last cell; of an orphan: when it was given up
};

struct nursery_record {
  nursery_id nursery;
  std::string key;  // digest over python, preload, program and interpreter variables
  std::string python;
  std::string program;
  std::string token;
  std::string directory;  // relative to the home
  process_identity process;
  unix_ms started_at = 0;
};

struct notice_record {
  notice_id notice;
  session_number session = 0;
  std::string kind;  // reattached, restarted, state_lost, restored, evicted, upgraded, job_finished
  std::string text;
  std::string details;  // JSON object
  unix_ms at = 0;
};

enum class job_state : std::uint8_t { running, finished, stopped, lost };
/// The word in JSON, such as "finished".
char const* to_string(job_state state);
inline bool has_ended(job_state state) { return state != job_state::running; }

/// A process group that a cell started with run(...).
struct job_record {
  session_number session = 0;
  job_id job;
  kernel_id kernel;  // that it was started in
  cell_id cell;      // that started it
  std::string command;
  std::int32_t pid = 0;  // of the leader; with start_time its identity
  std::uint64_t start_time = 0;
  std::int32_t group = 0;                // its process group
  bool keep = false;                     // it outlives its kernel
  job_state state = job_state::running;  // finished: by itself; stopped: on request, or with its kernel; lost: its end is unknown
  std::optional<std::int64_t> exit_code;
  bool timed_out = false;
  unix_ms started_at = 0;
  unix_ms finished_at = 0;
  std::uint64_t output_bytes = 0;  // known once it has finished
  notice_id notice;                // that tells of its end; empty: none was written
};

/// A name whose value is not in a saved namespace.
struct skipped_name {
  std::string name;
  std::string reason;
  friend bool operator==(skipped_name const&, skipped_name const&) = default;
};

/// A namespace saved to a file: what the slot's next kernel starts with. While it is there no kernel of the slot is given a cell, so
/// that file and the kernel it was saved from never differ.
struct saved_record {
  session_number session = 0;
  std::uint32_t slot = 0;
  kernel_id kernel;         // that it was saved from
  std::string file;         // relative to the home
  std::string reason;       // stop, grace, fork, or why the supervisor ended its kernel: idle, cap, memory
  std::uint64_t bytes = 0;  // of the file
  unix_ms saved_at = 0;
  /// As the kernel told; both empty if it saved itself: then the file alone has them.
  std::vector<std::string> names;
  std::vector<skipped_name> skipped;
};

// Changes: what a transaction does. The same ones are applied to either store.
struct put_session {
  session_record row;
};
struct erase_session {
  session_number number = 0;
};  // with its cells, ids, outbox, jobs, notices, saved namespace; not its links
struct put_cell {
  cell_record row;
};  // and its id in the index; dropped if the store has it final or expired
struct erase_cell {
  session_number session = 0;
  cell_number number = 0;
};  // from this store only, id included
struct expire_cell {
  session_number session = 0;
  cell_number number = 0;
};  // a final one; leaves a tombstone
struct put_outbox {
  outbox_record row;
};
struct erase_outbox {
  session_number session = 0;
  cell_number number = 0;
};
struct put_link {
  link_record row;
};  // keeps the higher last_seq
struct erase_link {
  kernel_id kernel;
};
struct put_job {
  job_record row;
};  // dropped if the store has it ended, or has that id in another session; an ended one makes the oldest beyond jobs_kept go
struct put_nursery {
  nursery_record row;
};
struct erase_nursery {
  nursery_id nursery;
};
struct put_notice {
  notice_record row;
};
struct erase_notice {
  session_number session = 0;
  notice_id notice;
};  // in boot it hides the row of disk too
struct put_saved {
  saved_record row;
};  // `disk` alone has these
struct erase_saved {
  session_number session = 0;
  std::uint32_t slot = 0;
};

using change = std::variant<put_session, erase_session, put_cell, erase_cell, expire_cell, put_outbox, erase_outbox, put_link,
                            erase_link, put_job, put_nursery, erase_nursery, put_notice, erase_notice, put_saved, erase_saved>;
using changes = std::vector<change>;

}  // namespace holdfast::storage
