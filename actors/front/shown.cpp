#include "actors/front/shown.hpp"

namespace holdfast::front {

namespace json = boost::json;

std::string shown(std::string_view text) {
  if (text.size() <= max_shown_bytes) return "'" + std::string(text) + "'";
  return "a string of " + std::to_string(text.size()) + " bytes";
}

std::string shown(json::value const& value) {
  switch (value.kind()) {
    case json::kind::null: return "null";
    case json::kind::bool_: return value.get_bool() ? "true" : "false";
    case json::kind::int64: return std::to_string(value.get_int64());
    case json::kind::uint64: return std::to_string(value.get_uint64());
    case json::kind::double_: return "a number with a fraction or beyond 64 bits";
    case json::kind::string: return shown(std::string_view(value.get_string()));
    case json::kind::array: return "a list";
    case json::kind::object: return "an object";
  }
  return "unknown";
}

}  // namespace holdfast::front
