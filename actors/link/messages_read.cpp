// messages.hpp, text -> value.
#include <limits>

#include <boost/json/serialize.hpp>

#include "actors/link/fields_read.hpp"
#include "actors/link/messages.hpp"
#include "actors/link/messages_words.hpp"

namespace holdfast::link {

namespace {

std::int32_t pid(json_fields& in, std::string_view key = "pid") {
  auto const found = in.number(key);
  if (found > 0 && found <= static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max()))
    return static_cast<std::int32_t>(found);
  in.fail(key, std::to_string(found), "an integer from 1 to 2147483647");
  return 0;
}

captured read_captured(json_fields& in, std::string_view key, std::string& problem) {
  auto const* found = in.object(key);
  if (!found) return {};
  json_fields fields{*found, key, problem};
  captured stream;
  stream.head = fields.text("head");
  stream.tail = fields.text("tail");
  stream.bytes = fields.number("bytes");
  return stream;
}

execute read_execute(json_fields& in, std::string&) {
  execute message;
  message.cell.text = in.text("cell");
  message.generation = in.number("generation");
  message.code = in.text("code");
  message.timeout_ms = in.number("timeout_ms");
  message.output_limit = in.number("output_limit");
  message.background_after_ms = in.number_or("background_after_ms", 0);
  return message;
}

interrupt read_interrupt(json_fields& in, std::string&) {
  interrupt message;
  message.cell.text = in.text("cell");
  message.reason = word(in, "reason", reason_words);
  return message;
}

shutdown read_shutdown(json_fields& in, std::string&) { return {in.optional_text("reason").value_or("")}; }

started read_started(json_fields& in, std::string&) {
  started message;
  message.cell.text = in.text("cell");
  message.generation = in.number("generation");
  message.at = in.integer("at");
  return message;
}

background read_background(json_fields& in, std::string&) { return {cell_id{in.text("cell")}}; }

output read_output(json_fields& in, std::string&) {
  output message;
  message.cell.text = in.text("cell");
  message.stream = word(in, "stream", stream_words);
  message.offset = in.number("offset");
  message.text = in.text("text");
  return message;
}

done read_done(json_fields& in, std::string& problem) {
  done message;
  message.cell.text = in.text("cell");
  message.generation = in.number("generation");
  message.status = word(in, "status", done_words);
  message.value = in.optional_text("value");
  if (auto const* found = in.optional_object("error")) {
    json_fields fields{*found, "error", problem};
    message.error = cell_error{fields.text("name"), fields.text("message"), fields.text("traceback")};
  }
  message.exit_code = in.optional_integer("exit_code");
  message.started_at = in.integer("started_at");
  message.finished_at = in.integer("finished_at");
  message.duration_ms = in.number("duration_ms");
  message.out = read_captured(in, "stdout", problem);
  message.err = read_captured(in, "stderr", problem);
  message.output_bytes = in.number("output_bytes");
  message.kernel_ended = in.flag_or("kernel_ended", false);
  return message;
}

display read_display(json_fields& in, std::string& problem) {
  display message;
  message.cell.text = in.text("cell");
  message.index = in.number("index");
  message.is_main = in.flag("main");
  message.offset = in.number("offset");
  each_text(in, "data", problem, [&](std::string mime, std::string data) {
    message.data.push_back({std::move(mime), std::move(data)});
  });
  if (auto const* metadata = in.object("metadata")) message.metadata = boost::json::serialize(*metadata);
  each_object(in, "omitted", problem, [&](json_fields& item) {
    auto mime = item.text("mime");
    message.omitted.push_back({std::move(mime), item.number("bytes")});
  });
  return message;
}

answered read_answered(json_fields& in, std::string& problem) {
  answered message;
  message.id = in.text("id");
  if (auto const* found = in.optional_object("error")) {
    json_fields fields{*found, "error", problem};
    message.error = answered::refusal{fields.text("kind"), fields.text("message")};
  }
  return message;
}

request read_request(json_fields& in, std::string&) { return {in.text("id"), in.text("what"), {}}; }

/// An id that may be a key of the store.
bool is_job_id(std::string_view text) {
  constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-";
  return !text.empty() && text.size() <= 128 && text.find_first_not_of(allowed) == text.npos;
}

job_id read_job(json_fields& in) {
  job_id job{in.text("job")};
  if (!in.failed() && !is_job_id(job.text)) in.fail("job", "another text", "1 to 128 characters of [A-Za-z0-9._:-]");
  return job;
}

job_started read_job_started(json_fields& in, std::string&) {
  job_started message;
  message.job = read_job(in);
  message.cell.text = in.optional_text("cell").value_or("");
  message.command = in.text("command");
  message.pid = pid(in);
  message.start_time = in.number("start_time");
  message.group = pid(in, "group");
  message.keep = in.flag("keep");
  message.at = in.integer("at");
  return message;
}

job_finished read_job_finished(json_fields& in, std::string&) {
  job_finished message;
  message.job = read_job(in);
  message.cell.text = in.optional_text("cell").value_or("");
  message.exit_code = in.optional_integer("exit_code");
  message.signal = in.optional_text("signal");
  message.timed_out = in.flag("timed_out");
  message.stopped = in.flag("stopped");
  message.duration_ms = in.number("duration_ms");
  message.output_bytes = in.number("output_bytes");
  message.read = in.flag("read");
  message.at = in.integer("at");
  return message;
}

jobs_read read_jobs_read(json_fields& in, std::string&) {
  jobs_read message;
  if (auto const* items = in.list("read"))
    for (auto const& item : *items) {
      auto const* text = item.if_string();
      if (text == nullptr || !is_job_id({text->data(), text->size()})) {
        in.fail("read", "a list of something else", "a list of job ids");
        break;
      }
      message.jobs.emplace_back(std::string(text->data(), text->size()));
    }
  return message;
}

bad_frame read_bad_frame(json_fields& in, std::string&) {
  bad_frame message;
  message.seq = in.number("seq");
  message.message = in.text("message");
  return message;
}

spawn read_spawn(json_fields& in, std::string& problem) {
  spawn message;
  message.kernel.text = in.text("kernel");
  message.token = in.text("token");
  message.home = in.text("home");
  message.directory = in.text("directory");
  message.cwd = in.text("cwd");
  each_text(in, "env", problem,
            [&](std::string name, std::string value) { message.env.emplace(std::move(name), std::move(value)); });
  message.grace_ms = in.number("grace_ms");
  message.first_grace_ms = in.number("first_grace_ms");
  message.interrupt_grace_ms = in.number("interrupt_grace_ms");
  message.failpoints = in.text("failpoints");
  message.state = in.optional_text("state").value_or("");
  message.tools_module = in.optional_text("tools_module").value_or("");
  if (message.tools_module.empty()) return message;
  auto const* names = in.list("tools");
  if (names == nullptr) return message;
  for (auto const& each : *names) {
    if (!each.is_string()) in.fail("tools", "a list with something else", "a list of texts");
    if (in.failed()) break;
    message.tools.emplace_back(each.get_string());
  }
  return message;
}

kill read_kill(json_fields& in, std::string&) { return {kernel_id{in.text("kernel")}}; }

spawned read_spawned(json_fields& in, std::string&) {
  spawned message;
  message.kernel.text = in.text("kernel");
  message.pid = pid(in);
  message.start_time = in.number("start_time");
  return message;
}

spawn_failed read_spawn_failed(json_fields& in, std::string&) {
  spawn_failed message;
  message.kernel.text = in.text("kernel");
  message.message = in.text("message");
  return message;
}

exited read_exited(json_fields& in, std::string& problem) {
  exited message;
  message.kernel.text = in.text("kernel");
  message.pid = pid(in);
  message.start_time = in.number("start_time");
  message.cause = in.text("cause");
  message.exit_code = in.optional_integer("exit_code");
  message.signal = in.optional_text("signal");
  message.log_tail = in.text("log_tail");
  each_object(in, "rest", problem, [&](json_fields& item) { message.rest.push_back({item.text("stream"), item.text("text")}); });
  each_object(in, "ended", problem, [&](json_fields& item) {
    auto const number = pid(item);
    message.ended.push_back({number, item.text("command")});
  });
  message.at = in.integer("at");
  return message;
}

template <class Message>
struct entry {
  std::string_view type;
  Message (*read)(json_fields&, std::string&);
};

/// Reads the one of `entries` whose type the payload names.
template <class Variant, class... Messages>
tl::expected<Variant, std::string> parse(std::string_view payload, entry<Messages>... entries) {
  json_document document{payload};
  if (!document.object()) return tl::unexpected(document.problem());
  std::string problem;
  json_fields outer{*document.object(), "message", problem};
  auto const type = outer.text("type");
  if (outer.failed()) return tl::unexpected(std::move(problem));

  std::optional<Variant> message;
  auto const try_one = [&](auto const& candidate) {
    if (candidate.type != type) return false;
    json_fields fields{*document.object(), candidate.type, problem};
    message.emplace(candidate.read(fields, problem));
    return true;
  };
  if (!(try_one(entries) || ...)) {
    std::string wanted;
    (wanted.append(wanted.empty() ? "" : " or ").append(entries.type), ...);
    return tl::unexpected("cannot read message: field \"type\" is \"" + type.substr(0, 64) + "\", wanted " + wanted);
  }
  if (!problem.empty()) return tl::unexpected(std::move(problem));
  return std::move(*message);
}

}  // namespace

tl::expected<from_kernel, std::string> parse_from_kernel(std::string_view payload) {
  auto message = parse<from_kernel>(payload, entry<output>{"output", read_output}, entry<done>{"done", read_done},
                                    entry<started>{"started", read_started}, entry<background>{"background", read_background},
                                    entry<display>{"display", read_display}, entry<answered>{"answer", read_answered},
                                    entry<job_started>{"job_started", read_job_started},
                                    entry<job_finished>{"job_finished", read_job_finished},
                                    entry<jobs_read>{"jobs", read_jobs_read}, entry<bad_frame>{"bad_frame", read_bad_frame});
  if (message)
    if (auto* found = std::get_if<answered>(&*message)) found->body = payload;
  return message;
}

tl::expected<from_nursery, std::string> parse_from_nursery(std::string_view payload) {
  return parse<from_nursery>(payload, entry<spawned>{"spawned", read_spawned},
                             entry<spawn_failed>{"spawn_failed", read_spawn_failed}, entry<exited>{"exited", read_exited});
}

tl::expected<to_kernel, std::string> parse_to_kernel(std::string_view payload) {
  return parse<to_kernel>(payload, entry<execute>{"execute", read_execute}, entry<interrupt>{"interrupt", read_interrupt},
                          entry<request>{"request", read_request}, entry<shutdown>{"shutdown", read_shutdown});
}

tl::expected<to_nursery, std::string> parse_to_nursery(std::string_view payload) {
  return parse<to_nursery>(payload, entry<spawn>{"spawn", read_spawn}, entry<kill>{"kill", read_kill},
                           entry<shutdown>{"shutdown", read_shutdown});
}

tl::expected<exited, std::string> parse_exit_file(std::string_view text) {
  json_document document{text};
  if (!document.object()) return tl::unexpected(document.problem());
  std::string problem;
  json_fields fields{*document.object(), "exit file", problem};
  auto message = read_exited(fields, problem);
  if (!problem.empty()) return tl::unexpected(std::move(problem));
  return message;
}

std::string_view claimed_type(std::string_view payload) {
  // Writers put the type first, so that it survives whatever is wrong further on.
  constexpr std::size_t near = 256;
  constexpr std::string_view blanks = " \t\r\n";
  auto rest = payload.substr(0, near);
  auto const skip = [&](std::string_view token) {
    auto const at = rest.find_first_not_of(blanks);
    if (at == rest.npos || rest.substr(at, token.size()) != token) return false;
    rest.remove_prefix(at + token.size());
    return true;
  };
  if (!skip("{") || !skip("\"type\"") || !skip(":") || !skip("\"")) return {};
  auto const end = rest.find_first_of("\"\\");
  return end == rest.npos || rest[end] != '"' ? std::string_view{} : rest.substr(0, end);
}

}  // namespace holdfast::link
