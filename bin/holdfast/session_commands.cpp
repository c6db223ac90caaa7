// sessions, session, reset, close, fork.
#include "bin/holdfast/ask.hpp"
#include "bin/holdfast/exit_codes.hpp"
#include "bin/holdfast/fields.hpp"
#include "bin/holdfast/format.hpp"
#include "bin/holdfast/rows.hpp"
#include "bin/holdfast/streams.hpp"

namespace holdfast::cli {

namespace {

int ask_session(settings const& here, std::string_view method, scope const& where) {
  boost::json::object params;
  where.add_to(params);
  return ask(here, method, params, [](boost::json::object const& row) -> int {
    write_out(render_facts(session_facts(row)));
    return exit_ok;
  });
}

int close_owner(settings const& here, std::string const& owner) {
  return ask(here, "owner.close", {{"owner", owner}}, [&](boost::json::object const& closed) -> int {
    write_out("closed owner " + one_line(owner) + ": " + std::to_string(number(closed, "sessions")) + " sessions, " +
              std::to_string(number(closed, "kernels")) + " kernels ended\n");
    return exit_ok;
  });
}

}  // namespace

int execute(settings const& here, sessions_arguments const& given) {
  boost::json::object params{{"limit", given.limit}};
  if (given.owner) params["owner"] = *given.owner;
  if (given.state) params["state"] = *given.state;
  return ask_list(here, "session.list", params, "sessions", session_headings(), session_row);
}

int execute(settings const& here, session_arguments const& given) { return ask_session(here, "session.get", given.where); }
int execute(settings const& here, reset_arguments const& given) { return ask_session(here, "session.reset", given.where); }
int execute(settings const& here, close_arguments const& given) {
  if (given.is_whole_owner) return close_owner(here, given.where.owner);
  boost::json::object params;
  given.where.add_to(params);
  // The row is that of a session without kernel and cells: shown, it would look like a new one.
  return ask(here, "session.close", params, [&](boost::json::object const&) -> int {
    write_out("closed session " + one_line(given.where.session) + "\n");
    return exit_ok;
  });
}

int execute(settings const& here, fork_arguments const& given) {
  boost::json::object params{{"into", given.into}};
  given.where.add_to(params);
  return ask(here, "session.fork", params, [&](boost::json::object const& row) -> int {
    write_out(render_facts(session_facts(row)));
    for (auto const& left : left_behind_lines(row)) write_out("left with " + one_line(given.where.session) + ": " + left + "\n");
    return exit_ok;
  });
}

int execute(settings const& here, variables_arguments const& given) {
  boost::json::object params{{"limit", given.limit}};
  given.where.add_to(params);
  return ask_list(here, "session.variables", params, "variables", variable_headings(), variable_row,
                  "no variables in a kernel of session " + one_line(given.where.session) +
                      "; saved ones of a hibernated session are there again for its next cell");
}

}  // namespace holdfast::cli
