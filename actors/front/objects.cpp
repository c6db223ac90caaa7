#include "actors/front/objects.hpp"

namespace holdfast::front {

std::vector<object_description> const& described_objects() {
  static std::vector<object_description> const objects{
      {"result",
       {{"cell, session, owner, child", "whose it is; child is null when there is none"},
        {"replayed", "whether it is answered from the record"},
        {"status, final", "`queued` `running` (not final); `ok` `error` `exit` `timeout` `interrupted` `lost` (final)"},
        {"stdout, stderr", "64 KiB each: head 48, one line `[... N bytes left out ...]`, tail 16; surrogates escaped"},
        {"stdout_bytes, stderr_bytes, stdout_truncated, stderr_truncated", "exact"},
        {"value", "bounded repr of a last expression, or null"},
        {"error", "name, message, traceback (plain text), or null"},
        {"exit_code", "that of SystemExit, or null"},
        {"death", "cause (`exit` `signal` `oom` `unresponsive` `unknown`), signal, exit_code, log_tail, or null"},
        {"queued_at, started_at, finished_at, duration_ms", "the duration is without the queue; null: not yet"},
        {"notices", "a list of id, kind, text, at, details; part of the record, so a replay shows the same"},
        {"kernel",
         "id, pid, environment, python, reason (`first` `reused` `reset` `died`), reused, restored, state_lost, state_reset, "
         "ended, "
         "execution_count, note, or null"}}},
      {"session row",
       {{"session, owner, child", "its name"},
        {"state", "`new` `starting` `idle` `busy` `unreachable`"},
        {"kernels", "ids of its live kernels"},
        {"cell", "the one that runs, or null"},
        {"queued", "cells that wait"},
        {"idle_ms", "since its last cell ended"},
        {"notices", "that it has not been told"},
        {"created_at", ""}}},
      {"kernel row",
       {{"kernel", "its id"},
        {"owner, child, session", "whose it is"},
        {"environment, python, pid", "where it runs"},
        {"state", "`starting` `idle` `busy` `unreachable`"},
        {"memory_bytes", "resident, 0 if unknown"},
        {"started_at, idle_ms", ""},
        {"cell, queued", "the cell that runs, or null, and how many wait"}}},
      {"notice",
       {{"id", ""},
        {"owner, child, session", "in notice.list only"},
        {"kind", "`reattached` `restarted` `state_lost`"},
        {"text", "one or two sentences for a reader"},
        {"at", ""},
        {"details", "an object, by kind"}}},
  };
  return objects;
}

std::vector<notification_description> const& described_notifications() {
  static std::vector<notification_description> const notifications{
      {"cell.accepted", "with `stream`: the cell is recorded and will run", {{"owner, child, session, cell", "which one"}}},
      {"cell.stream",
       "with `stream`: output, all of it before the request's answer",
       {{"owner, child, session, cell", "which one"},
        {"seq", "counts this cell's notifications; a gap means that some were dropped"},
        {"stream", "`stdout` or `stderr`"},
        {"offset", "a byte of the cell's combined text"},
        {"text", ""},
        {"dropped_bytes", "of output that this client was not sent before this one because it did not read: cell.output has it"}}},
      {"event",
       "after event.subscribe",
       {{"seq, at, kind", "kinds are the words of event.subscribe's types"},
        {"owner, child, session", "whose, or null"},
        {"details", "an object, with the reason"}}},
  };
  return notifications;
}

std::vector<error_description> const& described_errors() {
  static std::vector<error_description> const errors{
      {error_code::parse_error, "the line is not JSON as this protocol takes it"},
      {error_code::invalid_request, "JSON, but not a request: a batch, no id, no method, an unknown member"},
      {error_code::unknown_method, "no such method"},
      {error_code::invalid_params, "a param is unknown, missing, of the wrong type or out of range; `data.param` names it"},
      {error_code::internal, "a mistake in the daemon"},
      {error_code::not_found, "there is no such session, cell or kernel"},
      {error_code::cell_conflict, "the cell's id has been used with other code"},
      {error_code::cell_expired, "the cell's record has been trimmed"},
      {error_code::busy, "it has a running or queued cell; or too many requests of this connection are open"},
      {error_code::at_capacity, "no kernel could be had within the admission timeout"},
      {error_code::queue_full, "64 cells of the session wait already"},
      {error_code::start_failed, "no kernel could be started"},
      {error_code::unreachable, "the kernel does not answer"},
      {error_code::too_large, "a line, a source or an object is over its limit"},
      {error_code::store_failed, "the disk failed; the daemon must be looked at"},
      {error_code::kernel_changed, "the session no longer has the kernel of if_kernel"},
      {error_code::shutting_down, "the daemon or the session is ending; send it again"},
      {error_code::store_full, "no room on the disk or in the store"},
  };
  return errors;
}

}  // namespace holdfast::front
