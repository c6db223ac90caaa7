#include "actors/front/params.hpp"

#include <algorithm>
#include <cassert>

#include <boost/json/array.hpp>

#include "actors/front/shown.hpp"

namespace holdfast::front {
namespace {

namespace json = boost::json;

constexpr std::size_t max_id_bytes = 128;

std::string join(std::vector<std::string_view> const& words) {
  std::string text;
  for (auto word : words) text += (text.empty() ? "" : " ") + std::string(word);
  return text;
}

json::array as_array(std::vector<std::string_view> const& words) {
  json::array known;
  for (auto word : words) known.emplace_back(word);
  return known;
}

tl::unexpected<error> refuse(std::string_view method, param const& described, std::string const& found, std::string const& wanted,
                             error_code code = error_code::invalid_params) {
  auto const name = std::string(described.name);
  return fail(code, "cannot accept " + std::string(method) + ": " + name + " " + found + ", wanted " + wanted,
              json::object{{"param", name}});
}

/// The size and the absence of NUL: a path, a program or a variable cannot hold one.
result<void> check_text(std::string_view method, param const& described, std::string_view text) {
  auto const least = static_cast<std::size_t>(described.least), most = static_cast<std::size_t>(described.most);
  if (text.size() > most)
    return refuse(method, described, "is " + std::to_string(text.size()) + " bytes", wanted_of(described), described.beyond);
  if (text.size() < least) return refuse(method, described, "is empty", wanted_of(described));
  if (described.type != param_type::code && text.find('\0') != text.npos)
    return refuse(method, described, "has a NUL", wanted_of(described));
  if (described.type == param_type::path && text.front() != '/')
    return refuse(method, described, "is " + shown(text), wanted_of(described));
  return {};
}

/// `holds`: "is" for the param itself, "holds" for an item of it.
result<void> check_word(std::string_view method, param const& described, std::string_view word, std::string const& holds) {
  auto const& words = described.words;
  if (std::find(words.begin(), words.end(), word) != words.end()) return {};
  auto refused = refuse(method, described, holds + " " + shown(word), wanted_of(described));
  refused.value().data["known"] = as_array(words);
  return refused;
}

result<void> check_id(std::string_view method, param const& described, std::string_view text, std::string const& holds) {
  if (is_client_id(text)) return {};
  return refuse(method, described, holds + " " + (text.empty() ? "an empty string" : shown(text)), wanted_of(described));
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
      return refuse(method, described, "has the name " + shown(name),
                    "names of 1 to 256 letters, digits and _ that do not begin with a digit");
    if (!member.value().is_string())
      return refuse(method, described, "has " + std::string(name) + " as " + shown(member.value()), "a string");
    auto const& text = member.value().get_string();
    if (text.find('\0') != text.npos) return refuse(method, described, "has a NUL in " + std::string(name), "a string without");
    bytes += name.size() + text.size() + 2;
  }
  if (bytes > static_cast<std::size_t>(described.most))
    return refuse(method, described, "is " + std::to_string(bytes) + " bytes", wanted_of(described), described.beyond);
  return {};
}

result<void> check_list(std::string_view method, param const& described, json::array const& list) {
  if (list.size() > static_cast<std::size_t>(described.most))
    return refuse(method, described, "holds " + std::to_string(list.size()) + " items",
                  "at most " + std::to_string(described.most) + " in one request", described.beyond);
  for (auto const& item : list) {
    if (!item.is_string()) return refuse(method, described, "holds " + shown(item), wanted_of(described));
    auto const text = std::string_view(item.get_string());
    if (described.type == param_type::names) {
      if (!is_variable_name(text)) return refuse(method, described, "holds " + shown(text), wanted_of(described));
      continue;
    }
    auto checked = described.type == param_type::ids ? check_id(method, described, text, "holds")
                                                     : check_word(method, described, text, "holds");
    if (!checked) return checked;
  }
  return {};
}

result<void> check_integer(std::string_view method, param const& described, json::value const& given) {
  auto const is_in_range = given.is_int64() && given.get_int64() >= described.least && given.get_int64() <= described.most;
  auto const is_none = described.or_zero && given.is_int64() && given.get_int64() == 0;
  if (is_in_range || is_none) return {};
  return refuse(method, described, "is " + shown(given), wanted_of(described));
}

}  // namespace

std::string_view json_type(param_type type) {
  switch (type) {
    case param_type::integer: return "integer";
    case param_type::boolean: return "boolean";
    case param_type::variables: return "object";
    case param_type::ids:
    case param_type::names:
    case param_type::word_list: return "array";
    default: return "string";
  }
}

std::string limits_of(param const& described) {
  auto const least = std::to_string(described.least), most = std::to_string(described.most);
  switch (described.type) {
    case param_type::integer: return (described.or_zero ? "0, or " : "") + least + " to " + most;
    case param_type::text:
      return described.least > 0 ? least + " to " + most + " bytes, no NUL" : "at most " + most + " bytes, no NUL";
    case param_type::code: return "at most " + most + " bytes";
    case param_type::path: return "absolute, at most " + most + " bytes";
    case param_type::id: return "an id";
    case param_type::word: return "one of: " + join(described.words);
    case param_type::word_list: return "of: " + join(described.words);
    case param_type::ids: return "at most " + most + " ids";
    case param_type::names: return "at most " + most + " names";
    case param_type::variables: return "names and strings, at most " + most + " bytes in all";
    case param_type::boolean: return "";
  }
  return "";
}

std::string wanted_of(param const& described) {
  constexpr std::string_view id_text = "1 to 128 characters of A-Z a-z 0-9 . _ : -";
  auto const least = std::to_string(described.least), most = std::to_string(described.most);
  std::string text;
  switch (described.type) {
    case param_type::integer:
      text = (described.or_zero ? "0 or an integer from " : "an integer from ") + least + " to " + most;
      break;
    case param_type::text:
      text = "a string of " + (described.least > 0 ? least + " to " : "at most ") + most + " bytes without NUL";
      break;
    case param_type::code: text = "a string of at most " + most + " bytes"; break;
    case param_type::path: text = "an absolute path of at most " + most + " bytes without NUL"; break;
    case param_type::id: text = "an id: " + std::string(id_text); break;
    case param_type::word:
      text = described.words.size() == 1 ? std::string(described.words.front()) : "one of: " + join(described.words);
      break;
    case param_type::word_list: text = "a list of these: " + join(described.words); break;
    case param_type::ids: text = "a list of at most " + most + " ids: each " + std::string(id_text); break;
    case param_type::names:
      text = "a list of at most " + most + " names: each 1 to 256 letters, digits and _ that does not begin with a digit";
      break;
    case param_type::variables: text = "an object of strings, at most " + most + " bytes in all"; break;
    case param_type::boolean: text = "true or false"; break;
  }
  return text;
}

tl::unexpected<error> refuse_unknown(std::string_view method, std::vector<param> const& described, std::string_view name) {
  std::vector<std::string_view> known;
  known.reserve(described.size());
  for (auto const& each : described) known.push_back(each.name);
  return fail(
      error_code::invalid_params,
      "cannot accept " + std::string(method) + ": unknown param " + shown(name) + "; it takes " +
          (known.empty() ? "none" : join(known)),
      json::object{{"param", name.size() <= max_shown_bytes ? std::string(name) : shown(name)}, {"known", as_array(known)}});
}

tl::unexpected<error> refuse_missing(std::string_view method, param const& described) {
  return refuse(method, described, "is missing", wanted_of(described));
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
  if (!is(json_type(described.type))) return refuse(method, described, "is " + shown(given), wanted_of(described));
  switch (described.type) {
    case param_type::id: return check_id(method, described, given.get_string(), "is");
    case param_type::word: return check_word(method, described, given.get_string(), "is");
    case param_type::variables: return check_variables(method, described, given.get_object());
    case param_type::ids:
    case param_type::names:
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
