// messages.hpp, value -> text.
#include "actors/link/json_writer.hpp"
#include "actors/link/messages.hpp"
#include "actors/link/messages_words.hpp"

namespace holdfast::link {

namespace {

/// Room for keys, numbers and ids beside the long texts of a message.
constexpr std::size_t usual_bytes = 256;

json_writer& optional_text(json_writer& out, std::string_view key, std::optional<std::string> const& value) {
  return value ? out.text(key, *value) : out.null(key);
}

json_writer& optional_integer(json_writer& out, std::string_view key, std::optional<std::int64_t> value) {
  return value ? out.integer(key, *value) : out.null(key);
}

std::string to_text(captured const& stream) {
  return json_writer{}.text("head", stream.head).text("tail", stream.tail).number("bytes", stream.bytes).take();
}

std::string to_text(std::string const& one) {
  std::string out;
  append_json_string(out, one);
  return out;
}

std::string to_text(std::vector<std::string> const& many) {
  return json_list(many, [](std::string const& each) { return to_text(each); });
}

std::string to_text(std::map<std::string, std::string> const& entries) {
  std::string out = "{";
  for (auto const& [key, value] : entries) {
    if (out.size() > 1) out += ',';
    append_json_string(out, key);
    out += ':';
    append_json_string(out, value);
  }
  return out += '}';
}

}  // namespace

std::string to_json(execute const& message) {
  return json_writer{"execute", usual_bytes + message.code.size() * 5 / 4}
      .text("cell", message.cell.text)
      .number("generation", message.generation)
      .text("code", message.code)
      .number("timeout_ms", message.timeout_ms)
      .number("output_limit", message.output_limit)
      .number("background_after_ms", message.background_after_ms)
      .take();
}

std::string to_json(interrupt const& message) {
  return json_writer{"interrupt"}.text("cell", message.cell.text).text("reason", word_of(reason_words, message.reason)).take();
}

std::string to_json(request const& message) {
  json_writer out{"request", usual_bytes};
  out.text("id", message.id).text("what", message.what);
  for (auto const& [key, value] : message.fields) out.text(key, value);
  for (auto const& [key, value] : message.numbers) out.number(key, value);
  return out.take();
}

std::string to_json(shutdown const& message) { return json_writer{"shutdown"}.text("reason", message.reason).take(); }

std::string to_json(started const& message) {
  return json_writer{"started", usual_bytes}
      .text("cell", message.cell.text)
      .number("generation", message.generation)
      .integer("at", message.at)
      .take();
}

std::string to_json(background const& message) { return json_writer{"background"}.text("cell", message.cell.text).take(); }

std::string to_json(output const& message) {
  return json_writer{"output", usual_bytes + message.text.size() * 5 / 4}
      .text("cell", message.cell.text)
      .text("stream", word_of(stream_words, message.stream))
      .number("offset", message.offset)
      .text("text", message.text)
      .take();
}

std::string to_json(display const& message) {
  std::size_t expected = usual_bytes + message.metadata.size();
  for (auto const& each : message.data) expected += each.mime.size() + each.data.size() * 5 / 4;
  std::string data = "{";
  data.reserve(expected);
  for (auto const& each : message.data) {
    if (data.size() > 1) data += ',';
    append_json_string(data, each.mime);
    data += ':';
    append_json_string(data, each.data);
  }
  data += '}';
  return json_writer{"display", expected}
      .text("cell", message.cell.text)
      .number("index", message.index)
      .flag("main", message.is_main)
      .number("offset", message.offset)
      .json("data", data)
      .json("metadata", message.metadata)
      .json("omitted", json_list(message.omitted,
                                 [](display::left_out const& each) {
                                   return json_writer{}.text("mime", each.mime).number("bytes", each.bytes).take();
                                 }))
      .take();
}

std::string to_json(answered const& message) { return message.body; }

std::string to_json(done const& message) {
  json_writer out{"done", 2 * usual_bytes};
  out.text("cell", message.cell.text).number("generation", message.generation).text("status", word_of(done_words, message.status));
  optional_text(out, "value", message.value);
  if (auto const& error = message.error) {
    out.json("error",
             json_writer{}.text("name", error->name).text("message", error->message).text("traceback", error->traceback).take());
  } else {
    out.null("error");
  }
  optional_integer(out, "exit_code", message.exit_code)
      .integer("started_at", message.started_at)
      .integer("finished_at", message.finished_at)
      .number("duration_ms", message.duration_ms)
      .json("stdout", to_text(message.out))
      .json("stderr", to_text(message.err))
      .number("output_bytes", message.output_bytes);
  if (message.kernel_ended) out.flag("kernel_ended", true);
  return out.take();
}

std::string to_json(job_started const& message) {
  json_writer out{"job_started", usual_bytes + message.command.size() * 5 / 4};
  out.text("job", message.job.text);
  optional_text(out, "cell", message.cell.empty() ? std::nullopt : std::optional(message.cell.text))
      .text("command", message.command)
      .integer("pid", message.pid)
      .number("start_time", message.start_time)
      .integer("group", message.group)
      .flag("keep", message.keep)
      .integer("at", message.at);
  return out.take();
}

std::string to_json(job_finished const& message) {
  json_writer out{"job_finished", usual_bytes};
  out.text("job", message.job.text);
  optional_text(out, "cell", message.cell.empty() ? std::nullopt : std::optional(message.cell.text));
  optional_integer(out, "exit_code", message.exit_code);
  optional_text(out, "signal", message.signal)
      .flag("timed_out", message.timed_out)
      .flag("stopped", message.stopped)
      .number("duration_ms", message.duration_ms)
      .number("output_bytes", message.output_bytes)
      .flag("read", message.read)
      .integer("at", message.at);
  return out.take();
}

std::string to_json(jobs_read const& message) {
  return json_writer{"jobs"}.json("read", json_list(message.jobs, [](job_id const& job) { return to_text(job.text); })).take();
}

std::string to_json(bad_frame const& message) {
  return json_writer{"bad_frame"}.number("seq", message.seq).text("message", message.message).take();
}

std::string to_json(spawn const& message) {
  json_writer out{"spawn"};
  out.text("kernel", message.kernel.text)
      .text("token", message.token)
      .text("home", message.home)
      .text("directory", message.directory)
      .text("cwd", message.cwd)
      .json("env", to_text(message.env))
      .number("grace_ms", message.grace_ms)
      .number("first_grace_ms", message.first_grace_ms)
      .number("interrupt_grace_ms", message.interrupt_grace_ms)
      .text("failpoints", message.failpoints);
  if (!message.state.empty()) out.text("state", message.state);
  if (!message.tools_module.empty()) out.text("tools_module", message.tools_module).json("tools", to_text(message.tools));
  return out.take();
}

std::string to_json(kill const& message) { return json_writer{"kill"}.text("kernel", message.kernel.text).take(); }

std::string to_json(spawned const& message) {
  return json_writer{"spawned"}
      .text("kernel", message.kernel.text)
      .integer("pid", message.pid)
      .number("start_time", message.start_time)
      .take();
}

std::string to_json(spawn_failed const& message) {
  return json_writer{"spawn_failed"}.text("kernel", message.kernel.text).text("message", message.message).take();
}

std::string to_json(exited const& message) {
  json_writer out{"exited"};
  out.text("kernel", message.kernel.text)
      .integer("pid", message.pid)
      .number("start_time", message.start_time)
      .text("cause", message.cause);
  optional_integer(out, "exit_code", message.exit_code);
  optional_text(out, "signal", message.signal)
      .text("log_tail", message.log_tail)
      .json("rest", json_list(message.rest,
                              [](pipe_rest const& rest) {
                                return json_writer{}.text("stream", rest.stream).text("text", rest.text).take();
                              }))
      .json("ended", json_list(message.ended,
                               [](ended_process const& process) {
                                 return json_writer{}.integer("pid", process.pid).text("command", process.command).take();
                               }))
      .integer("at", message.at);
  return out.take();
}

}  // namespace holdfast::link
