// Interface of the gateway, read first: what a front (socket server, embedding API) may ask, and what comes back.
// Requests go down to the supervisor or to a session; answers and notifications come up to the front that asked. Every request
// gets exactly one answer. All of it travels inside one process, on one thread: messages hold plain values and are never serialized.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <caf/actor.hpp>
#include <caf/allowed_unsafe_message_type.hpp>

#include "actors/base/errors.hpp"
#include "storage/ids.hpp"
#include "storage/records.hpp"

namespace holdfast {

/// Where an answer goes. `connection` and `request` mean something to the front alone.
struct reply_to {
  caf::actor front;
  std::uint64_t connection = 0;
  std::uint64_t request = 0;
  std::size_t text_limit = 0;  // bytes of the `text` that a result is answered with, taken over from the request; 0: none
};

// ---- to a session -----------------------------------------------------------------------------------------------------

/// Accepts a cell and runs it; answers with the result object when final or after wait_ms. Errors: 1002 1003 1006 1007 1008 1009 1011.
struct run_cell {
  cell_id cell;  // empty: the session makes one
  std::string code;
  std::optional<std::string> environment, python;  // left out: the session's last ones
  std::optional<std::vector<std::string>> tools;   // names, sorted, each once; left out: the session's last ones
  std::optional<std::string> cwd;                  // for a fresh kernel
  std::map<std::string, std::string> env;          // for a fresh kernel
  std::int64_t timeout_ms = 300'000;               // from its start; 0: none
  std::int64_t background_after_ms = 60'000;       // from its start: later cells may run from then on while it awaits; 0: never
  std::optional<std::int64_t> wait_ms;             // how long this call blocks; none: until final
  bool reset = false;
  std::optional<kernel_id> if_kernel;
  bool stream = false;         // cell.accepted and cell.stream notifications go to the same connection
  std::size_t text_limit = 0;  // of the result's text; 0: none
};
/// Answers with the result object as it stands. Errors: 1001 1003.
struct get_cell {
  cell_id cell;
  std::size_t text_limit = 0;
};
/// Answers when the cell is final or after wait_ms; with `stream` its output from `offset` on is notified first. Errors: 1001 1003.
struct wait_cell {
  cell_id cell;
  std::optional<std::int64_t> wait_ms;
  bool stream = false;
  std::uint64_t offset = 0;
  std::size_t text_limit = 0;
};
/// Answers {items, next}, newest first. `after` is a previous `next`.
struct list_cells {
  std::optional<storage::cell_status> status;
  std::size_t limit = 100;
  std::string after;
};
/// Answers {chunks, next_offset, total_bytes, dropped, final}. Errors: 1001 1003.
struct read_output {
  cell_id cell;
  std::uint64_t offset = 0;
  std::size_t limit = 65'536;
};
/// Answers {mime, data, bytes} of one display of a cell. Errors: 1001 1003.
struct read_display {
  cell_id cell;
  std::uint64_t index = 0;
  std::string mime;
};
/// Answers {items, next} of the kernel's variables; none without a kernel. Errors: 1001, 1004 (a cell runs), 1008.
struct list_variables {
  std::size_t limit = 100;
  std::string after;
};
/// Ends a running or queued cell (none named: the foreground one); answers with its result when final. Errors: 1001.
struct interrupt_cell {
  std::optional<cell_id> cell;
};
/// Answers with the session row.
struct get_session {};
/// Makes the session `into` with a copy of this one's namespace; answers with its row and left_behind[]. Errors: 1001, 1004, 1008, 1013.
struct fork_session {
  std::string into;
};
/// Ends the running cell as interrupted and the kernel with it; answers with the session row once both are over.
struct reset_session {};
/// As reset, then removes the session with all its records; answers with its last row.
struct close_session {};

/// A request for one session. Only run_cell makes a session that does not exist; for the others it is not_found.
struct session_call {
  reply_to from;
  session_key key;
  std::variant<run_cell, get_cell, wait_cell, list_cells, read_output, read_display, list_variables, interrupt_cell, get_session,
               fork_session, reset_session, close_session>
      what;
};

// ---- to the supervisor ------------------------------------------------------------------------------------------------

/// Answers {items, next} of session rows, newest first.
struct list_sessions {
  std::optional<std::string> owner, child, state;
  std::size_t limit = 100;
  std::string after;
};
/// Closes all sessions that the owner has now, those of its children included, or those of one child alone; answers {sessions, kernels}: how
/// many were ended. Errors: 1001.
struct close_owner {
  std::string owner = "default";
  std::optional<std::string> child;
};
/// Answers {items, next} of kernel rows.
struct list_kernels {
  std::optional<std::string> owner, child, session, state;
  std::size_t limit = 100;
  std::string after;
};
/// Ends an idle kernel; answers with its last row. With `save` its namespace is saved first: its session is hibernated then, and what
/// cannot be saved is not ended. Errors: 1001, 1004 (it is busy, or has live jobs), 1008 (it does not answer), 1014 (it could not save).
struct stop_kernel {
  kernel_id kernel;
  bool save = true;
};
/// Answers {items, next} of job rows, newest first.
struct list_jobs {
  std::optional<std::string> owner, child, session;
  std::optional<storage::job_state> state;
  std::size_t limit = 100;
  std::string after;
};
/// Ends a job with all processes of its group; answers with its row once they are gone. Errors: 1001, 1008.
struct stop_job {
  job_id job;
};
/// Answers {chunks, next_offset, total_bytes, dropped, final}. Errors: 1001, 1008.
struct read_job_output {
  job_id job;
  std::uint64_t offset = 0;
  std::size_t limit = 65'536;
};
/// Answers {items, next}: notices that neither rode on a result nor were acked, oldest first.
struct list_notices {
  std::string owner = "default";
  std::optional<std::string> child, session;
  std::size_t limit = 100;
  std::string after;
};
/// Answers {acked}: how many of these ids were there.
struct ack_notices {
  std::string owner = "default";
  std::vector<notice_id> ids;
};
/// Answers {version, protocol, pid, home, started_at, kernels{by state}, attaching, limits}.
struct get_status {};
/// Answers a JSON string: Prometheus text.
struct get_metrics {};
/// From now on `connection` of that front is sent `event` notifications; answers {seq, missed}.
struct subscribe_events {
  std::vector<std::string> types;    // empty: all kinds
  std::optional<std::string> owner;  // none: every owner
  std::optional<std::uint64_t> since;
};
/// Is never answered. From now on its front is told when the gateway ends, whoever ends it; one that has asked anything is so as well.
struct await_end {};
/// Answers {kernels_left} and then ends the gateway; running cells go on in their kernels.
struct shut_down {
  bool kernels = false;
};

struct supervisor_call {
  reply_to from;
  std::variant<list_sessions, close_owner, list_kernels, stop_kernel, list_jobs, stop_job, read_job_output, list_notices,
               ack_notices, get_status, get_metrics, subscribe_events, await_end, shut_down>
      what;
};

/// A front tells that a connection is gone: its subscriptions end, its waiting calls are dropped; their cells go on.
struct connection_closed {
  caf::actor front;
  std::uint64_t connection = 0;
};

// ---- to a front -------------------------------------------------------------------------------------------------------

/// The one answer of a request: the result as JSON text, or an error.
struct answer {
  std::uint64_t connection = 0;
  std::uint64_t request = 0;
  tl::expected<std::string, error> outcome;
};
/// A notification for one connection: method and params as JSON text. Stream ones (cell.stream) may be dropped for a slow client.
struct notification {
  std::uint64_t connection = 0;
  std::string method;
  std::string params;
};
/// The gateway has ended its work: the front closes its connections once they are written out.
struct gateway_ended {
  std::optional<error> why;  // when nobody asked for it
};

}  // namespace holdfast

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::session_call)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::supervisor_call)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::connection_closed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::answer)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::notification)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::gateway_ended)
