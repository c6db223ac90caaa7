// doctor: whether this machine and this home can do what a daemon needs, and what to do where they cannot. Changes nothing.
#include <spdlog/fmt/fmt.h>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "bin/holdfast/commands.hpp"
#include "bin/holdfast/doctor_facts.hpp"
#include "bin/holdfast/exit_codes.hpp"
#include "bin/holdfast/format.hpp"
#include "bin/holdfast/streams.hpp"

namespace holdfast::cli {

namespace {

boost::json::object as_json(std::vector<finding> const& all) {
  boost::json::array checks;
  for (auto const& each : all) {
    auto const advice = each.advice.empty() ? boost::json::value() : boost::json::value(each.advice);
    checks.push_back({{"check", each.check}, {"state", to_string(each.how)}, {"text", each.text}, {"advice", advice}});
  }
  return {{"well", is_well(all)}, {"checks", std::move(checks)}};
}

std::string in_lines(std::vector<finding> const& all) {
  std::string out;
  for (auto const& each : all) {
    out += fmt::format("{:<5}  {:<9}  {}\n", to_string(each.how), each.check, one_line(each.text));
    if (!each.advice.empty()) out += fmt::format("{:<18}do: {}\n", "", one_line(each.advice));
  }
  return out;
}

}  // namespace

int execute(settings const& here, doctor_arguments const&) {
  auto loaded = load_config(here.home, current_environment());
  std::vector<finding> all{check_settings(loaded ? std::string() : loaded.error().message,
                                          loaded ? loaded->ignored_variables : std::vector<std::string>())};
  config defaults_alone;
  defaults_alone.home = here.home;
  auto const& settings = loaded ? *loaded : defaults_alone;

  all.push_back(check_home(look_at_home(here.home, settings)));
  // Directories first: a kernel that comes meanwhile is known by then and not among them.
  auto kernels = look_at_kernels(here.home);
  std::set<std::string> known;
  auto const daemon = look_at_daemon(here.home, known);
  all.push_back(check_daemon(daemon));
  all.push_back(check_python(look_at_python(settings)));
  for (auto& each : check_limits(look_at_limits(settings))) all.push_back(std::move(each));
  all.push_back(check_system(look_at_system()));
  for (auto& each : check_leftovers(judge_leftovers(here.home, std::move(kernels), daemon, known))) all.push_back(std::move(each));

  write_out(here.json ? boost::json::serialize(as_json(all)) + "\n" : in_lines(all));
  return is_well(all) ? exit_ok : exit_refused;
}

}  // namespace holdfast::cli
