#include "bin/holdfast/cell_view.hpp"

#include <spdlog/fmt/fmt.h>
#include <boost/json/serialize.hpp>

#include "bin/holdfast/fields.hpp"
#include "bin/holdfast/format.hpp"
#include "bin/holdfast/streams.hpp"

namespace holdfast::cli {

namespace {

std::string line_end(std::string_view text) { return text.empty() || text.ends_with('\n') ? "" : "\n"; }

/// "killed by SIGKILL", "exited 3", "unresponsive".
std::string cause_of_death(boost::json::object const& death) {
  auto const cause = text(death, "cause");
  if (cause == "signal") return fmt::format("killed by {}", text(death, "signal"));
  if (cause == "exit") return fmt::format("exited {}", number(death, "exit_code"));
  if (cause == "oom") return "killed for want of memory";
  return cause.empty() ? "unknown" : std::string(cause);
}

std::string what_was_lost(boost::json::object const& result) {
  std::string said;
  if (auto const* notices = array_in(result, "notices")) {
    for (auto const& item : *notices) {
      if (auto const* notice = item.if_object())
        said += fmt::format("[{}: {}]\n", text(*notice, "kind"), one_line(text(*notice, "text")));
    }
  }
  auto const* kernel = object_in(result, "kernel");
  // Said by a notice as a rule; the flag is the fact, so it is never kept silent.
  if (kernel && flag(*kernel, "state_lost") && said.find("[state_lost:") == std::string::npos && text(result, "status") != "lost" &&
      !flag(*kernel, "ended"))
    said += "[state_lost: this is a fresh kernel; variables and imports are gone, define them again]\n";
  // Nobody asked for that by its name, as with a reset.
  auto const reason = kernel ? text(*kernel, "reason") : "";
  if (reason == "environment_changed" || reason == "tools_changed")
    said += fmt::format("[another kernel: {}]\n", one_line(text(*kernel, "note")));
  return said;
}

/// "holdfast VERB CELL", with the options that it needs to find that cell.
std::string cell_command(std::string_view home_flag, std::string_view verb, scope const& where, std::string_view cell) {
  std::string line = "holdfast";
  if (!home_flag.empty()) line += " --home " + shell_word(home_flag);
  line += " " + std::string(verb);
  if (where.session != "default") line += " -s " + shell_word(where.session);
  if (where.owner != "default") line += " -o " + shell_word(where.owner);
  return line + " " + shell_word(cell);
}

std::string or_default(std::string_view id) { return id.empty() ? "default" : std::string(id); }

/// "[display 0: image/png text/plain; holdfast display c-1 0 --mime image/png]", one line each.
std::string displays_of(boost::json::object const& result, std::string_view home_flag) {
  scope const where{or_default(text(result, "session")), or_default(text(result, "owner"))};
  std::string said;
  auto const* shown = array_in(result, "displays");
  for (auto const& item : shown ? *shown : boost::json::array{}) {
    auto const* display = item.if_object();
    if (!display) continue;
    std::string types, best;
    auto const add = [&](std::string_view mime) {
      types += (types.empty() ? "" : " ") + std::string(mime);
      if (best.empty() || best == "text/plain") best = mime;
    };
    auto const* data = object_in(*display, "data");
    if (data)
      for (auto const& part : *data) add({part.key().data(), part.key().size()});
    auto const is_plain = types == "text/plain";
    if (auto const* omitted = array_in(*display, "omitted"))
      for (auto const& left_out : *omitted) {
        auto const* each = left_out.if_object();
        if (each && flag(*each, "kept"))
          add(text(*each, "mime"));
        else if (each)
          types += fmt::format("{}{} ({}, too large to be kept)", types.empty() ? "" : " ", text(*each, "mime"),
                               human_bytes(number(*each, "bytes")));
      }
    if (is_plain && types == "text/plain") {  // short enough to stand here; the last value is shown as such
      if (!flag(*display, "main")) said += std::string(text(*data, types)) + "\n";
      continue;
    }
    auto line = fmt::format("[display {}: {}", number(*display, "index"), types);
    if (!best.empty())
      line += fmt::format("; {} {} --mime {}", cell_command(home_flag, "display", where, text(result, "cell")),
                          number(*display, "index"), shell_word(best));
    said += one_line(line) + "]\n";  // a type is any text that the cell gave
  }
  return said;
}

std::string failure_of(boost::json::object const& result) {
  auto const* problem = object_in(result, "error");
  if (!problem) return {};
  auto const traceback = text(*problem, "traceback");
  if (!traceback.empty()) return std::string(traceback) + line_end(traceback);
  auto const name = text(*problem, "name"), message = text(*problem, "message");
  return fmt::format("{}{}{}\n", name, name.empty() || message.empty() ? "" : ": ", message);
}

std::string end_state(boost::json::object const& result) {
  auto const status = text(result, "status");
  auto const cell = text(result, "cell");
  auto const after =
      text(result, "started_at").empty() ? "before it started" : "after " + human_duration(number(result, "duration_ms"));
  auto const* kernel = object_in(result, "kernel");
  auto const ended = kernel && flag(*kernel, "ended") ? "; its kernel was ended, variables are gone" : "";
  if (status == "error") return fmt::format("[cell {}: error {}]\n", cell, after);
  if (status == "exit") return fmt::format("[cell {}: exit code {} {}]\n", cell, number(result, "exit_code"), after);
  if (status == "timeout") return fmt::format("[cell {}: reached its deadline {}{}]\n", cell, after, ended);
  if (status == "interrupted") return fmt::format("[cell {}: interrupted {}{}]\n", cell, after, ended);
  if (status == "lost") {
    auto const* death = object_in(result, "death");
    auto const* what = text(result, "fallback").empty() ? "kernel" : "its interpreter";
    return fmt::format("[cell {}: lost, effects unknown: {} {}; it is not run again]\n", cell, what,
                       death ? cause_of_death(*death) : "gone");
  }
  return {};
}

}  // namespace

rendered_result render_result(boost::json::object const& result, std::string_view home_flag) {
  rendered_result shown;
  shown.before = what_was_lost(result);
  if (auto const value = text(result, "value"); !value.empty()) shown.value = std::string(value) + "\n";
  shown.after = displays_of(result, home_flag) + failure_of(result) + end_state(result);
  return shown;
}

std::string come_back_command(std::string_view home_flag, scope const& where, std::string_view cell) {
  return cell_command(home_flag, "wait", where, cell);
}

bool cell_view::output(std::string_view stream, std::string_view piece) {
  if (mode_ == mode::json || piece.empty()) return true;
  at_line_begin_ = piece.ends_with('\n');
  if (stream == "stderr") {
    write_err(piece);
    return true;
  }
  out_line_begin_ = at_line_begin_;
  return write_out(piece);
}

void cell_view::left_out(std::uint64_t bytes) {
  if (mode_ == mode::json) return;
  begin_line();
  write_err(fmt::format("[... {} bytes left out ...]\n", bytes));
}

void cell_view::result(boost::json::object const& result) {
  if (mode_ == mode::json) {
    write_out(boost::json::serialize(result) + "\n");
    return;
  }
  if (mode_ == mode::output_only) return;
  auto const shown = render_result(result, home_flag_);
  if (!shown.before.empty()) begin_line();
  write_err(shown.before);
  if (!shown.value.empty()) {
    if (!out_line_begin_) write_out("\n");
    at_line_begin_ = true;
    write_out(shown.value);
  }
  if (!shown.after.empty()) begin_line();
  write_err(shown.after);
}

void cell_view::begin_line() {
  if (!at_line_begin_) write_err("\n");
  at_line_begin_ = true;
}

}  // namespace holdfast::cli
