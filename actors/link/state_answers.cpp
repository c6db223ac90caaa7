#include "actors/link/state_answers.hpp"

#include <limits>

#include "actors/link/fields_read.hpp"

namespace holdfast::link {

namespace {

/// The body read by `read(fields, problem)`, or the first problem.
template <class Told, class Read>
tl::expected<Told, std::string> read_body(std::string_view body, std::string_view what, Read read) {
  json_document document{body};
  if (!document.object()) return tl::unexpected(document.problem());
  std::string problem;
  json_fields fields{*document.object(), what, problem};
  Told made = read(fields, problem);
  if (!problem.empty()) return tl::unexpected(std::move(problem));
  return made;
}

}  // namespace

tl::expected<namespace_told, std::string> namespace_of(std::string_view body) {
  return read_body<namespace_told>(body, "answer about a namespace", [](json_fields& in, std::string& problem) {
    namespace_told told;
    if (auto const* names = in.list("names"))
      for (auto const& each : *names) {
        if (!each.is_string()) in.fail("names", "a list of something else", "a list of texts");
        if (each.is_string()) told.names.emplace_back(std::string_view(each.get_string()));
      }
    each_object(in, "skipped", problem, [&](json_fields& item) {
      auto name = item.text("name");
      told.skipped.push_back({std::move(name), item.text("reason")});
    });
    told.bytes = in.number("bytes");
    told.more_names = in.number_or("more_names", 0);
    told.more_skipped = in.number_or("more_skipped", 0);
    return told;
  });
}

tl::expected<clone_told, std::string> clone_of(std::string_view body) {
  return read_body<clone_told>(body, "answer to fork", [](json_fields& in, std::string& problem) {
    clone_told told;
    auto const pid = in.number("pid");
    constexpr std::uint64_t largest_pid = std::numeric_limits<std::int32_t>::max();
    if (pid == 0 || pid > largest_pid) in.fail("pid", std::to_string(pid), "a pid");
    told.pid = static_cast<std::int32_t>(pid);
    told.start_time = in.number("start_time");
    each_object(in, "left_behind", problem, [&](json_fields& item) {
      left_behind left;
      left.kind = item.text("kind");
      left.job = item.optional_text("job");
      left.command = item.optional_text("command");
      left.what = item.optional_text("what");
      left.pid = item.optional_integer("pid");
      left.descriptor = item.optional_integer("descriptor");
      told.left.push_back(std::move(left));
    });
    return told;
  });
}

}  // namespace holdfast::link
