// What a client is told without having asked for it: the notifications, and the kinds of events.
#include "actors/front/objects.hpp"

namespace holdfast::front {
namespace {

std::vector<field> of_cell(std::vector<field> own) {
  std::vector<field> all{text("owner", "whose session it is"), or_null(text("child", "the owner's delegated child")),
                         text("session", ""), text("cell", "which one")};
  for (auto& each : own) all.push_back(std::move(each));
  return all;
}

field kernel_field() { return text("kernel", "its id"); }
field job_field() { return text("job", "its id"); }
field cell_field() { return text("cell", "its id"); }

}  // namespace

std::vector<notification_description> const& described_notifications() {
  static std::vector<notification_description> const notifications{
      {"cell.accepted", "With `stream`: the cell is recorded and will run.", of_cell({})},
      {"cell.stream", "With `stream`: output, all of it before the request's answer.",
       of_cell({integer("seq", "counts this cell's notifications; a gap means that some were dropped"),
                or_left_out(word("stream", {"stdout", "stderr"}, "where it was written; left out of a display")),
                integer("offset", "a byte of the cell's combined text"),
                or_left_out(text("text", "what was written; left out of a display")),
                or_left_out(object("display", "display", "what was shown; left out of text")),
                integer("dropped_bytes",
                        "of output that this client was not sent before this one because it did not read: cell.output has it")})},
      {"event",
       "After event.subscribe.",
       {integer("seq", "rises over all daemons of a home, by one within one"),
        text("at", "an instant"),
        word("kind", event_kinds(), "see Events"),
        text("owner", "whose session it is"),
        or_null(text("child", "the owner's delegated child")),
        text("session", ""),
        {.name = "details", .type = field_type::map, .of = "any", .sentence = "by kind: see Events"}}},
  };
  return notifications;
}

std::vector<event_description> const& described_events() {
  static std::vector<event_description> const events{
      {"session_created", "a session came to be", {word("reason", {"run", "fork"}, "by its first cell, or as a copy")}},
      {"session_closed",
       "a session is gone with its records",
       {word("reason", {"close", "fork_failed", "refused"},
             "it was closed, or the fork that was to make it failed, or the run that made it was refused and nothing else has "
             "happened "
             "in it")}},
      {"kernel_started",
       "a fresh kernel is ready",
       {kernel_field(),
        word("reason", {"first", "restored", "restore_failed", "forked", "reset", "died", "tools_changed", "environment_changed"},
             "why it was needed")}},
      {"kernel_attached",
       "the daemon has a kernel",
       {kernel_field(), integer("epoch", "how often it was attached"),
        word("reason", {"started", "restart", "reconnect"},
             "for the first time, after a restart of the daemon, or after a lost connection")}},
      {"kernel_dropped",
       "the connection to a kernel is lost; it is looked for",
       {kernel_field(), text("reason", "how that was seen")}},
      {"kernel_ended",
       "a kernel is proven gone, or did not start",
       {kernel_field(), text("reason",
                             "the order that ended it, such as `reset` `close` `stop` `hibernated` `shutdown` `deadline`, the "
                             "cause of its death, or "
                             "`start_failed`")}},
      {"kernel_hibernated",
       "a kernel's namespace is saved, and it ends or has ended",
       {kernel_field(),
        word("reason", {"stop", "grace", "idle", "cap", "memory", "upgraded"},
             "why: it was stopped, no daemon was attached for its grace, the limit that took it, or it was stale")}},
      {"kernel_orphaned",
       "a kernel could not be reached for too long: its session gets a fresh one, it is ended later",
       {kernel_field(), text("reason", "how that was seen last")}},
      {"orphan_ended",
       "a kernel that was given up is proven gone, with its jobs",
       {kernel_field(), word("reason", {"idle", "order"},
                             "its idle limit was reached, or its session was reset or closed, or somebody stopped it")}},
      {"job_started",
       "a cell has started a job",
       {job_field(), kernel_field(), cell_field(), word("reason", {"cell"}, "who asked for it")}},
      {"job_finished",
       "a job has ended",
       {job_field(), kernel_field(), cell_field(), word("state", {"finished", "stopped", "lost"}, "how it ended"),
        word("reason", {"exit", "signal", "deadline", "stop", "unknown"},
             "what ended it; `stop`: on request, or with its kernel")}},
      {"cell_accepted",
       "a cell is recorded and will run",
       {cell_field(),
        word("reason", {"sent", "queued"}, "it goes to its kernel at once, or waits for that or behind other cells")}},
      {"cell_started",
       "a kernel has begun it",
       {cell_field(), or_null(kernel_field()),
        text("reason", "why it runs in this kernel: as `reason` in `kernel of a cell`; `fallback`: without one")}},
      {"cell_finished",
       "its result is recorded",
       {cell_field(), word("status", cell_statuses(), "how it ended"),
        text("reason",
             "what ended it: `done` by itself, `deadline`, `interrupt`, an order to its kernel such as `reset` `close`, the cause "
             "of its "
             "kernel's death, `unreachable`, `start_failed`, `kernel_changed`, `records_gone`")}},
      {"fallback",
       "a cell runs without a kernel, in an interpreter of its own",
       {cell_field(), text("reason", "why no kernel was started, as its notice tells it")}},
      {"refused",
       "a cell was refused: nothing ran",
       {or_null(text("cell", "its id, if its client gave one")), text("reason", "the error's kind")}},
      {"notice",
       "a session has something to be told",
       {text("id", ""), text("kind", "see `notice`"), text("text", ""), text("at", "an instant"),
        object("details", "notice details", "")}},
  };
  return events;
}

std::vector<std::string_view> event_kinds() {
  std::vector<std::string_view> kinds;
  for (auto const& each : described_events()) kinds.push_back(each.kind);
  return kinds;
}

}  // namespace holdfast::front
