#include "actors/front/params.hpp"

#include <algorithm>
#include <cassert>

#include <boost/json/array.hpp>

namespace holdfast::front {
namespace {

namespace json = boost::json;

constexpr std::size_t max_id_bytes = 128;
constexpr std::size_t max_shown_bytes = 80;  // of a refused value, in an error's text

std::string join(std::vector<std::string_view> const& words) {
  std::string text;
  for (auto word : words) text += (text.empty() ? "" : " ") + std::string(word);
  return text;
}

tl::unexpected<error> refuse(std::string_view method, param const& described, std::string const& found, std::string const& wanted,
                             error_code code = error_code::invalid_params) {
  auto const name = std::string(described.name);
  return fail(code, "cannot accept " + std::string(method) + ": " + name + " is " + found + ", wanted " + wanted,
              json::object{{"param", name}});
}

std::string shown(std::string_view text) {
  if (text.size() <= max_shown_bytes) return "'" + std::string(text) + "'";
  return "a string of " + std::to_string(text.size()) + " bytes";
}

std::string shown(json::value const& value) {
  switch (value.kind()) {
    case json::kind::null: return "null";
    case json::kind::bool_: return "a boolean";
    case json::kind::int64: return std::to_string(value.get_int64());
    case json::kind::uint64: return std::to_string(value.get_uint64());
    case json::kind::double_: return "a number with a fraction or beyond 64 bits";
    case json::kind::string: return "a string";
    case json::kind::array: return "a list";
    case json::kind::object: return "an object";
  }
  return "unknown";
}

/// The size and the absence of NUL: a path, a program or a variable cannot hold one.
result<void> check_text(std::string_view method, param const& described, std::string_view text) {
  auto const least = static_cast<std::size_t>(described.least), most = static_cast<std::size_t>(described.most);
  if (text.size() > most)
    return refuse(method, described, std::to_string(text.size()) + " bytes", "at most " + std::to_string(most) + " bytes",
                  described.beyond);
  if (text.size() < least) return refuse(method, described, "empty", "at least " + std::to_string(least) + " bytes");
  if (described.type != param_type::code && text.find('\0') != text.npos)
    return refuse(method, described, "a string with a NUL", "one without");
  if (described.type == param_type::path && text.front() != '/') return refuse(method, described, shown(text), "an absolute path");
  return {};
}

result<void> check_word(std::string_view method, param const& described, std::string_view word) {
  auto const& words = described.words;
  if (std::find(words.begin(), words.end(), word) != words.end()) return {};
  auto refused = refuse(method, described, shown(word), words.size() == 1 ? std::string(words.front()) : "one of: " + join(words));
  json::array known;
  for (auto allowed : words) known.emplace_back(allowed);
  refused.value().data["known"] = std::move(known);
  return refused;
}

result<void> check_id(std::string_view method, param const& described, std::string_view text) {
  if (is_client_id(text)) return {};
  return refuse(method, described, shown(text), "1 to 128 characters of A-Z a-z 0-9 . _ : -");
}

bool is_variable_name(std::string_view name) {
  auto const fits = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && name.size() <= 256 && !(name.front() >= '0' && name.front() <= '9') &&
         std::all_of(name.begin(), name.end(), fits);
}

result<void> check_variables(std::string_view method, param const& described, json::object const& variables) {
  std::size_t bytes = 0;
  for (auto const& member : variables) {
    auto const name = std::string_view(member.key());
    if (!is_variable_name(name))
      return refuse(method, described, "an object with the name " + shown(name),
                    "names of 1 to 256 letters, digits and _ that do not begin with a digit");
    if (!member.value().is_string())
      return refuse(method, described, "an object with " + std::string(name) + " as " + shown(member.value()), "strings only");
    auto const& text = member.value().get_string();
    if (text.find('\0') != text.npos)
      return refuse(method, described, "an object with a NUL in " + std::string(name), "strings without");
    bytes += name.size() + text.size() + 2;
  }
  if (bytes > static_cast<std::size_t>(described.most))
    return refuse(method, described, std::to_string(bytes) + " bytes",
                  "at most " + std::to_string(described.most) + " bytes in all", described.beyond);
  return {};
}

result<void> check_list(std::string_view method, param const& described, json::array const& list) {
  if (list.size() > static_cast<std::size_t>(described.most))
    return refuse(method, described, "a list of " + std::to_string(list.size()), "at most " + std::to_string(described.most),
                  described.beyond);
  for (auto const& item : list) {
    if (!item.is_string()) return refuse(method, described, "a list with " + shown(item), "strings only");
    auto const text = std::string_view(item.get_string());
    auto checked = described.type == param_type::ids ? check_id(method, described, text) : check_word(method, described, text);
    if (!checked) return checked;
  }
  return {};
}

result<void> check_integer(std::string_view method, param const& described, json::value const& given) {
  auto const wanted = "an integer from " + std::to_string(described.least) + " to " + std::to_string(described.most);
  if (!given.is_int64()) return refuse(method, described, shown(given), wanted);
  auto const number = given.get_int64();
  if (number < described.least || number > described.most) return refuse(method, described, std::to_string(number), wanted);
  return {};
}

}  // namespace

std::string_view json_type(param_type type) {
  switch (type) {
    case param_type::integer: return "integer";
    case param_type::boolean: return "boolean";
    case param_type::variables: return "object";
    case param_type::ids:
    case param_type::word_list: return "array";
    default: return "string";
  }
}

std::string limits_of(param const& described) {
  auto const least = std::to_string(described.least), most = std::to_string(described.most);
  switch (described.type) {
    case param_type::integer: return least + " to " + most;
    case param_type::text:
      return described.least > 0 ? least + " to " + most + " bytes, no NUL" : "at most " + most + " bytes, no NUL";
    case param_type::code: return "at most " + most + " bytes";
    case param_type::path: return "absolute, at most " + most + " bytes";
    case param_type::id: return "an id";
    case param_type::word: return "one of: " + join(described.words);
    case param_type::word_list: return "of: " + join(described.words);
    case param_type::ids: return "at most " + most + " ids";
    case param_type::variables: return "names and strings, at most " + most + " bytes in all";
    case param_type::boolean: return "";
  }
  return "";
}

result<void> check_param(std::string_view method, param const& described, json::value const& given) {
  if (given.is_null() && !described.required && described.fallback.is_null()) return {};
  auto const is = [&](std::string_view type) {
    switch (given.kind()) {
      case json::kind::string: return type == "string";
      case json::kind::bool_: return type == "boolean";
      case json::kind::array: return type == "array";
      case json::kind::object: return type == "object";
      default: return false;
    }
  };
  if (described.type == param_type::integer) return check_integer(method, described, given);
  auto const type = json_type(described.type);
  if (!is(type)) {
    auto const article = type.front() == 'a' || type.front() == 'o' ? "an " : "a ";
    return refuse(method, described, shown(given), article + std::string(type));
  }
  switch (described.type) {
    case param_type::id: return check_id(method, described, given.get_string());
    case param_type::word: return check_word(method, described, given.get_string());
    case param_type::variables: return check_variables(method, described, given.get_object());
    case param_type::ids:
    case param_type::word_list: return check_list(method, described, given.get_array());
    case param_type::boolean: return {};
    default: return check_text(method, described, given.get_string());
  }
}

bool is_client_id(std::string_view text) {
  auto const fits = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == ':' ||
           c == '-';
  };
  return !text.empty() && text.size() <= max_id_bytes && std::all_of(text.begin(), text.end(), fits);
}

json::value const& arguments::value(std::string_view name) const {
  auto const* given = given_.if_contains(name);
  if (given != nullptr && !given->is_null()) return *given;
  auto const described = std::find_if(described_.begin(), described_.end(), [&](param const& each) { return each.name == name; });
  assert(described != described_.end());
  return described->fallback;
}

std::string arguments::text(std::string_view name) const { return optional_text(name).value_or(""); }

std::optional<std::string> arguments::optional_text(std::string_view name) const {
  auto const& found = value(name);
  if (found.is_null()) return std::nullopt;
  return std::string(std::string_view(found.get_string()));
}

std::int64_t arguments::integer(std::string_view name) const { return value(name).get_int64(); }

std::optional<std::int64_t> arguments::optional_integer(std::string_view name) const {
  auto const& found = value(name);
  if (found.is_null()) return std::nullopt;
  return found.get_int64();
}

bool arguments::flag(std::string_view name) const { return value(name).get_bool(); }

std::map<std::string, std::string> arguments::variables(std::string_view name) const {
  std::map<std::string, std::string> variables;
  auto const& found = value(name);
  if (found.is_null()) return variables;
  for (auto const& member : found.get_object())
    variables.emplace(std::string_view(member.key()), std::string_view(member.value().get_string()));
  return variables;
}

std::vector<std::string> arguments::list(std::string_view name) const {
  std::vector<std::string> list;
  auto const& found = value(name);
  if (found.is_null()) return list;
  for (auto const& item : found.get_array()) list.emplace_back(std::string_view(item.get_string()));
  return list;
}

}  // namespace holdfast::front
