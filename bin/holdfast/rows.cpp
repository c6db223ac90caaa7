#include "bin/holdfast/rows.hpp"

#include <spdlog/fmt/fmt.h>
#include <boost/json/serialize.hpp>

#include "bin/holdfast/fields.hpp"
#include "bin/holdfast/format.hpp"

namespace holdfast::cli {

namespace {

std::string word(boost::json::object const& item, std::string_view name) { return one_line(text(item, name)); }

std::string count(boost::json::object const& item, std::string_view name) {
  auto const amount = number(item, name);
  return amount == 0 ? "" : std::to_string(amount);
}

/// Empty when the daemon does not say.
std::string duration(boost::json::object const& item, std::string_view name) {
  auto const* found = field(item, name);
  return found && found->is_number() ? human_duration(number(item, name)) : "";
}

std::string bytes(boost::json::object const& item, std::string_view name) {
  auto const* found = field(item, name);
  return found && found->is_number() ? human_bytes(number(item, name)) : "";
}

/// Of a saved namespace; empty when there is none.
std::string saved(boost::json::object const& item) { return number(item, "saved_bytes") > 0 ? bytes(item, "saved_bytes") : ""; }

/// One that runs another version of the program is marked.
std::string kernel_state(boost::json::object const& item) { return word(item, "state") + (flag(item, "stale") ? " (stale)" : ""); }

/// Its place among those that would be hibernated first; empty when it is none of them.
std::string rank(boost::json::object const& item) {
  auto const* found = field(item, "victim_rank");
  return found && found->is_number() ? std::to_string(number(item, "victim_rank")) : "";
}

std::string instant(boost::json::object const& item, std::string_view name) { return human_instant(text(item, name)); }

std::string joined(boost::json::object const& item, std::string_view name) {
  std::string list;
  if (auto const* found = array_in(item, name)) {
    for (auto const& each : *found) {
      if (each.is_string()) list += (list.empty() ? "" : " ") + one_line(each.get_string());
    }
  }
  return list;
}

/// Empty while it runs, or when it is not known.
std::string exit_of(boost::json::object const& item) {
  auto const* found = field(item, "exit_code");
  if (!found || !found->is_number()) return "";
  return std::to_string(number(item, "exit_code")) + (flag(item, "timed_out") ? " (deadline)" : "");
}

/// "2 idle, 1 busy".
std::string by_state(boost::json::object const* states) {
  std::string list;
  if (!states) return list;
  for (auto const& [state, amount] : *states) {
    if (number(*states, state) > 0)
      list += fmt::format("{}{} {}", list.empty() ? "" : ", ", number(*states, state), std::string_view(state));
  }
  return list.empty() ? "none" : list;
}

}  // namespace

table_row const& cell_headings() {
  static table_row const headings{"CELL", "STATUS", "STARTED", "DURATION", "OUTPUT", "SOURCE"};
  return headings;
}

table_row cell_row(boost::json::object const& item) {
  return {word(item, "cell"),          word(item, "status"), instant(item, "started_at"), duration(item, "duration_ms"),
          bytes(item, "output_bytes"), word(item, "source")};
}

table_row const& session_headings() {
  static table_row const headings{"SESSION", "OWNER", "CHILD", "STATE", "KERNEL",  "CELL",
                                  "QUEUED",  "JOBS",  "IDLE",  "SAVED", "NOTICES", "CREATED"};
  return headings;
}

table_row session_row(boost::json::object const& item) {
  return {word(item, "session"),     word(item, "owner"), word(item, "child"),    word(item, "state"),
          joined(item, "kernels"),   word(item, "cell"),  count(item, "queued"),  count(item, "jobs"),
          duration(item, "idle_ms"), saved(item),         count(item, "notices"), instant(item, "created_at")};
}

table_row const& kernel_headings() {
  static table_row const headings{"KERNEL", "STATE", "PID",  "SESSION", "OWNER",  "CHILD",   "CELL",
                                  "QUEUED", "JOBS",  "IDLE", "MEMORY",  "VICTIM", "STARTED", "PYTHON"};
  return headings;
}

table_row kernel_row(boost::json::object const& item) {
  return {word(item, "kernel"),        kernel_state(item),        count(item, "pid"),          word(item, "session"),
          word(item, "owner"),         word(item, "child"),       word(item, "cell"),          count(item, "queued"),
          count(item, "jobs"),         duration(item, "idle_ms"), bytes(item, "memory_bytes"), rank(item),
          instant(item, "started_at"), word(item, "python")};
}

table_row const& variable_headings() {
  static table_row const headings{"NAME", "TYPE", "BYTES", "PREVIEW"};
  return headings;
}

table_row variable_row(boost::json::object const& item) {
  return {word(item, "name"), word(item, "type"), bytes(item, "bytes"), word(item, "preview")};
}

table_row const& job_headings() {
  static table_row const headings{"JOB", "STATE", "EXIT", "PID", "SESSION", "OWNER", "STARTED", "DURATION", "OUTPUT", "COMMAND"};
  return headings;
}

table_row job_row(boost::json::object const& item) {
  return {word(item, "job"),           word(item, "state"),           exit_of(item),
          count(item, "pid"),          word(item, "session"),         word(item, "owner"),
          instant(item, "started_at"), duration(item, "duration_ms"), bytes(item, "output_bytes"),
          word(item, "command")};
}

table_row const& notice_headings() {
  static table_row const headings{"NOTICE", "KIND", "AT", "SESSION", "TEXT"};
  return headings;
}

table_row notice_row(boost::json::object const& item) {
  auto const id = word(item, "notice");
  return {id.empty() ? word(item, "id") : id, word(item, "kind"), instant(item, "at"), word(item, "session"), word(item, "text")};
}

std::vector<std::string> left_behind_lines(boost::json::object const& forked) {
  std::vector<std::string> lines;
  auto const* all = array_in(forked, "left_behind");
  if (!all) return lines;
  for (auto const& each : *all) {
    auto const* item = each.if_object();
    if (!item) continue;
    auto const kind = word(*item, "kind");
    auto const name = kind == "job" ? word(*item, "job") : std::to_string(number(*item, kind == "process" ? "pid" : "descriptor"));
    lines.push_back(fmt::format("{} {} ({})", kind, name, word(*item, kind == "connection" ? "what" : "command")));
  }
  return lines;
}

facts session_facts(boost::json::object const& item) {
  return {{"session", word(item, "session")},  {"owner", word(item, "owner")},
          {"child", word(item, "child")},      {"state", word(item, "state")},
          {"kernel", joined(item, "kernels")}, {"cell", word(item, "cell")},
          {"queued", count(item, "queued")},   {"jobs", count(item, "jobs")},
          {"idle", duration(item, "idle_ms")}, {"saved", saved(item)},
          {"notices", count(item, "notices")}, {"created", instant(item, "created_at")}};
}

facts kernel_facts(boost::json::object const& item) {
  return {{"kernel", word(item, "kernel")},
          {"state", kernel_state(item)},
          {"pid", count(item, "pid")},
          {"session", word(item, "session")},
          {"owner", word(item, "owner")},
          {"child", word(item, "child")},
          {"cell", word(item, "cell")},
          {"queued", count(item, "queued")},
          {"jobs", count(item, "jobs")},
          {"idle", duration(item, "idle_ms")},
          {"memory", bytes(item, "memory_bytes")},
          {"victim rank", rank(item)},
          {"environment", word(item, "environment")},
          {"python", word(item, "python")},
          {"started", instant(item, "started_at")}};
}

facts job_facts(boost::json::object const& item) {
  return {{"job", word(item, "job")},
          {"state", word(item, "state")},
          {"exit code", exit_of(item)},
          {"command", word(item, "command")},
          {"pid", count(item, "pid")},
          {"session", word(item, "session")},
          {"owner", word(item, "owner")},
          {"child", word(item, "child")},
          {"kernel", word(item, "kernel")},
          {"started", instant(item, "started_at")},
          {"duration", duration(item, "duration_ms")},
          {"output", bytes(item, "output_bytes")}};
}

facts cell_facts(boost::json::object const& result) {
  facts known{{"cell", word(result, "cell")},
              {"session", word(result, "session")},
              {"owner", word(result, "owner")},
              {"child", word(result, "child")},
              {"status", word(result, "status")},
              {"queued", instant(result, "queued_at")},
              {"started", instant(result, "started_at")},
              {"finished", instant(result, "finished_at")}};
  if (!text(result, "started_at").empty()) known.emplace_back("duration", duration(result, "duration_ms"));
  if (auto const* kernel = object_in(result, "kernel")) {
    known.emplace_back("kernel",
                       fmt::format("{} pid {} ({})", word(*kernel, "id"), number(*kernel, "pid"), word(*kernel, "reason")));
  }
  known.emplace_back("stdout", bytes(result, "stdout_bytes"));
  known.emplace_back("stderr", bytes(result, "stderr_bytes"));
  return known;
}

facts status_facts(boost::json::object const& answer) {
  auto const attaching = number(answer, "attaching");
  return {{"daemon", fmt::format("pid {}", number(answer, "pid"))},
          {"version", fmt::format("{} protocol {}", word(answer, "version"), word(answer, "protocol"))},
          {"home", word(answer, "home")},
          {"started", instant(answer, "started_at")},
          {"kernels", by_state(object_in(answer, "kernels"))},
          {"attaching", attaching > 0 ? std::to_string(attaching) : ""}};
}

std::string event_line(boost::json::object const& event) {
  auto const* details = object_in(event, "details");
  auto const child = word(event, "child");
  return fmt::format("{}  {:>4}  {:<16}  {}/{}{}{}  {}\n", instant(event, "at"), number(event, "seq"), word(event, "kind"),
                     word(event, "owner"), child, child.empty() ? "" : "/", word(event, "session"),
                     details ? one_line(boost::json::serialize(*details)) : "");
}

}  // namespace holdfast::cli
