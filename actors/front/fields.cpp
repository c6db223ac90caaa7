#include "actors/front/fields.hpp"

namespace holdfast::front {

std::string_view json_type(field_type type) {
  switch (type) {
    case field_type::text: return "string";
    case field_type::integer: return "integer";
    case field_type::boolean: return "boolean";
    case field_type::object:
    case field_type::map: return "object";
    case field_type::list: return "array";
    case field_type::any: return "any";
  }
  return "any";
}

std::string type_in_words(field const& described) {
  std::string words;
  auto const of = "`" + std::string(described.of) + "`";
  switch (described.type) {
    case field_type::object: words = "object " + of; break;
    case field_type::map: words = "object, its values " + of; break;
    case field_type::list: words = "array of " + of; break;
    default: words = json_type(described.type);
  }
  if (described.is_nullable) words += ", or null";
  if (described.is_optional) words += ", may be left out";
  return words;
}

}  // namespace holdfast::front
