#include "actors/core/result_json.hpp"

#include "actors/base/clock.hpp"
#include "actors/core/display_store.hpp"
#include "actors/core/key_json.hpp"
#include "actors/link/json_writer.hpp"

namespace holdfast::core {

namespace {

void text_or_null(link::json_writer& out, std::string_view key, std::optional<std::string> const& value) {
  if (value)
    out.text(key, *value);
  else
    out.null(key);
}

void integer_or_null(link::json_writer& out, std::string_view key, std::optional<std::int64_t> const& value) {
  if (value)
    out.integer(key, *value);
  else
    out.null(key);
}

void instant(link::json_writer& out, std::string_view key, storage::unix_ms at) {
  if (at == 0)
    out.null(key);
  else
    out.text(key, rfc3339(at));
}

std::string error_json(link::cell_error const& error) {
  link::json_writer out;
  out.text("name", error.name).text("message", error.message).text("traceback", error.traceback);
  return out.take();
}

std::string death_json(death_facts const& death) {
  link::json_writer out;
  out.text("cause", death.cause);
  text_or_null(out, "signal", death.signal);
  integer_or_null(out, "exit_code", death.exit_code);
  out.text("log_tail", death.log_tail);
  return out.take();
}

std::string kernel_json(kernel_facts const& kernel) {
  link::json_writer out;
  out.text("id", kernel.kernel.text).integer("pid", kernel.pid).text("environment", kernel.environment);
  out.text("python", kernel.python).text("reason", kernel.reason).flag("reused", kernel.reason == "reused");
  out.flag("restored", kernel.restored).flag("state_lost", kernel.state_lost).flag("state_reset", kernel.state_reset);
  out.flag("ended", kernel.ended).number("execution_count", kernel.execution_count).json("skipped", kernel.skipped);
  text_or_null(out, "note", kernel.note);
  return out.take();
}

}  // namespace

std::string joined(link::captured const& stream) {
  if (stream.tail.empty() && stream.head.size() >= stream.bytes) return stream.head;
  auto const shown = stream.head.size() + stream.tail.size();
  auto const left_out = stream.bytes > shown ? stream.bytes - shown : 0;
  return stream.head + "\n[... " + std::to_string(left_out) + " bytes left out ...]\n" + stream.tail;
}

std::string notice_json(storage::notice_record const& notice) {
  link::json_writer out;
  out.text("id", notice.notice.text).text("kind", notice.kind).text("text", notice.text).text("at", rfc3339(notice.at));
  out.json("details", notice.details);
  return out.take();
}

std::string result_json(result_facts const& facts) {
  auto const& row = facts.row;
  link::json_writer out({}, 1024 + facts.out.head.size() + facts.err.head.size());
  write_key(out.text("cell", row.cell.text), facts.key);
  out.text("status", storage::to_string(row.status)).flag("final", storage::is_final(row.status));
  auto const whole = [](link::captured const& stream) { return stream.head.size() + stream.tail.size() >= stream.bytes; };
  out.text("stdout", joined(facts.out)).text("stderr", joined(facts.err));
  out.number("stdout_bytes", facts.out.bytes).number("stderr_bytes", facts.err.bytes);
  out.flag("stdout_truncated", !whole(facts.out)).flag("stderr_truncated", !whole(facts.err));
  text_or_null(out, "value", facts.value);
  out.json("displays", link::json_list(facts.displays, display_json));
  if (facts.error)
    out.json("error", error_json(*facts.error));
  else
    out.null("error");
  integer_or_null(out, "exit_code", facts.exit_code);
  if (facts.death)
    out.json("death", death_json(*facts.death));
  else
    out.null("death");
  instant(out, "queued_at", row.queued_at);
  instant(out, "started_at", row.started_at);
  instant(out, "finished_at", row.finished_at);
  if (row.started_at != 0 && row.finished_at != 0)
    out.integer("duration_ms", row.finished_at - row.started_at);
  else
    out.null("duration_ms");
  out.number("tool_calls", 0);
  text_or_null(out, "fallback", facts.is_per_call ? std::optional<std::string>("per_call") : std::nullopt);
  out.json("notices", link::json_list(facts.notices, notice_json));
  if (facts.kernel)
    out.json("kernel", kernel_json(*facts.kernel));
  else
    out.null("kernel");
  return out.take();
}

std::string with_replayed(std::string_view text, bool replayed) {
  std::string answer = replayed ? "{\"replayed\":true," : "{\"replayed\":false,";
  answer += text.substr(1);
  return answer;
}

std::string with_text(std::string result, std::string_view text) {
  result.pop_back();
  result += ",\"text\":";
  link::append_json_string(result, text);
  return result += '}';
}

}  // namespace holdfast::core
