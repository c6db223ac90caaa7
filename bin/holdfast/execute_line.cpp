#include <signal.h>

#include <cstring>

#include "bin/holdfast/commands.hpp"
#include "bin/holdfast/exit_codes.hpp"
#include "bin/holdfast/failure.hpp"
#include "bin/holdfast/service.hpp"
#include "bin/holdfast/streams.hpp"

namespace holdfast::cli {

namespace {

/// What a full disk or a closed descriptor kept from being written must not pass for an answer. A code that says more stays.
int with_output(int code) {
  auto const problem = out_problem();
  if (problem == 0) return code;
  complain(std::string("cannot write standard output: ") + std::strerror(problem));
  return code == exit_ok ? exit_output : code;
}

}  // namespace

int execute_line(int argc, char const* const* argv) {
  hold_standard_streams();
  // A reader of our output, or a daemon, may end while we write: that is an error value, not our death.
  ::signal(SIGPIPE, SIG_IGN);
  auto const parsed = parse(argc, argv);
  if (auto const* end = std::get_if<parse_end>(&parsed)) {
    if (end->exit_code == exit_ok)
      write_out(end->text);
    else
      write_err(end->text);
    return with_output(end->exit_code);
  }
  auto const& wanted = std::get<invocation>(parsed);
  auto home = find_home(wanted.home);
  if (!home) return show_failure(home.error(), wanted.json);
  settings const here{*home, wanted.home.value_or(""), wanted.json};
  return with_output(std::visit([&](auto const& given) { return execute(here, given); }, wanted.what));
}

}  // namespace holdfast::cli
