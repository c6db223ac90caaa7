// Every default and limit of the gateway, with its unit and the reason for its size. What a user may set is copied into `config`
// and read from there; the rest is read from here. Refuses to hold logic: no value here depends on another at run time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace holdfast::defaults {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

inline constexpr std::size_t kib = 1024;
inline constexpr std::size_t mib = 1024 * kib;

// ---- settable (config.hpp) --------------------------------------------------------------------------------------------

inline constexpr milliseconds cell_timeout = 300s;         // from a cell's start; a cell may name its own, 0 being none
inline constexpr milliseconds interrupt_grace = 2s;        // from an interrupt to the kill of a kernel that did not obey
inline constexpr milliseconds grace = 3600s;               // a kernel with nothing attached lives this long: a gateway's downtime
inline constexpr milliseconds hello_deadline = 2s;         // from attach to hello; longer only under a stopped or silent kernel
inline constexpr milliseconds attach_budget = 71s;         // unreachable for longer: an orphan, its session gets a fresh kernel
inline constexpr milliseconds admission_timeout = 30s;     // how long a cell waits for a kernel before it is refused
inline constexpr milliseconds idle = 1800s;                // from the end of a kernel's last cell to its hibernation
inline constexpr std::uint32_t max_kernels = 64;           // soft: over it the one idle for longest is hibernated; 0: none
inline constexpr std::uint32_t max_kernels_hard = 0;       // of all owners; 0: none. Above, a cell waits for admission_timeout
inline constexpr std::uint32_t max_kernels_per_owner = 0;  // 0: none
inline constexpr std::uint32_t max_memory_mb = 0;          // resident, of all kernels; 0: none
inline constexpr std::uint32_t keep_cells = 1000;          // records per session; older ones leave a tombstone
inline constexpr std::uint32_t keep_cells_days = 7;        // records older than this leave a tombstone too
inline constexpr std::uint32_t boot_slots = 4;             // interpreters started at once: more only slow each other on few cores

// ---- kernels ----------------------------------------------------------------------------------------------------------

inline constexpr milliseconds first_grace = 60s;     // before a first attach: nobody depends on the kernel yet
inline constexpr milliseconds nursery_idle = 60s;    // a nursery without child and daemon ends after this
inline constexpr milliseconds nursery_start = 30s;   // from its exec to the exit of its first process: a cold disk
inline constexpr milliseconds spawn_deadline = 10s;  // from spawn to spawned; fork and ready take 1.3 ms when all is well
inline constexpr std::uint32_t nursery_starts = 2;   // of one nursery: once more when a signal ended it, which says nothing of it
inline constexpr std::uint32_t spawn_attempts = 3;   // nurseries that one spawn is asked of, each after the last was proven dead
inline constexpr milliseconds exit_report_deadline = 2s;  // from proof of absence to the exit file; then the cause is unknown
inline constexpr milliseconds attach_retry_first = 50ms;  // doubles up to attach_retry_most
inline constexpr milliseconds attach_retry_most = 2s;
inline constexpr milliseconds silence_told = 2s;  // of a kernel that runs and does not answer, by the clock of the system
inline constexpr milliseconds silence_most =
    1800s;                                        // then it is given up like an unreachable one: who waits must not wait for ever
inline constexpr milliseconds host_margin = 60s;  // beyond a kernel's grace, for a host out of reach
inline constexpr milliseconds orphan_end = 10s;   // how long a close, or a stop, waits for the end of an orphan
inline constexpr milliseconds kill_retry_first = 2s;  // from SIGKILL to the next, which a host out of reach needs; doubles
inline constexpr milliseconds kill_retry_most = 64s;
inline constexpr std::size_t slots_most = 16;      // kernel keys of one session: environment, interpreter and tools
inline constexpr std::size_t tools_most = 256;     // that one kernel may import
inline constexpr std::uint32_t requeues_most = 3;  // a cell that never started moves to this many fresh kernels
inline constexpr std::uint32_t protocol = 1;       // of the wire (docs/wire.md)

inline constexpr milliseconds ack_delay = 20ms;           // a bare ack waits this long for a frame to ride on
inline constexpr milliseconds request_deadline = 12s;     // for a kernel's answer beside cells: above its own JOB_STOP_SECONDS
inline constexpr milliseconds namespace_deadline = 40s;   // to save or restore its namespace: the kernel gives up after 30 s
inline constexpr std::uint32_t restores_most = 3;         // kernels that may die of restoring a namespace, or say nothing
inline constexpr std::size_t hibernations_at_once = 16;   // kernels that are being saved or ended: each takes processor and disk
inline constexpr milliseconds hibernate_retry = 30s;      // a kernel whose namespace could not be saved is asked again after this
inline constexpr milliseconds hibernate_busy_retry = 1s;  // one that was busy with something else than a cell
inline constexpr milliseconds idle_look_least = 100ms;    // between two looks that only time has brought: kernels age together
inline constexpr milliseconds upgrade_after = 5s;  // of rest, before a stale kernel is saved: a cell that comes meanwhile waits
inline constexpr milliseconds memory_look = 1s;    // how often kernels are measured, where max_memory_mb is set
inline constexpr std::uint64_t kernel_memory_assumed = 16 * mib;  // resident, of a kernel that has not been measured yet
inline constexpr std::size_t closings_at_once = 64;               // sessions of an owner that are closed side by side
inline constexpr std::size_t saved_names_told = 20;               // in the text of a notice
inline constexpr std::size_t saved_names_listed = 1000;           // in its details
inline constexpr milliseconds leftover_grace = 250ms;             // from SIGTERM to SIGKILL of what a dead kernel left
inline constexpr milliseconds abort_patience = 250ms;  // from SIGABRT, at which the interpreter writes its stacks, to SIGKILL
inline constexpr milliseconds kill_margin = 2s;        // beyond deadline and grace, when the kernel should have killed itself
inline constexpr milliseconds home_check = 500ms;      // how often a gateway looks whether its home is still there: one stat
inline constexpr milliseconds late_news = 100ms;     // from the end of a cell to its record; after that its kernel has aged unseen
inline constexpr milliseconds sweep_pause = 20ms;    // between two looks for files that closed sessions have left
inline constexpr std::size_t sweep_at_once = 256;    // files of one look: below a millisecond
inline constexpr milliseconds settle_deadline = 5s;  // at the end of the gateway: for the last rows to reach disk
inline constexpr milliseconds store_retry = 1s;      // a result that the store did not take is tried again

// ---- environments that are reached by commands ------------------------------------------------------------------------

inline constexpr std::size_t commands_most = 64;     // of one environment at once: each blocks a thread, most while a cell runs
inline constexpr std::size_t commands_urgent = 8;    // beyond them, for what ends something
inline constexpr milliseconds command_wait = 120s;   // for a thread to take it; then they all hang, or hundreds of kernels are busy
inline constexpr milliseconds relay_wait = 25s;      // there, for a cell to be done: hosts end commands that take long
inline constexpr milliseconds command_margin = 15s;  // for all else that a command does: its way, an interpreter's start
inline constexpr milliseconds stage_timeout = 60s;   // for a command that brings the program: 400 KB
inline constexpr milliseconds late_command = 5s;     // after its timeout; then nothing is known of it
inline constexpr milliseconds jobs_look = 5s;        // from one look at a kernel with jobs that nobody waits for to the next
inline constexpr int grace_looks = 4;                // of an idle kernel within its grace, which begins anew with each
inline constexpr milliseconds remains_patience = 60s;  // for what a dead kernel left, where its host does not answer
inline constexpr std::uint32_t removals_tried = 10;    // of a dead kernel's directory there; its host may be away
inline constexpr milliseconds removal_retry = 5s;

// ---- cells ------------------------------------------------------------------------------------------------------------

inline constexpr milliseconds background_after = 60s;       // later cells may run from then on while this one awaits
inline constexpr std::size_t max_queue_per_session = 64;    // waiting cells; one more is queue_full
inline constexpr std::size_t source_limit = 1 * mib;        // of one cell's code; above: too_large
inline constexpr std::size_t source_shown = 80;             // characters of the code kept for lists
inline constexpr std::size_t output_kept = 16 * mib;        // bytes of one cell's output on disk; the rest is counted
inline constexpr std::size_t output_page = 64 * kib;        // of cell.output when no limit is named
inline constexpr std::size_t stream_text_limit = 64 * kib;  // of each of stdout and stderr in a result
inline constexpr std::size_t stream_head = 48 * kib;        // kept of the front of a stream that is over that limit
inline constexpr std::size_t stream_tail = 16 * kib;        // kept of its end
inline constexpr std::size_t text_limit_least = 256;        // of a result's text: its first and its last line always fit
inline constexpr std::size_t text_limit_most = 1 * mib;     // a model reads no more
inline constexpr std::size_t text_window_least = 64 * kib;  // raw output looked at for each end of a text, four times its limit
inline constexpr std::size_t page_json = 4 * mib;           // of a page of output as it is sent; what is over is on the next
inline constexpr std::size_t chunk_json = 80;               // of a chunk in it, beside its text
inline constexpr std::size_t inline_display =
    1 * mib;  // of one type of a display in a result, as it is sent; the rest by cell.display
inline constexpr std::size_t inline_displays = 4 * mib;  // of all displays in a result
inline constexpr std::size_t live_jobs_most = 256;  // of a session, those that outlive their kernel included; more are not recorded
inline constexpr std::size_t notices_most = 64;     // of a session, from which on the oldest ends of jobs are not told
inline constexpr std::size_t job_command_kept = 4 * kib;        // of a job's command
inline constexpr std::uint64_t displays_most = 256;             // of one cell; later ones are dropped
inline constexpr std::size_t value_limit = 64 * kib;            // of the repr of a last expression
inline constexpr std::size_t tombstones_per_session = 100'000;  // of expired cells; older ones are forgotten
inline constexpr std::size_t list_limit = 100;                  // rows of a list when no limit is named
inline constexpr std::size_t list_limit_most = 1000;
/// Rows that a list looks through in one request for those that are wanted: it answers what it has found, and `next` goes on from there.
inline constexpr std::size_t list_looks_most = 2000;
inline constexpr std::size_t id_length_most = 128;  // characters of an id that a client gives

// ---- cells without a kernel (fallback = "per_call") -------------------------------------------------------------------

inline constexpr std::size_t per_call_most = 16;              // interpreters at once: each has a thread of the gateway
inline constexpr milliseconds per_call_start = 10s;           // from its exec to its `ready`: a cold disk
inline constexpr milliseconds per_call_gather = 10ms;         // what it writes piece by piece is sent together
inline constexpr std::size_t per_call_reply_limit = 4 * mib;  // of its outcome as JSON; value and traceback are bounded there

// ---- the link ---------------------------------------------------------------------------------------------------------

inline constexpr std::size_t frame_header = 20;             // bytes: length, seq, ack
inline constexpr std::size_t frame_limit = 8 * mib;         // payload bytes; a longer one is skipped as bad_frame
inline constexpr std::size_t frame_depth = 64;              // levels of JSON; Boost.JSON's own default of 32 is too few
inline constexpr std::size_t window_frames = 4096;          // unacked in one direction
inline constexpr std::size_t window_bytes = 64 * mib;       // unacked in one direction
inline constexpr std::size_t output_frame_text = 64 * kib;  // of one output frame
inline constexpr std::size_t spool_size = 512 * kib;        // bytes, fallocated
inline constexpr std::size_t journal_size = 256 * kib;      // bytes, fallocated
inline constexpr std::size_t read_chunk = 4096;             // of a scribe: its buffer never shrinks
inline constexpr std::size_t scribe_chunk = 64 * kib;       // handed to a scribe at a time: its write buffer is unbounded

// ---- clients ----------------------------------------------------------------------------------------------------------

inline constexpr std::size_t line_limit = 8 * mib;           // bytes of one request
inline constexpr milliseconds line_deadline = 30s;           // from a line's first byte to its last
inline constexpr std::size_t client_stream_limit = 8 * mib;  // queued for a client; above, it loses stream notifications
inline constexpr std::size_t client_limit = 64 * mib;        // queued for a client; above, it loses its connection
inline constexpr std::size_t max_connections = 1024;         // above, the one silent for longest without a request is closed
inline constexpr std::size_t spare_descriptors = 256;        // the acceptor halts this far below RLIMIT_NOFILE
inline constexpr std::size_t event_ring = 4096;              // events kept for subscribers that name `since`
inline constexpr int listen_backlog = 128;

// ---- the stores and the log -------------------------------------------------------------------------------------------

inline constexpr milliseconds flush_to_disk = 50ms;          // what a power loss may cost, in accepted local cells
inline constexpr std::size_t log_file_size = 10 * mib;       // bytes of daemon.log before it is rotated
inline constexpr std::size_t log_files = 3;                  // the current one included
inline constexpr std::size_t process_error_kept = 16 * kib;  // bytes of a started process's standard error

// ---- scaling ----------------------------------------------------------------------------------------------------------

inline constexpr milliseconds least_scaled_deadline = 250ms;  // HOLDFAST_TIME_SCALE takes no deadline below: machines stall

}  // namespace holdfast::defaults
