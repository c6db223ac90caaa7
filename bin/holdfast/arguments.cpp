#include "bin/holdfast/arguments.hpp"

#include <algorithm>
#include <cmath>

#include <CLI/CLI.hpp>

#include "actors/base/version.hpp"
#include "actors/front/objects.hpp"
#include "actors/link/utf8.hpp"
#include "bin/holdfast/exit_codes.hpp"
#include "bin/holdfast/format.hpp"
#include "bin/holdfast/help.hpp"
#include "bin/holdfast/usage.hpp"

namespace holdfast::cli {

void scope::add_to(boost::json::object& params) const {
  params["session"] = session;
  params["owner"] = owner;
}

namespace {

constexpr std::int64_t longest_timeout_seconds = 365 * 24 * 3600;  // the daemon takes no longer one
constexpr std::int64_t most_rows = 1'000'000'000;
constexpr std::int64_t largest_seq = (std::int64_t{1} << 53) - 1;  // nor a larger number of an event

/// CLI11 writes into fields; each command has its struct here, and the one that was named is taken at the end.
struct parser {
  CLI::App app{std::string(help::summary), "holdfast"};
  invocation result;
  std::string help_about;
  double timeout_seconds = -1;
  std::vector<std::string> variables;
  std::vector<std::string> tools;

  run_arguments run;
  wait_arguments wait;
  logs_arguments logs;
  cells_arguments cells;
  cell_arguments cell;
  interrupt_arguments interrupt;
  sessions_arguments sessions;
  session_arguments session;
  reset_arguments reset;
  close_arguments close;
  std::string whole_owner;
  fork_arguments fork;
  kernels_arguments kernels;
  kernel_arguments kernel;
  display_arguments display;
  variables_arguments variables_of;
  jobs_arguments jobs;
  job_arguments job;
  notices_arguments notices;
  events_arguments events;
  serve_arguments serve;
  status_arguments status;
  stop_arguments stop_daemon;
  std::string environment;

  CLI::App* add(char const* name, std::string_view what, std::string_view examples) {
    auto* command = app.add_subcommand(name, std::string(what));
    command->set_help_flag("-h,--help", "show this help");
    command->footer("Examples:\n" + std::string(examples) + "\n--home DIR and --json, as in holdfast --help, may stand here too.");
    command->group("Commands");
    command->fallthrough();  // --home and --json may stand behind the command too
    return command;
  }
  static void add_scope(CLI::App* command, scope& where) {
    command->add_option("-s,--session", where.session, "the session [\"default\"]")->type_name("SESSION");
    command->add_option("-o,--owner", where.owner, "the owner of the session [\"default\"]")->type_name("OWNER");
  }
  static void add_limit(CLI::App* command, std::int64_t& limit) {
    command->add_option("-n,--limit", limit, "rows at most, 0 for all [100]")->type_name("N")->check(whole_number(0, most_rows));
  }
  static void add_words(CLI::App* command, char const* name, std::optional<std::string>& field, std::string const& type,
                        std::vector<std::string_view> const& words) {
    command->add_option(name, field, "only these, one of: " + joined(words))->type_name(type)->check(one_of(words));
  }
  CLI::App* add_session_command(char const* name, std::string_view what, std::string_view examples, scope& where) {
    auto* command = add(name, what, examples);
    add_scope(command, where);
    command->add_option("SESSION", where.session, "the same as -s SESSION")->type_name("");
    return command;
  }

  parser();
  void add_cell_commands();
  void add_run();
  void add_list_commands();
  void finish_close();
  void add_service_commands();
  command taken();
  std::vector<std::string> named_tools() const;
  void finish_run();
  void check_text() const;
  void check_session() const;
  parse_end help_of(std::string const& about);
};

parser::parser() {
  app.set_version_flag("--version", "holdfast " + std::string(version), "show the version");
  app.set_help_flag("-h,--help", "show this help; after a command: that command's");
  app.add_option("--home", result.home, "the home [HOLDFAST_HOME, else XDG_STATE_HOME/holdfast, else ~/.local/state/holdfast]")
      ->type_name("DIR");
  app.add_flag("--json", result.json, "print one JSON document instead");
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.require_subcommand(1);
  app.footer(std::string(help::exit_codes));
  add_run();
  add_cell_commands();
  add_list_commands();
  add_service_commands();
}

void parser::add_run() {
  auto* c = add("run", "run a cell and show its output; starts a daemon when none answers", help::run_examples);
  add_scope(c, run.where);
  c->add_option("-E,--environment", environment, "where the kernel lives: only local is built")
      ->type_name("ENVIRONMENT")
      ->check(one_of({"local"}));
  c->add_option("-e,--env", variables, "a variable for a fresh kernel (repeatable)")->type_name("K=V")->allow_extra_args(false);
  c->add_option("--python", run.python, "the interpreter [python3 of PATH for a new session, then the session's last]")
      ->type_name("P");
  c->add_option(
       "--tools", tools,
       "the tools that cells can import, a list with commas (repeatable); '' for none; another set is another kernel of the "
       "session, with a namespace of its own [the session's last]")
      ->type_name("NAMES")
      ->allow_extra_args(false);
  c->add_option("--timeout", timeout_seconds,
                "the cell's deadline in seconds from its start, 0 for none [cell_timeout_seconds, 300]")
      ->type_name("S")
      ->check(seconds_up_to(longest_timeout_seconds));
  c->add_flag("--reset", run.reset, "end the session's kernel first: start with an empty namespace");
  c->add_option("--cell", run.cell, "the cell's id; one that has run is answered from its record [a new one]")->type_name("ID");
  c->add_flag("--detach", run.detach, "print the cell's id once it is accepted, and end");
  c->add_option("-f,--file", run.file, "read the code from this file")->type_name("FILE");
  c->add_option("CODE", run.code, "the code; - reads standard input")->type_name("");
}

void parser::add_cell_commands() {
  auto* c = add("wait", "wait for a cell: show its output from the start, and end as run does", help::wait_examples);
  add_scope(c, wait.where);
  c->add_option("CELL", wait.cell, "the cell's id")->type_name("")->required();

  c = add("logs", "show a cell's or a job's output", help::logs_examples);
  add_scope(c, logs.where);
  c->add_option("CELL", logs.cell, "the id of a cell of the session, or of a job")->type_name("")->required();
  c->add_flag("-f,--follow", logs.follow, "go on until it has ended");

  c = add("cells", "list the cells of a session, newest first", help::cells_examples);
  add_scope(c, cells.where);
  add_words(c, "--status", cells.status, "STATUS", front::cell_statuses());
  add_limit(c, cells.limit);

  c = add("cell", "show a cell: its status, output and result as they are now", help::cell_examples);
  add_scope(c, cell.where);
  c->add_option("CELL", cell.cell, "the cell's id")->type_name("")->required();

  c = add("display", "write what a cell has shown, in one of its types, to standard output", help::display_examples);
  add_scope(c, display.where);
  c->add_option("CELL", display.cell, "the cell's id")->type_name("")->required();
  c->add_option("N", display.index, "its number in the cell, from 0 [0]")->type_name("")->check(whole_number(0, 1'000'000));
  c->add_option("--mime", display.mime, "the type; holdfast cell CELL names those that there are [text/plain]")->type_name("MIME");

  c = add("interrupt", "end the running cell of a session; a queued one, named, never starts", help::interrupt_examples);
  add_scope(c, interrupt.where);
  c->add_option("CELL", interrupt.cell, "the cell's id [the running one]")->type_name("");
}

void parser::add_list_commands() {
  auto* c = add("sessions", "list sessions, newest first", help::sessions_examples);
  c->add_option("-o,--owner", sessions.owner, "only this owner's [all]")->type_name("OWNER");
  add_words(c, "--state", sessions.state, "STATE", front::session_states());
  add_limit(c, sessions.limit);
  add_session_command("session", "show a session", help::session_examples, session.where);
  c = add_session_command("variables", "list the variables of a session's kernel", help::variables_examples, variables_of.where);
  add_limit(c, variables_of.limit);
  add_session_command("reset", "end a session's kernel; its next cell starts with an empty namespace", help::reset_examples,
                      reset.where);
  c = add("close", "end a session's kernel and remove the session with its records", help::close_examples);
  c->add_option("-s,--session", close.where.session, "the session [\"default\"]")->type_name("SESSION");
  c->add_option("SESSION", close.where.session, "the same as -s SESSION")->type_name("");
  c->add_option("-o", close.where.owner, "the owner of the session [\"default\"]")->type_name("OWNER");
  c->add_option("--owner", whole_owner, "close all sessions of this owner and of its children instead [that of -o]")
      ->type_name("OWNER")
      ->expected(0, 1);

  c = add("fork", "make another session with a copy of a session's variables", help::fork_examples);
  c->add_option("-o,--owner", fork.where.owner, "the owner of both sessions [\"default\"]")->type_name("OWNER");
  c->add_option("SESSION", fork.where.session, "the session to copy")->type_name("")->required();
  c->add_option("INTO", fork.into, "the name of the new session")->type_name("")->required();

  c = add("kernels", "list kernels", help::kernels_examples);
  c->alias("ps");
  c->add_option("-o,--owner", kernels.owner, "only this owner's [all]")->type_name("OWNER");
  c->add_option("-s,--session", kernels.session, "only this session's [all]")->type_name("SESSION");
  add_words(c, "--state", kernels.state, "STATE", front::kernel_states());
  add_limit(c, kernels.limit);
  c = add("kernel", "show a kernel, or end it", help::kernel_examples);
  c->add_option("KERNEL", kernel.kernel, "the kernel's id")->type_name("")->required();
  auto* stop = c->add_flag("--stop", kernel.stop, "save its namespace and end it; refused while it is busy or has jobs");
  c->add_flag("--no-save", kernel.no_save, "end it without")->needs(stop);
  c = add("jobs", "list jobs, newest first", help::jobs_examples);
  c->add_option("-o,--owner", jobs.owner, "only this owner's [all]")->type_name("OWNER");
  c->add_option("-s,--session", jobs.session, "only this session's [all]")->type_name("SESSION");
  add_words(c, "--state", jobs.state, "STATE", front::job_states());
  add_limit(c, jobs.limit);
  c = add("job", "show a job, or end it", help::job_examples);
  c->add_option("JOB", job.job, "the job's id")->type_name("")->required();
  c->add_flag("--stop", job.stop, "end it with all its processes");

  c = add("notices", "list what sessions have not been told yet, oldest first", help::notices_examples);
  c->add_option("-o,--owner", notices.owner, "the owner [\"default\"]")->type_name("OWNER");
  c->add_option("-s,--session", notices.session, "only this session's [all]")->type_name("SESSION");
  c->add_flag("--ack", notices.ack, "these are known now: do not tell them again");
  add_limit(c, notices.limit);
  c = add("events", "show what has happened in the daemon since it started, oldest first",
          std::string(help::events_examples) + "\nKinds:" + lines_of(front::event_kinds()));
  c->add_option("-o,--owner", events.owner, "only this owner's [all]")->type_name("OWNER");
  c->add_option("-t,--type", events.types, "only this kind (repeatable); they are named below")
      ->type_name("KIND")
      ->allow_extra_args(false)
      ->check(one_of(front::event_kinds()));
  c->add_option("--since", events.since, "only those after this number")->type_name("SEQ")->check(whole_number(0, largest_seq));
  c->add_flag("-f,--follow", events.follow,
              "show what happens from now on, with --since from there on; with --json one document a line");
}

void parser::add_service_commands() {
  auto* c = add("serve", "be the daemon of a home, in the foreground", help::serve_examples);
  c->add_option("--ready-fd", serve.ready_fd, "write one line to this descriptor when ready, or why not")
      ->type_name("N")
      ->check(whole_number(3, 1'000'000));
  c = add("status", "show the daemon", help::status_examples);
  c->add_flag("--pid", status.only_pid, "print its process id only");
  add("metrics", "show counters and latencies as Prometheus reads them", help::metrics_examples);
  add("doctor", "look at python, home, limits and leftovers, and say what to do", help::doctor_examples);
  c = add("stop", "stop the daemon; kernels and their running cells go on", help::stop_examples);
  c->add_flag("--kernels", stop_daemon.kernels,
              "end all kernels too: cells are interrupted, namespaces saved for their next cells, jobs ended");
  c = add("help", "show this help, or a command's", "  holdfast help run\n");
  c->add_option("COMMAND", help_about, "the command")->type_name("");
}

void parser::finish_close() {
  auto const* command = app.get_subcommand("close");
  close.is_whole_owner = command->count("--owner") > 0;
  if (!close.is_whole_owner) return;
  if (command->count("--session") > 0 || command->count("SESSION") > 0)
    throw CLI::ValidationError("close --owner",
                               "takes no session; one session of an owner is closed by: holdfast close -o OWNER SESSION");
  if (whole_owner.empty()) return;
  if (command->count("-o") > 0) throw CLI::ValidationError("close --owner", "takes OWNER here or by -o, not both");
  close.where.owner = whole_owner;
}

/// Of all --tools together; a name that is not there is that of no tool.
std::vector<std::string> parser::named_tools() const {
  std::vector<std::string> names;
  for (auto rest : tools)
    while (!rest.empty()) {
      auto const comma = std::min(rest.find(','), rest.size());
      if (comma == 0) throw CLI::ValidationError("--tools", "wanted names between the commas");
      names.push_back(rest.substr(0, comma));
      if (comma + 1 == rest.size()) throw CLI::ValidationError("--tools", "wanted names between the commas");
      rest.erase(0, comma + 1);
    }
  return names;
}

void parser::finish_run() {
  if (!run.file && !run.code) throw CLI::ValidationError("run", "needs CODE, -f FILE, or - for standard input");
  if (run.file && run.code) throw CLI::ValidationError("run", "takes CODE or -f FILE, not both");
  if (timeout_seconds >= 0) run.timeout = std::chrono::milliseconds(std::llround(timeout_seconds * 1000));
  if (app.get_subcommand("run")->count("--tools") > 0) run.tools = named_tools();
  for (auto const& variable : variables) {
    auto const equals = variable.find('=');
    if (equals == std::string::npos || equals == 0) throw CLI::ValidationError("-e " + variable, "wanted K=V");
    run.env[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
}

/// What goes to the daemon goes as JSON. File names may be anything; the code has words of its own for this.
void parser::check_text() const {
  for (auto const* option : app.get_subcommands().front()->get_options()) {
    auto const name = option->get_name();
    if (name == "--file" || name == "CODE") continue;
    for (auto const& value : option->results())
      if (!link::is_utf8(value)) throw CLI::ValidationError(name, "found '" + escaped(value) + "', wanted UTF-8");
  }
}

/// Both are written into one field: with two names, one of them would be left out unseen.
void parser::check_session() const {
  auto const* command = app.get_subcommands().front();
  auto const* by_place = command->get_option_no_throw("SESSION");
  auto const* by_name = command->get_option_no_throw("--session");
  if (by_place == nullptr || by_name == nullptr || by_place->count() == 0 || by_name->count() == 0) return;
  throw CLI::ValidationError(command->get_name(), "takes SESSION or -s SESSION, not both");
}

command parser::taken() {
  auto const name = app.get_subcommands().front()->get_name();
  if (name == "run") {
    finish_run();
    return run;
  }
  if (name == "wait") return wait;
  if (name == "logs") {
    if (logs.follow && result.json)
      throw CLI::ValidationError("logs -f", "has no --json; wait for the cell first: holdfast wait CELL");
    return logs;
  }
  if (name == "cells") return cells;
  if (name == "cell") return cell;
  if (name == "interrupt") return interrupt;
  if (name == "sessions") return sessions;
  if (name == "session") return session;
  if (name == "reset") return reset;
  if (name == "close") {
    finish_close();
    return close;
  }
  if (name == "fork") return fork;
  if (name == "kernels") return kernels;
  if (name == "kernel") return kernel;
  if (name == "display") return display;
  if (name == "variables") return variables_of;
  if (name == "jobs") return jobs;
  if (name == "job") return job;
  if (name == "notices") return notices;
  if (name == "events") return events;
  if (name == "serve") return serve;
  if (name == "status") return status;
  if (name == "metrics") return metrics_arguments{};
  if (name == "doctor") return doctor_arguments{};
  return stop_daemon;
}

/// CLI11 shows the help of a command that was named on the line instead of the one that is asked for: asked anew, none was.
parse_end parser::help_of(std::string const& about) {
  app.clear();
  if (about.empty() || about == "help") return {app.help(), exit_ok};
  try {
    return {app.get_subcommand(about)->help("holdfast"), exit_ok};
  } catch (CLI::OptionNotFound const&) {
    return {"holdfast: there is no command " + about + "; holdfast help lists them\n", exit_usage};
  }
}

}  // namespace

std::variant<invocation, parse_end> parse(int argc, char const* const* argv) {
  parser line;
  try {
    line.app.parse(argc, argv);
    if (line.app.got_subcommand("help")) return line.help_of(line.help_about);
    line.check_text();
    line.check_session();
    line.result.what = line.taken();
    return std::move(line.result);
  } catch (CLI::CallForHelp const&) {
    auto const named = line.app.get_subcommands();
    if (!named.empty()) return line.help_of(named.front()->get_name());
    auto const others = line.app.remaining();  // not a command: said to be none
    return line.help_of(others.empty() || others.front().starts_with('-') ? std::string() : others.front());
  } catch (CLI::CallForVersion const&) {
    return parse_end{"holdfast " + std::string(version) + "\n", exit_ok};
  } catch (CLI::ParseError const& problem) {
    auto const named = line.app.get_subcommands();
    auto const about = named.empty() ? std::string() : named.front()->get_name() + " ";
    return parse_end{"holdfast: " + in_words(line.app, problem) + "\nsee: holdfast " + about + "--help\n", exit_usage};
  }
}

}  // namespace holdfast::cli
