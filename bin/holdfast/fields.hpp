// Reads fields of the daemon's answers. A field that is missing or of another type reads as empty, zero or false: a newer daemon may
// add fields and leave others null, and no answer may end the command line with an exception.
#pragma once

#include <cstdint>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace holdfast::cli {

inline boost::json::value const* field(boost::json::object const& object, std::string_view name) {
  return object.if_contains({name.data(), name.size()});
}

inline std::string_view text(boost::json::object const& object, std::string_view name) {
  auto const* found = field(object, name);
  if (!found || !found->is_string()) return {};
  return {found->get_string().data(), found->get_string().size()};
}

inline std::int64_t number(boost::json::object const& object, std::string_view name) {
  auto const* found = field(object, name);
  if (!found) return 0;
  if (found->is_int64()) return found->get_int64();
  if (found->is_uint64()) return static_cast<std::int64_t>(found->get_uint64());
  return found->is_double() ? static_cast<std::int64_t>(found->get_double()) : 0;
}

inline bool flag(boost::json::object const& object, std::string_view name) {
  auto const* found = field(object, name);
  return found && found->is_bool() && found->get_bool();
}

/// The object in that field, or null.
inline boost::json::object const* object_in(boost::json::object const& object, std::string_view name) {
  auto const* found = field(object, name);
  return found ? found->if_object() : nullptr;
}

/// The array in that field, or null.
inline boost::json::array const* array_in(boost::json::object const& object, std::string_view name) {
  auto const* found = field(object, name);
  return found ? found->if_array() : nullptr;
}

}  // namespace holdfast::cli
