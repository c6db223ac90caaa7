#include "actors/core/text_facts.hpp"

#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "actors/core/display_store.hpp"
#include "actors/core/own_json.hpp"

namespace holdfast::core {

namespace {

namespace json = boost::json;

/// Deeper than what a frame may nest, as results embed it.
constexpr std::size_t max_depth = 80;

std::uint64_t number(json::object const& object, std::string_view key) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, optional_integer(object, key).value_or(0)));
}

json::object const* object_in(json::object const& object, std::string_view key) {
  auto const* value = object.if_contains(key);
  return value == nullptr ? nullptr : value->if_object();
}

/// Calls `visit(object)` for each object of the list.
template <class Visit>
void for_each_in(json::object const& object, std::string_view key, Visit visit) {
  auto const* value = object.if_contains(key);
  if (value == nullptr || !value->is_array()) return;
  for (auto const& each : value->get_array())
    if (auto const* item = each.if_object()) visit(*item);
}

storage::cell_status status_of(std::string_view word) {
  for (auto status = 0; status <= static_cast<int>(storage::cell_status::lost); ++status)
    if (word == storage::to_string(static_cast<storage::cell_status>(status))) return static_cast<storage::cell_status>(status);
  return storage::cell_status::queued;
}

/// A picture before a table in HTML and the like, and that before plain text.
enum class richness { none, plain, rich, picture };

richness richness_of(std::string_view mime) {
  if (mime.empty()) return richness::none;
  if (mime == "text/plain") return richness::plain;
  return mime.substr(0, 6) == "image/" ? richness::picture : richness::rich;
}

/// Named by its richest form, of those that are attached if one of them is more than plain text.
display_facts display_of(json::object const& object) {
  display_facts display;
  display.index = number(object, "index");
  auto const take = [&](std::string mime, std::uint64_t bytes, bool attached, bool is_kept) {
    auto const present = richness_of(display.mime);
    if (richness_of(mime) <= present || (!attached && present > richness::plain)) return;
    display.mime = std::move(mime);
    display.bytes = bytes;
    display.attached = attached;
    display.is_kept = is_kept;
  };
  if (auto const* data = object_in(object, "data"))
    for (auto const& each : *data) take(std::string(each.key()), payload_bytes(each.key(), text(*data, each.key())), true, true);
  for_each_in(object, "omitted",
              [&](json::object const& each) { take(text(each, "mime"), number(each, "bytes"), false, flag(each, "kept")); });
  auto const is_shown_by_value = flag(object, "main") && display.mime != "text/plain";
  if (auto const* data = object_in(object, "data"); data && !is_shown_by_value && richness_of(display.mime) < richness::picture)
    display.text = text(*data, "text/plain");
  return display;
}

}  // namespace

recorded_facts read_text_facts(std::string_view result_json) {
  json::parse_options options;
  options.max_depth = max_depth;
  json::error_code code;
  auto const parsed = json::parse({result_json.data(), result_json.size()}, code, {}, options);
  recorded_facts read;
  if (code || !parsed.is_object()) return read;
  auto const& object = parsed.get_object();
  auto& facts = read.facts;
  facts.cell = text(object, "cell");
  facts.status = status_of(text(object, "status"));
  facts.duration_ms = optional_integer(object, "duration_ms");
  facts.value = optional_text(object, "value");
  if (auto const* error = object_in(object, "error"))
    facts.error = link::cell_error{text(*error, "name"), text(*error, "message"), text(*error, "traceback")};
  facts.exit_code = optional_integer(object, "exit_code");
  facts.is_per_call = text(object, "fallback") == "per_call";
  if (auto const* death = object_in(object, "death"))
    facts.death = death_facts{text(*death, "cause"), optional_text(*death, "signal"), optional_integer(*death, "exit_code"),
                              text(*death, "log_tail")};
  if (auto const* kernel = object_in(object, "kernel"))
    facts.kernel = text_facts::kernel_state{text(*kernel, "reason"),       flag(*kernel, "reused"),      flag(*kernel, "restored"),
                                            flag(*kernel, "state_lost"),   flag(*kernel, "state_reset"), flag(*kernel, "ended"),
                                            optional_text(*kernel, "note")};
  for_each_in(object, "notices", [&](json::object const& each) {
    facts.notices.push_back({text(each, "kind"), text(each, "text")});
  });
  for_each_in(object, "displays", [&](json::object const& each) { facts.displays.push_back(display_of(each)); });
  read.out = {text(object, "stdout"), number(object, "stdout_bytes")};
  read.err = {text(object, "stderr"), number(object, "stderr_bytes")};
  return read;
}

}  // namespace holdfast::core
