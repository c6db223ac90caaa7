#include "actors/front/result_reader.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "actors/core/own_json.hpp"

namespace holdfast::front {
namespace {

namespace json = boost::json;
using core::flag;
using core::optional_integer;
using core::optional_text;
using core::text;

json::object parse_object(std::string_view text) {
  json::parse_options options;
  options.max_depth = 80;
  json::error_code code;
  auto value = json::parse({text.data(), text.size()}, code, {}, options);
  return !code && value.is_object() ? std::move(value.get_object()) : json::object();
}

json::object const* object_in(json::object const& object, std::string_view key) {
  auto const* value = object.if_contains(key);
  return value == nullptr ? nullptr : value->if_object();
}

}  // namespace

cell_result read_result(std::string json_text) {
  auto const object = parse_object(json_text);
  cell_result read;
  read.cell = text(object, "cell");
  read.status = text(object, "status");
  read.is_final = flag(object, "final");
  read.is_replayed = flag(object, "replayed");
  read.stdout_text = text(object, "stdout");
  read.stderr_text = text(object, "stderr");
  read.value = optional_text(object, "value");
  if (auto const* error = object_in(object, "error"))
    read.error = cell_error{text(*error, "name"), text(*error, "message"), text(*error, "traceback")};
  if (auto code = optional_integer(object, "exit_code")) read.exit_code = static_cast<int>(*code);
  if (auto const* notices = object.if_contains("notices"); notices != nullptr && notices->is_array())
    for (auto const& each : notices->get_array())
      if (auto const* told = each.if_object()) read.notices.push_back(text(*told, "text"));
  read.duration = std::chrono::milliseconds(optional_integer(object, "duration_ms").value_or(0));
  if (auto const* kernel = object_in(object, "kernel")) read.kernel = text(*kernel, "id");
  read.text = text(object, "text");
  read.json = std::move(json_text);
  return read;
}

event read_event(std::string json_text) {
  auto const object = parse_object(json_text);
  event read;
  read.seq = static_cast<std::uint64_t>(optional_integer(object, "seq").value_or(0));
  read.kind = text(object, "kind");
  read.json = std::move(json_text);
  return read;
}

notice read_notice(std::string_view event_json) {
  auto const object = parse_object(event_json);
  notice read;
  read.owner = text(object, "owner");
  read.child = text(object, "child");
  read.session = text(object, "session");
  auto const* details = object_in(object, "details");
  if (details == nullptr) return read;
  read.id = text(*details, "id");
  read.kind = text(*details, "kind");
  read.text = text(*details, "text");
  return read;
}

output_piece read_output_piece(std::string_view json_text) {
  auto const object = parse_object(json_text);
  return {text(object, "stream"), text(object, "text"), static_cast<std::uint64_t>(optional_integer(object, "offset").value_or(0))};
}

}  // namespace holdfast::front
