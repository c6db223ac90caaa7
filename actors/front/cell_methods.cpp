// run and cell.*: what becomes of one piece of code.
#include "actors/base/defaults.hpp"
#include "actors/front/method_groups.hpp"
#include "actors/front/objects.hpp"

namespace holdfast::front {
namespace {

param cell_param() { return {.name = "cell", .type = param_type::id, .required = true, .sentence = "the id of the cell"}; }

param wait_param(std::string_view sentence) {
  return {.name = "wait_ms", .type = param_type::integer, .least = 0, .most = max_duration_ms, .sentence = sentence};
}

param stream_param(std::string_view sentence) {
  return {.name = "stream", .type = param_type::boolean, .fallback = false, .sentence = sentence};
}

param offset_param(std::string_view sentence) {
  return {.name = "offset", .type = param_type::integer, .fallback = 0, .least = 0, .most = max_offset, .sentence = sentence};
}

/// Answers are made with it when a model reads them.
param text_limit_param() {
  return {.name = "text_limit",
          .type = param_type::integer,
          .fallback = 0,
          .least = static_cast<std::int64_t>(defaults::text_limit_least),
          .most = static_cast<std::int64_t>(defaults::text_limit_most),
          .or_zero = true,
          .sentence = "answer with `text` as well, of at most that many bytes; 0: without"};
}

std::size_t text_limit_of(arguments const& given) { return static_cast<std::size_t>(given.integer("text_limit")); }

std::vector<param> run_params() {
  return with_session({
      {.name = "code",
       .type = param_type::code,
       .required = true,
       .most = max_code_bytes,
       .beyond = error_code::too_large,
       .sentence = "Python source; it is not looked at before it runs"},
      {.name = "cell",
       .type = param_type::id,
       .sentence = "an id that never runs twice in this session; null: a new one, c- and a ULID"},
      {.name = "environment",
       .type = param_type::id,
       .sentence =
           "where the kernel lives: `local`, or one that the process of the gateway has registered; null: as last time, at first "
           "local"},
      {.name = "python",
       .type = param_type::text,
       .least = 1,
       .most = 4096,
       .sentence =
           "the interpreter, a path or a name on PATH; another one is another kernel of the session, with a namespace of its own; "
           "null: as last time, at first the configured one"},
      {.name = "tools",
       .type = param_type::names,
       .most = defaults::tools_most,
       .sentence =
           "the tools that the kernel can import; another set is another kernel of the session, with a namespace of its own; "
           "null: as last time, at first none"},
      {.name = "cwd",
       .type = param_type::path,
       .least = 1,
       .most = 4096,
       .sentence = "working directory of a fresh kernel; null: the home directory"},
      {.name = "env",
       .type = param_type::variables,
       .most = max_variables_bytes,
       .beyond = error_code::too_large,
       .sentence = "environment variables that a fresh kernel gets besides the usual ones"},
      {.name = "timeout_ms",
       .type = param_type::integer,
       .fallback = 300'000,
       .least = 0,
       .most = max_duration_ms,
       .sentence = "deadline from the cell's start, not from the queue; 0: none; the default is the setting cell_timeout_seconds"},
      wait_param("how long this call blocks; then it answers with the cell still queued or running, and the cell goes on; "
                 "null: until it is final"),
      {.name = "background_after_ms",
       .type = param_type::integer,
       .fallback = 60'000,
       .least = 0,
       .most = max_duration_ms,
       .sentence = "from the cell's start: from then on later cells may run while it awaits; 0: never; the default is the setting "
                   "background_after_seconds"},
      {.name = "reset",
       .type = param_type::boolean,
       .fallback = false,
       .sentence = "run it in a fresh kernel; ignored when the cell is answered from the record"},
      {.name = "if_kernel", .type = param_type::id, .sentence = "run only if the session still has this kernel"},
      stream_param("notify `cell.accepted` and `cell.stream` on this connection, all before the answer"),
      text_limit_param(),
  });
}

call build_run(arguments const& given) {
  run_cell run;
  run.cell = cell_id(given.text("cell"));
  run.code = given.text("code");
  run.environment = given.optional_text("environment");
  run.python = given.optional_text("python");
  if (given.is_given("tools")) {
    auto names = given.list("tools");
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    run.tools = std::move(names);
  }
  run.cwd = given.optional_text("cwd");
  run.env = given.variables("env");
  run.timeout_ms = given.integer("timeout_ms");
  run.background_after_ms = given.integer("background_after_ms");
  run.wait_ms = given.optional_integer("wait_ms");
  run.reset = given.flag("reset");
  if (auto kernel = given.optional_text("if_kernel")) run.if_kernel = kernel_id(*kernel);
  run.stream = given.flag("stream");
  run.text_limit = text_limit_of(given);
  return to_session(given, std::move(run));
}

method run_method() {
  return {
      .name = "run",
      .sentence =
          "Accepts a cell and runs it in the session's kernel, which is started if there is none. The same id with the same code "
          "is answered from the record: it never runs twice.",
      .params = run_params(),
      .result = {"result", false, "the cell's result, final or as it stands after wait_ms"},
      .errors = {error_code::cell_conflict, error_code::cell_expired, error_code::at_capacity, error_code::queue_full,
                 error_code::start_failed, error_code::unreachable, error_code::too_large, error_code::kernel_changed},
      .examples =
          {{R"({"code": "x = 20\nprint('hello')\nx + 1", "cell": "first", "cwd": "/tmp"})",
            R"({"replayed": false, "cell": "first", "owner": "default", "child": null, "session": "default", "status": "ok", "final": true,
 "stdout": "hello\n", "stderr": "", "stdout_bytes": 6, "stderr_bytes": 0, "stdout_truncated": false, "stderr_truncated": false,
 "value": "21", "displays": [], "error": null, "exit_code": null, "death": null, "queued_at": "2026-01-31T12:00:00.000Z",
 "started_at": "2026-01-31T12:00:00.004Z", "finished_at": "2026-01-31T12:00:00.005Z", "duration_ms": 1,
 "tool_calls": 0, "fallback": null, "notices": [],
 "kernel": {"id": "k-01KGA5DT00000000000000000K", "pid": 4711, "environment": "local", "python": "/usr/bin/python3", "reason": "first",
            "reused": false, "restored": false, "state_lost": false, "state_reset": false, "ended": false, "execution_count": 1,
            "skipped": [], "note": null}})"},
           {R"({"code": "while True: pass", "cell": "endless", "wait_ms": 100})",
            R"({"cell": "endless", "status": "running", "final": false})"}},
      .build = build_run};
}

method get_method() {
  return {
      .name = "cell.get",
      .sentence = "Answers at once with what is known of a cell.",
      .params = with_session({cell_param(), text_limit_param()}),
      .result = {"result", false, "the cell's result as it stands"},
      .errors = {error_code::not_found, error_code::cell_expired},
      .examples = {{R"({"cell": "first"})",
                    R"({"cell": "first", "replayed": true, "status": "ok", "final": true, "stdout": "hello\n", "value": "21"})"}},
      .build = [](arguments const& given) {
        return to_session(given, get_cell{cell_id(given.text("cell")), text_limit_of(given)});
      }};
}

method wait_method() {
  return {.name = "cell.wait",
          .sentence = "Waits for a cell that was accepted before, by whichever connection.",
          .params = with_session({cell_param(), wait_param("how long this call blocks at most; null: until the cell is final"),
                                  stream_param("notify its output from `offset` on before the answer"),
                                  offset_param("the first byte of its combined output that is of interest"), text_limit_param()}),
          .result = {"result", false, "the cell's result, final or as it stands after wait_ms"},
          .errors = {error_code::not_found, error_code::cell_expired},
          .examples = {{R"({"cell": "endless", "wait_ms": 50})", R"({"cell": "endless", "status": "running", "final": false})"}},
          .build = [](arguments const& given) {
            return to_session(given, wait_cell{cell_id(given.text("cell")), given.optional_integer("wait_ms"), given.flag("stream"),
                                               static_cast<std::uint64_t>(given.integer("offset")), text_limit_of(given)});
          }};
}

std::optional<storage::cell_status> read_status(std::optional<std::string> const& word) {
  for (int status = 0; word && status <= static_cast<int>(storage::cell_status::lost); ++status)
    if (*word == storage::to_string(static_cast<storage::cell_status>(status))) return static_cast<storage::cell_status>(status);
  return std::nullopt;
}

method list_method() {
  return {
      .name = "cell.list",
      .sentence = "Lists the session's cells, newest first.",
      .params = with_session(
          {{.name = "status", .type = param_type::word, .words = cell_statuses(), .sentence = "only cells of this status"},
           limit_param(),
           after_param()}),
      .result = {"cell row", true, "the cells"},
      .errors = {error_code::not_found},
      .examples =
          {{R"({"status": "ok"})",
            R"({"items": [{"cell": "first", "status": "ok", "started_at": "2026-01-31T12:00:00.004Z", "duration_ms": 1, "output_bytes": 6,
            "source": "x = 20\nprint('hello')\nx + 1"}], "next": null})"}},
      .build = [](arguments const& given) {
        return to_session(given, list_cells{read_status(given.optional_text("status")),
                                            static_cast<std::size_t>(given.integer("limit")), given.text("after")});
      }};
}

method output_method() {
  return {
      .name = "cell.output",
      .sentence = "Reads a cell's output back in pages, in written order; an offset is a byte of its combined UTF-8 text.",
      .params = with_session({cell_param(),
                              offset_param("where to begin"),
                              {.name = "limit",
                               .type = param_type::integer,
                               .fallback = 65'536,
                               .least = 1,
                               .most = max_output_page,
                               .sentence = "how many bytes of text at most"}}),
      .result = {"output page", false, "the page"},
      .errors = {error_code::not_found, error_code::cell_expired},
      .examples =
          {{R"({"cell": "first"})",
            R"({"chunks": [{"stream": "stdout", "offset": 0, "text": "hello\n"}], "next_offset": 6, "total_bytes": 6, "dropped": [], "final": true})"}},
      .build = [](arguments const& given) {
        return to_session(given, read_output{cell_id(given.text("cell")), static_cast<std::uint64_t>(given.integer("offset")),
                                             static_cast<std::size_t>(given.integer("limit"))});
      }};
}

method display_method() {
  return {.name = "cell.display",
          .sentence = "Reads one display of a cell in one of its types, also when the result left it out for its size.",
          .params = with_session({cell_param(),
                                  {.name = "index",
                                   .type = param_type::integer,
                                   .required = true,
                                   .least = 0,
                                   .most = 1'000'000,
                                   .sentence = "its number in the cell"},
                                  {.name = "mime", .type = param_type::text, .required = true, .sentence = "such as image/png"}}),
          .result = {"display data", false, "the data"},
          .errors = {error_code::not_found, error_code::cell_expired},
          .examples = {{R"({"session": "pictures", "cell": "shown", "index": 0, "mime": "text/html"})",
                        R"({"mime": "text/html", "data": "<b>bold</b>", "bytes": 11})"}},
          .build = [](arguments const& given) {
            return to_session(given, read_display{cell_id(given.text("cell")), static_cast<std::uint64_t>(given.integer("index")),
                                                  given.text("mime")});
          }};
}

method interrupt_method() {
  return {.name = "cell.interrupt",
          .sentence = "Ends a running or queued cell; a queued one never starts.",
          .params = with_session({{.name = "cell", .type = param_type::id, .sentence = "null: the one that runs"}}),
          .result = {"result", false, "the cell's result, once it is final"},
          .errors = {error_code::not_found, error_code::cell_expired},
          .examples = {{R"({"cell": "endless"})", R"({"cell": "endless", "status": "interrupted", "final": true})"}},
          .build = [](arguments const& given) {
            interrupt_cell interrupt;
            if (auto cell = given.optional_text("cell")) interrupt.cell = cell_id(*cell);
            return to_session(given, std::move(interrupt));
          }};
}

}  // namespace

std::vector<method> cell_methods() {
  return {run_method(), get_method(), wait_method(), list_method(), output_method(), display_method(), interrupt_method()};
}

}  // namespace holdfast::front
