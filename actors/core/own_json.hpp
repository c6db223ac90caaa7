// Lenient reading of JSON objects that this program wrote itself: a field that is missing or of another type is as if it were not there.
// For text of others there is link/json_reader.hpp, which is strict.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

namespace holdfast::core {

inline std::optional<std::string> optional_text(boost::json::object const& object, std::string_view key) {
  auto const* value = object.if_contains(key);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return std::string(std::string_view(value->get_string()));
}

inline std::string text(boost::json::object const& object, std::string_view key) { return optional_text(object, key).value_or(""); }

inline std::optional<std::int64_t> optional_integer(boost::json::object const& object, std::string_view key) {
  auto const* value = object.if_contains(key);
  if (value == nullptr || !value->is_int64()) return std::nullopt;
  return value->get_int64();
}

inline bool flag(boost::json::object const& object, std::string_view key) {
  auto const* value = object.if_contains(key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

}  // namespace holdfast::core
