// A field of what is sent to clients: its name, its type, what it means. Answers, notifications, events and errors are all described with
// it (objects.hpp, notifications.cpp, errors.cpp); discover.cpp and protocol_markdown.cpp write it down.
// Pure. Descriptions only: the core makes the objects, and a test compares what it really sends with what stands here, both ways.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::front {

enum class field_type {
  text,
  integer,
  boolean,
  object,  // `of`: the described object that it is
  map,     // an object whose keys are of `words` and whose values are `of`
  list,    // `of`: the described object that each item is, or its plain type
  any,     // any JSON value
};

struct field {
  std::string_view name;
  field_type type = field_type::text;
  std::string_view of = {};
  std::vector<std::string_view> words = {};  // all that a text, or a key of a map, may be; empty: any
  bool is_nullable = false;                  // may be null
  bool is_optional = false;                  // may be left out
  std::string_view sentence = {};
};

inline field text(std::string_view name, std::string_view sentence) { return {.name = name, .sentence = sentence}; }
inline field word(std::string_view name, std::vector<std::string_view> words, std::string_view sentence) {
  return {.name = name, .words = std::move(words), .sentence = sentence};
}
inline field integer(std::string_view name, std::string_view sentence) {
  return {.name = name, .type = field_type::integer, .sentence = sentence};
}
inline field boolean(std::string_view name, std::string_view sentence) {
  return {.name = name, .type = field_type::boolean, .sentence = sentence};
}
inline field object(std::string_view name, std::string_view of, std::string_view sentence) {
  return {.name = name, .type = field_type::object, .of = of, .sentence = sentence};
}
inline field list(std::string_view name, std::string_view of, std::string_view sentence) {
  return {.name = name, .type = field_type::list, .of = of, .sentence = sentence};
}
inline field or_null(field described) {
  described.is_nullable = true;
  return described;
}
inline field or_left_out(field described) {
  described.is_optional = true;
  return described;
}

/// Such as "string" or "integer": the JSON type; "any" for any.
std::string_view json_type(field_type type);
/// The same in words, such as "array of `cell row`, or null".
std::string type_in_words(field const& described);

}  // namespace holdfast::front
