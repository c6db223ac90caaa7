#include "actors/front/objects.hpp"

#include "storage/records.hpp"

namespace holdfast::front {
namespace {

field owner_field() { return text("owner", "whose it is"); }
field child_field() { return or_null(text("child", "the owner's delegated child, null when there is none")); }
field session_field() { return text("session", "its name"); }

std::vector<field> result_fields() {
  return {
      boolean("replayed", "whether it is answered from the record"),
      text("cell", "its id"),
      owner_field(),
      child_field(),
      session_field(),
      word("status", cell_statuses(), "how it stands or ended"),
      boolean("final", "whether that will not change: it is neither `queued` nor `running`"),
      text("stdout", "64 KiB: head 48, one line `[... N bytes left out ...]`, tail 16; surrogates escaped"),
      text("stderr", "the same"),
      integer("stdout_bytes", "exact"),
      integer("stderr_bytes", "exact"),
      boolean("stdout_truncated", "whether `stdout` leaves bytes out: cell.output has them"),
      boolean("stderr_truncated", "the same of `stderr`"),
      or_null(text("value", "bounded repr of a last expression")),
      list("displays", "display", "what it has shown beside its output"),
      or_null(object("error", "cell error", "the exception that ended it")),
      or_null(integer("exit_code", "that of SystemExit")),
      or_null(object("death", "death", "what became of its kernel, or interpreter, when that ended with it")),
      text("queued_at", "an instant"),
      or_null(text("started_at", "an instant; null: not yet")),
      or_null(text("finished_at", "an instant; null: not yet")),
      or_null(integer("duration_ms", "from start to end, without the queue; null: not yet")),
      integer("tool_calls", "always 0: cells have no host tools yet"),
      or_null(word("fallback", {"per_call"}, "`per_call`: it ran without a kernel, in an interpreter of its own")),
      list("notices", "notice", "what the session is told with this result; part of the record, so a replay shows the same"),
      or_null(object("kernel", "kernel of a cell", "where it ran; null: nowhere yet, without one, or it never started")),
      or_left_out(
          text("text",
               "what a model should read, with `text_limit`: losses first, output as it was written without escape sequences, "
               "traceback or value, the end state last; what is left out is told with its size and where to read on")),
  };
}

std::vector<field> display_fields() {
  return {
      integer("index", "its number in the cell, from 0"),
      boolean("main", "whether it is the value of the last expression"),
      integer("offset", "where it stands in the cell's combined output"),
      {.name = "data",
       .type = field_type::map,
       .of = "string",
       .sentence =
           "by type: text if that is text/..., ends in +json or +xml, or is application/json, javascript or xml; else base64; "
           "at most 1 MiB each, 4 MiB in all"},
      {.name = "metadata", .type = field_type::map, .of = "any", .sentence = "what the value says of itself"},
      list("omitted", "omitted data", "types whose data is too large to be here"),
  };
}

std::vector<field> session_fields() {
  return {
      owner_field(),
      child_field(),
      session_field(),
      word("state", session_states(), "how it stands"),
      list("kernels", "string", "ids of its live kernels"),
      or_null(text("cell", "the one that runs")),
      integer("queued", "cells that wait"),
      integer("jobs", "how many run"),
      integer("idle_ms", "since its last cell ended"),
      integer("saved_bytes", "of its saved namespace, 0: it has none"),
      integer("notices", "how many it has not been told"),
      text("created_at", "an instant"),
  };
}

std::vector<field> forked_session_fields() {
  auto all = session_fields();
  all.push_back(list("left_behind", "left behind", "what stays with the original"));
  return all;
}

std::vector<field> left_behind_fields() {
  return {
      word("kind", {"job", "process", "connection"}, "a job; another child process; a socket or pipe, which is cut in the copy"),
      or_left_out(text("job", "of a job: its id")),
      or_left_out(integer("pid", "of a job or process")),
      or_left_out(text("command", "the same, as one line")),
      or_left_out(integer("descriptor", "of a connection")),
      or_left_out(text("what", "of a connection: its ends")),
  };
}

std::vector<field> kernel_fields() {
  return {
      text("kernel", "its id"),
      owner_field(),
      child_field(),
      session_field(),
      text("environment", "where it lives: `local`, or the name of a registered one"),
      text("python", "its interpreter"),
      list("tools", "string", "the tools that its cells can import"),
      integer("pid", "0: none yet"),
      word("state", kernel_states(), "how it stands"),
      boolean("stale",
              "whether it runs another version of the program than fresh kernels; it is replaced once it is idle and can be saved "
              "whole"),
      integer("memory_bytes", "resident, 0 if unknown"),
      text("started_at", "an instant"),
      integer("idle_ms", "since its last cell ended"),
      or_null(text("cell", "the one that runs")),
      integer("queued", "how many cells wait"),
      integer("jobs", "how many run in it; it is not stopped while one does"),
      or_null(integer("victim_rank", "its turn to be hibernated for lack of room, 1 being the next; null: it is not to be")),
  };
}

std::vector<field> job_fields() {
  return {
      text("job", "its id"),
      owner_field(),
      child_field(),
      session_field(),
      text("kernel", "that it was started in"),
      text("command", "what it runs, as one line"),
      integer("pid", "of its first process, whose number its process group has"),
      word("state", job_states(), "`lost`: its end is not known, its kernel died or it outlived that"),
      or_null(integer("exit_code", "of its first process, minus the signal's number if one ended it; null: it runs, or not known")),
      boolean("timed_out", "whether its deadline ended it"),
      text("started_at", "an instant"),
      integer("duration_ms", "from start to end, until now if it runs"),
      integer("output_bytes", "of both streams, known once it has ended"),
  };
}

std::vector<field> notice_fields() {
  return {text("id", "for notice.ack"),
          word("kind",
               {"reattached", "restarted", "state_lost", "restored", "unreachable", "silent", "upgraded", "evicted", "fallback",
                "job_finished", "cell_finished"},
               "what has happened"),
          text("text", "one or two sentences for a reader"), text("at", "an instant"),
          object("details", "notice details", "the same for a program")};
}

std::vector<field> listed_notice_fields() {
  std::vector<field> all{owner_field(), child_field(), session_field()};
  for (auto& each : notice_fields()) all.push_back(std::move(each));
  return all;
}

std::vector<object_description> result_objects() {
  return {
      {"result", result_fields()},
      {"cell error",
       {text("name", "the exception's class"), text("message", "its text"), text("traceback", "plain text, the cell's own lines")}},
      {"death",
       {word("cause", {"exit", "signal", "oom", "unresponsive", "unknown"}, "what ended the kernel"),
        or_null(text("signal", "such as SIGKILL")), or_null(integer("exit_code", "of the process")),
        text("log_tail", "the end of what it wrote to its log")}},
      {"kernel of a cell",
       {text("id", ""), integer("pid", ""), text("environment", "where it lives: `local`, or the name of a registered one"),
        text("python", "its interpreter"),
        word("reason", {"first", "reused", "restored", "reset", "died", "tools_changed", "environment_changed"},
             "why the cell ran in this one"),
        boolean("reused", "whether it was there before this cell"),
        boolean("restored", "whether it was given the saved namespace of an earlier one before this cell"),
        boolean("state_lost", "whether variables are gone that nobody asked to end"),
        boolean("state_reset", "whether they are gone because of a reset"), boolean("ended", "whether it ended with this cell"),
        integer("execution_count", "the cell's number among the kernel's"),
        list("skipped", "skipped name", "what of the saved namespace could not be restored"),
        or_null(text("note", "what else there is to know, such as why the kernel was killed with it"))}},
  };
}

std::vector<object_description> notice_objects() {
  return {
      {"notice", notice_fields()},
      {"notice details",
       {list("jobs", "job name", "the jobs that it is about"), list("cells", "string", "ids of the cells that it is about"),
        list("skipped", "skipped name", "names that could not be saved or restored; the first 1000"),
        or_left_out(text("kernel", "of `reattached`, `restored`, `upgraded` and `evicted`: that it is about")),
        or_left_out(list("names", "string", "of `restored`: those that were; the first 1000"))}},
      {"skipped name", {text("name", "of the variable"), text("reason", "why it is not there")}},
      {"job name", {text("job", "its id"), text("command", "what it runs, as one line")}},
      {"listed notice", listed_notice_fields()},
      {"acked notices", {integer("acked", "how many of them there were")}},
  };
}

std::vector<object_description> cell_objects() {
  return {
      {"cell row",
       {text("cell", "its id"), word("status", cell_statuses(), "how it stands or ended"),
        or_null(text("started_at", "an instant; null: not yet")),
        or_null(integer("duration_ms", "without the queue, until now if it runs; null: not started")),
        integer("output_bytes", "of both streams"), text("source", "its first 80 characters")}},
      {"output page",
       {list("chunks", "chunk", "in written order"), integer("next_offset", "where the next page begins"),
        integer("total_bytes", "written so far"), list("dropped", "dropped range", "what was not kept within this page"),
        boolean("final", "whether no more can come: the cell or job has ended")}},
      {"chunk",
       {word("stream", {"stdout", "stderr"}, "where it was written"), integer("offset", "of its first byte"), text("text", "")}},
      {"display", display_fields()},
      {"omitted data",
       {text("mime", "its type"), integer("bytes", "its size, decoded"),
        boolean("kept", "whether cell.display has it; over 4 MiB of a display the largest data is not kept")}},
      {"display data",
       {text("mime", "its type"), text("data", "text, or base64 of a binary type"), integer("bytes", "its size, decoded")}},
      {"dropped range", {integer("from", "the first offset"), integer("to", "the offset behind the last")}},
  };
}

std::vector<object_description> row_objects() {
  return {
      {"session row", session_fields()},
      {"forked session", forked_session_fields()},
      {"closed owner", {integer("sessions", "how many are gone"), integer("kernels", "how many of them had one")}},
      {"left behind", left_behind_fields()},
      {"variable",
       {text("name", "its name"), text("type", "its class"), or_null(integer("bytes", "its own size, without what it refers to")),
        text("preview", "the start of its text")}},
      {"kernel row", kernel_fields()},
      {"job row", job_fields()},
  };
}

std::vector<object_description> gateway_objects() {
  return {
      {"subscription", {integer("seq", "of the newest event"), integer("missed", "how many behind `since` are no longer kept")}},
      {"status",
       {text("version", "of the daemon"),
        text("protocol", "of this page"),
        integer("pid", ""),
        text("home", "a path"),
        text("started_at", "an instant"),
        {.name = "kernels",
         .type = field_type::map,
         .of = "integer",
         .words = kernel_states(),
         .sentence = "how many are in each state; a state that none is in is left out"},
        integer("attaching", "kernels that the daemon looks for"),
        object("limits", "limits", "")}},
      {"limits",
       {integer("connections", "of clients at once"), integer("queue_per_session", "cells that wait"),
        integer("source_bytes", "of a cell"), integer("output_bytes_kept", "of a cell; what follows is counted"),
        integer("line_bytes", "of a request"), integer("keep_cells", "records of a session"),
        integer("keep_cells_days", "and for how long"), integer("max_kernels", "above it idle ones are hibernated; 0: no limit"),
        integer("max_kernels_hard", "above it cells wait; 0: no limit"), integer("max_kernels_per_owner", "the same of one owner"),
        integer("max_memory_mb", "the same of the memory of all, in MiB")}},
      {"kernels left",
       {integer("kernels_left", "how many live on"),
        integer("not_saved", "with `kernels`: namespaces that were lost, as their kernels did not answer or had to be killed")}},
  };
}

}  // namespace

std::vector<object_description> const& described_objects() {
  static std::vector<object_description> const objects = [] {
    std::vector<object_description> all;
    for (auto* group : {result_objects, notice_objects, cell_objects, row_objects, gateway_objects, table_objects})
      for (auto& each : group()) all.push_back(std::move(each));
    return all;
  }();
  return objects;
}

std::vector<std::string_view> cell_statuses() {
  std::vector<std::string_view> statuses;
  for (int status = 0; status <= static_cast<int>(storage::cell_status::lost); ++status)
    statuses.emplace_back(storage::to_string(static_cast<storage::cell_status>(status)));
  return statuses;
}

std::vector<std::string_view> job_states() {
  std::vector<std::string_view> states;
  for (int state = 0; state <= static_cast<int>(storage::job_state::lost); ++state)
    states.emplace_back(storage::to_string(static_cast<storage::job_state>(state)));
  return states;
}

std::vector<std::string_view> session_states() { return {"new", "starting", "idle", "busy", "hibernated", "unreachable"}; }
std::vector<std::string_view> kernel_states() { return {"starting", "idle", "busy", "unreachable", "orphan"}; }

}  // namespace holdfast::front
