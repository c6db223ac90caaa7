#include "bin/holdfast/failure.hpp"

#include <string_view>
#include <utility>

#include <boost/json/serialize.hpp>

#include "bin/holdfast/exit_codes.hpp"
#include "bin/holdfast/fields.hpp"
#include "bin/holdfast/format.hpp"
#include "bin/holdfast/streams.hpp"

namespace holdfast::cli {

namespace {

/// The daemon's advice names methods of its protocol; here the commands for them are known.
std::string in_commands(std::string text) {
  constexpr std::pair<std::string_view, std::string_view> names[] = {
      {", cell.get shows it", ": holdfast cell CELL"},
      {", and with save false it is ended without", ", and with --no-save it is ended without"},
      {"; name one that is there with python", "; name one with --python"},
      {"with session.reset or session.close", "with holdfast reset or holdfast close"},
      {": session.get shows it", ": holdfast session shows it"},
      {"; cell.list ", "; holdfast cells "},
      {"; job.list ", "; holdfast jobs "},
      {"; kernel.list ", "; holdfast kernels "},
      {"; session.list ", "; holdfast sessions "}};
  for (auto const& [method, command] : names)
    if (auto const at = text.find(method); at != text.npos) text.replace(at, method.size(), command);
  return text;
}

}  // namespace

int show_failure(error const& problem, bool json) {
  if (json) write_out(boost::json::serialize(boost::json::object{{"error", to_json(problem)}}) + "\n");
  complain(one_line(in_commands(problem.message)));
  return code_of_error(problem);
}

error with_hint(error problem, boost::json::object const& params) {
  // Of a cell that is there, a display or type may be missing.
  auto const& message = problem.message;
  auto const is_unknown =
      problem.code == error_code::not_found && (message.starts_with("no cell ") || message.starts_with("no session "));
  if (is_unknown && field(params, "cell") && text(params, "session") == "default")
    problem.message += "; if it ran elsewhere: -s SESSION";
  return problem;
}

}  // namespace holdfast::cli
