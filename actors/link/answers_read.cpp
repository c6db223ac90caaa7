// What an `answer` holds beside its id, by what was asked: text -> value.
#include "actors/link/fields_read.hpp"
#include "actors/link/messages.hpp"
#include "actors/link/messages_words.hpp"

namespace holdfast::link {

namespace {

/// Reads the object `body` with `read(fields, problem)`; `name` is what a problem calls it.
template <class Read>
auto read_body(std::string_view body, std::string_view name, Read read)
    -> tl::expected<decltype(read(std::declval<json_fields&>(), std::declval<std::string&>())), std::string> {
  json_document document{body};
  if (!document.object()) return tl::unexpected(document.problem());
  std::string problem;
  json_fields fields{*document.object(), name, problem};
  auto value = read(fields, problem);
  if (!problem.empty()) return tl::unexpected(std::move(problem));
  return value;
}

job_page read_job_page(json_fields& in, std::string& problem) {
  job_page page;
  each_object(in, "chunks", problem, [&](json_fields& item) {
    auto const stream = word(item, "stream", stream_words);
    auto const offset = item.number("offset");
    page.chunks.push_back({stream, offset, item.text("text")});
  });
  page.next_offset = in.number("next_offset");
  page.total_bytes = in.number("total_bytes");
  each_object(in, "dropped", problem, [&](json_fields& item) {
    auto const from = item.number("from");
    page.dropped.push_back({from, item.number("to")});
  });
  page.is_final = in.flag("final");
  return page;
}

variable_list read_variables(json_fields& in, std::string& problem) {
  variable_list list;
  each_object(in, "rows", problem, [&](json_fields& item) {
    auto name = item.text("name");
    auto type = item.text("type");
    auto const bytes = item.optional_integer("bytes");
    list.rows.push_back({std::move(name), std::move(type), bytes, item.text("preview")});
  });
  list.next = in.optional_integer("next");
  return list;
}

}  // namespace

tl::expected<job_page, std::string> job_page_of(std::string_view body) { return read_body(body, "page", read_job_page); }

tl::expected<variable_list, std::string> variables_of(std::string_view body) {
  return read_body(body, "answer to variables", read_variables);
}

}  // namespace holdfast::link
