// run, wait and logs -f: the commands that follow a cell to its end.
#include <system_error>

#include <boost/json/array.hpp>

#include "actors/base/clock.hpp"
#include "actors/base/config.hpp"
#include "actors/base/spawn_process.hpp"
#include "actors/link/utf8.hpp"
#include "bin/holdfast/commands.hpp"
#include "bin/holdfast/failure.hpp"
#include "bin/holdfast/follow.hpp"
#include "bin/holdfast/format.hpp"
#include "bin/holdfast/source.hpp"

namespace holdfast::cli {

namespace {

std::string path_variable() {
  auto const environment = current_environment();
  auto const found = environment.find("PATH");
  return found == environment.end() ? "/usr/local/bin:/usr/bin:/bin" : found->second;
}

/// What a fresh kernel of this session is to find as the caller's shell has it. Those are left out that the daemon knows better.
result<boost::json::object> run_params(run_arguments const& given, std::string const& cell, bool& python_for_new_session) {
  auto code = read_source(given);
  if (!code) return tl::unexpected(code.error());
  boost::json::object params{{"cell", cell}, {"code", *code}};
  given.where.add_to(params);

  std::error_code problem;
  auto const directory = std::filesystem::current_path(problem);
  if (!problem && !link::is_utf8(directory.string()))
    return fail(error_code::invalid_params,
                "cannot run from the directory " + escaped(directory.string()) + ": its name is not UTF-8; run from another one");
  if (!problem) params["cwd"] = directory.string();

  auto const path = path_variable();
  if (!link::is_utf8(path)) return fail(error_code::invalid_params, "cannot hand on PATH: " + escaped(path) + " is not UTF-8");
  boost::json::object variables{{"PATH", path}};
  for (auto const& [name, value] : given.env) variables[name] = value;

  auto const python = find_program(given.python.value_or("python3"), path);
  python_for_new_session = !given.python;
  if (!python.empty()) {
    auto const absolute = std::filesystem::absolute(python, problem);
    params["python"] = (problem ? python : absolute).string();
  } else if (given.python) {
    return fail(error_code::invalid_params, "cannot find the python " + *given.python + " on PATH; name its file");
  }
  params["env"] = std::move(variables);
  if (given.tools) params["tools"] = boost::json::array(given.tools->begin(), given.tools->end());
  if (given.timeout) params["timeout_ms"] = given.timeout->count();
  if (given.reset) params["reset"] = true;
  if (given.detach)
    params["wait_ms"] = 0;
  else
    params["stream"] = true;
  return params;
}

follow_request following(settings const& here, scope const& where, std::string const& cell) {
  follow_request request;
  request.home = here.home;
  request.home_flag = here.home_flag;
  request.where = where;
  request.cell = cell;
  request.json = here.json;
  request.shows = here.json ? cell_view::mode::json : cell_view::mode::everything;
  return request;
}

}  // namespace

int execute(settings const& here, run_arguments const& given) {
  auto request = following(here, given.where, given.cell.value_or("c-" + make_ulid()));
  auto params = run_params(given, request.cell, request.python_for_new_session);
  if (!params) return show_failure(params.error(), here.json);
  request.run_params = std::move(*params);
  request.state.may_run = true;
  request.state.detaches = given.detach;
  return follow(std::move(request));
}

int execute(settings const& here, wait_arguments const& given) { return follow(following(here, given.where, given.cell)); }

int follow_log(settings const& here, logs_arguments const& given) {
  auto request = following(here, given.where, given.cell);
  request.shows = cell_view::mode::output_only;
  request.state.interrupts_cell = false;
  return follow(std::move(request));
}

}  // namespace holdfast::cli
