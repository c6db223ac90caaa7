// Everything that is said over an attached link, as values: what the daemon tells a kernel or a nursery and what it hears.
// Fields and meanings are those of docs/wire.md. Text in, value or a reason out; any text is survived.
// Knows nothing of frames: seq and ack are window.hpp's. The handshake before it is handshake.hpp's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <tl/expected.hpp>

#include "storage/ids.hpp"
#include "storage/records.hpp"

namespace holdfast::link {

using storage::cell_status;
using storage::unix_ms;

// Daemon to kernel.

struct execute {
  cell_id cell;
  std::uint64_t generation = 0;  // its number among the kernel's cells, from 1
  std::string code;
  std::uint64_t timeout_ms = 0;           // from its start; 0: none
  std::uint64_t output_limit = 0;         // bytes; beyond, output is only counted
  std::uint64_t background_after_ms = 0;  // from its start; a later cell may run from then on while it awaits; 0: never
};

enum class interrupt_reason : std::uint8_t { interrupt, timeout };

struct interrupt {
  cell_id cell;
  interrupt_reason reason = interrupt_reason::interrupt;
};

/// Asks a kernel for something beside its cells; answered by `answer` with the same id.
struct request {
  std::string id;
  std::string what;                           // variables, snapshot, restore, fork, job_stop or job_output
  std::map<std::string, std::string> fields;  // what it takes besides: texts
  std::map<std::string, std::uint64_t> numbers{};
};

/// To a kernel: it ends, a running cell first. To a nursery: it ends once it is childless.
struct shutdown {
  std::string reason;
};

// Kernel to daemon.

struct started {
  cell_id cell;
  std::uint64_t generation = 0;
  unix_ms at = 0;
};

/// It awaits and goes on beside later cells; the kernel takes the next `execute`.
struct background {
  cell_id cell;
};

enum class output_stream : std::uint8_t { out = 1, err = 2 };  // the numbers are the journal's

struct output {
  cell_id cell;
  output_stream stream = output_stream::out;
  std::uint64_t offset = 0;  // of text in the cell's combined output, in bytes
  std::string text;          // at most 64 KiB of UTF-8
};

struct cell_error {
  std::string name;
  std::string message;
  std::string traceback;
  friend bool operator==(cell_error const&, cell_error const&) = default;
};

/// What is kept of one stream: all of it in `head`, or its first 48 and last 16 KiB.
struct captured {
  std::string head;
  std::string tail;
  std::uint64_t bytes = 0;  // of the whole
  friend bool operator==(captured const&, captured const&) = default;
};

struct done {
  cell_id cell;
  std::uint64_t generation = 0;
  cell_status status = cell_status::ok;  // ok, error, exit, timeout or interrupted
  std::optional<std::string> value;      // repr of the last expression
  std::optional<cell_error> error;
  std::optional<std::int64_t> exit_code;  // SystemExit's
  unix_ms started_at = 0;
  unix_ms finished_at = 0;
  std::uint64_t duration_ms = 0;
  captured out;  // `stdout` and `stderr` are macros in C++
  captured err;
  std::uint64_t output_bytes = 0;  // of the combined text
  bool kernel_ended = false;       // the kernel killed itself right after this to end the cell
};

/// Something to show beside the output. Of binary types `data` is base64.
struct display {
  struct part {
    std::string mime;
    std::string data;
    friend bool operator==(part const&, part const&) = default;
  };
  struct left_out {
    std::string mime;
    std::uint64_t bytes = 0;
    bool is_kept = false;  // the daemon has it on disk; never so of what the kernel left out, and not said on the wire
    friend bool operator==(left_out const&, left_out const&) = default;
  };
  cell_id cell;
  std::uint64_t index = 0;   // its number in the cell, from 0
  bool is_main = false;      // of the last expression's value
  std::uint64_t offset = 0;  // where it stands in the cell's combined output
  std::vector<part> data;
  std::string metadata;           // a JSON object as text
  std::vector<left_out> omitted;  // too large to be sent, or to be shown
};

/// To a request: what was asked for, or why not.
struct answered {
  std::string id;
  struct refusal {
    std::string kind;  // busy, not_found or failed
    std::string message;
  };
  std::optional<refusal> error;
  std::string body;  // the whole payload: a JSON object as text, with the fields of that request's answer
};

/// The answer to `variables`.
struct variable {
  std::string name;
  std::string type;
  std::optional<std::int64_t> bytes;  // none: it could not be told
  std::string preview;
};
struct variable_list {
  std::vector<variable> rows;
  std::optional<std::int64_t> next;  // the `after` of those behind; none: there are none
};

/// A process group that a cell started; it runs until job_finished tells of its end.
struct job_started {
  job_id job;
  cell_id cell;  // empty: no cell ran
  std::string command;
  std::int32_t pid = 0;
  std::uint64_t start_time = 0;
  std::int32_t group = 0;
  bool keep = false;  // it outlives its kernel
  unix_ms at = 0;
};

struct job_finished {
  job_id job;
  cell_id cell;
  std::optional<std::int64_t> exit_code;  // null: ended by a signal, or not known
  std::optional<std::string> signal;      // such as SIGKILL
  bool timed_out = false;
  bool stopped = false;  // on request
  std::uint64_t duration_ms = 0;
  std::uint64_t output_bytes = 0;
  bool read = false;  // a cell knows of it: no notice tells of it
  unix_ms at = 0;
};

/// A cell has learnt of the end of these: their notices are withdrawn.
struct jobs_read {
  std::vector<job_id> jobs;
};

/// The answer to `job_output`: a page of a job's output.
struct job_page {
  struct chunk {
    output_stream stream = output_stream::out;
    std::uint64_t offset = 0;
    std::string text;
  };
  struct range {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
  };
  std::vector<chunk> chunks;
  std::uint64_t next_offset = 0;
  std::uint64_t total_bytes = 0;
  std::vector<range> dropped;  // of the whole output
  bool is_final = false;
};

/// The other end could not read a frame of ours.
struct bad_frame {
  std::uint64_t seq = 0;
  std::string message;
};

// Daemon to nursery.

struct spawn {
  kernel_id kernel;
  std::string token;  // 64 hex digits
  std::string home;
  std::string directory;  // absolute; the kernel's run directory
  std::string cwd;
  std::map<std::string, std::string> env;  // the whole environment
  std::uint64_t grace_ms = 0;              // life with nothing attached
  std::uint64_t first_grace_ms = 0;        // the same before a first attach
  std::uint64_t interrupt_grace_ms = 0;    // from an interrupt to SIGKILL
  std::string failpoints;                  // empty: none
  std::string state;                       // absolute: saves its namespace there at the end of its grace; empty: does not
  std::string tools_module;                // that cells import them from; empty: there are none
  std::vector<std::string> tools;
};

struct kill {
  kernel_id kernel;
};

// Nursery to daemon.

struct spawned {
  kernel_id kernel;
  std::int32_t pid = 0;
  std::uint64_t start_time = 0;
};

struct spawn_failed {
  kernel_id kernel;
  std::string message;
};

struct ended_process {
  std::int32_t pid = 0;
  std::string command;
};

struct pipe_rest {
  std::string stream;  // stdout or stderr
  std::string text;    // at most 64 KiB
};

/// The death of a kernel; also what its exit file holds.
struct exited {
  kernel_id kernel;
  std::int32_t pid = 0;
  std::uint64_t start_time = 0;
  std::string cause;                      // exit signal oom unresponsive
  std::optional<std::int64_t> exit_code;  // with cause exit
  std::optional<std::string> signal;      // that ended it, such as SIGKILL
  std::string log_tail;
  std::vector<pipe_rest> rest;       // what was left in its output pipes
  std::vector<ended_process> ended;  // what it left behind and was ended
  unix_ms at = 0;
};

using to_kernel = std::variant<execute, interrupt, request, shutdown>;
using from_kernel =
    std::variant<started, background, output, display, done, answered, job_started, job_finished, jobs_read, bad_frame>;
using to_nursery = std::variant<spawn, kill, shutdown>;
using from_nursery = std::variant<spawned, spawn_failed, exited>;

/// Reads one payload. The error is a text such as `cannot read done: field "status" is missing, wanted a text`.
tl::expected<from_kernel, std::string> parse_from_kernel(std::string_view payload);
tl::expected<from_nursery, std::string> parse_from_nursery(std::string_view payload);
tl::expected<to_kernel, std::string> parse_to_kernel(std::string_view payload);
tl::expected<to_nursery, std::string> parse_to_nursery(std::string_view payload);
/// Reads the body of an answer to `variables`.
tl::expected<variable_list, std::string> variables_of(std::string_view body);
/// Reads the body of an answer to `job_output`.
tl::expected<job_page, std::string> job_page_of(std::string_view body);
/// Reads the contents of an exit file: the fields of `exited` without a type.
tl::expected<exited, std::string> parse_exit_file(std::string_view text);

/// One payload as text: valid UTF-8, also when a field is not.
std::string to_json(execute const& message);
std::string to_json(interrupt const& message);
std::string to_json(request const& message);
std::string to_json(shutdown const& message);
std::string to_json(started const& message);
std::string to_json(background const& message);
std::string to_json(output const& message);
std::string to_json(display const& message);
std::string to_json(answered const& message);  // its body
std::string to_json(done const& message);
std::string to_json(job_started const& message);
std::string to_json(job_finished const& message);
std::string to_json(jobs_read const& message);
std::string to_json(bad_frame const& message);
std::string to_json(spawn const& message);
std::string to_json(kill const& message);
std::string to_json(spawned const& message);
std::string to_json(spawn_failed const& message);
std::string to_json(exited const& message);

/// The `type` that a payload seems to have, for one that does not parse: decides whether its cell must end. Empty: cannot be told.
std::string_view claimed_type(std::string_view payload);

}  // namespace holdfast::link
