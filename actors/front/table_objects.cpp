// What rpc.discover answers, described as every other answer is: discover.cpp writes these objects.
#include "actors/front/objects.hpp"

namespace holdfast::front {

std::vector<object_description> table_objects() {
  return {
      {"method table",
       {text("protocol", ""), list("methods", "method", ""), list("common_errors", "error name", "what any method may answer"),
        list("objects", "described object", "what answers are made of"), list("notifications", "notification", ""),
        list("events", "event kind", ""), list("errors", "error kind", "")}},
      {"method",
       {text("name", ""), text("sentence", "what it does"), list("params", "param", ""), object("result", "answer", ""),
        list("errors", "error name", "its own")}},
      {"param",
       {text("name", ""),
        word("type", {"string", "integer", "boolean", "object", "array"}, "of JSON"),
        boolean("required", ""),
        {.name = "default", .type = field_type::any, .is_nullable = true, .sentence = "what it is when left out"},
        text("limits", "in words; empty when the type says it all"),
        list("words", "string", "all that it may be; empty: any"),
        text("sentence", "what it means")}},
      {"answer",
       {text("object", "the described object that it is, or `string`"),
        boolean("list",
                "whether it is `{items, next}`: `items` a list of such objects, `next` the `after` of the next page, or null"),
        text("sentence", "what it tells")}},
      {"described object", {text("name", ""), list("fields", "field", "all that it has")}},
      {"field",
       {text("name", ""), word("type", {"string", "integer", "boolean", "object", "array", "any"}, "of JSON"),
        or_null(
            text("of", "of an object or of a list's items: the described object that it is; else the type of its values or items")),
        boolean("null", "whether it may be null"), boolean("optional", "whether it may be left out"),
        list("words", "string", "all that it, or a key of it, may be; empty: any"), text("sentence", "what it means")}},
      {"notification", {text("method", ""), text("sentence", "when it comes"), list("params", "field", "all that it has")}},
      {"event kind", {text("kind", ""), text("sentence", "when it comes"), list("details", "field", "all that its details have")}},
      {"error name", {integer("code", ""), text("kind", "the same as a word")}},
      {"error kind",
       {integer("code", ""), text("kind", "the same as a word"), boolean("retry", "whether the same request may be sent again"),
        text("sentence", "when it comes")}},
      {"error", {integer("code", ""), text("message", "for a reader"), object("data", "error data", "")}},
      {"error data",
       {text("kind", "the code as a word"), boolean("retry", "whether the same request may be sent again"),
        or_left_out(text("param", "the one that is refused")), or_left_out(list("known", "string", "what would have been taken"))}},
  };
}

}  // namespace holdfast::front
