#include "actors/env/start_nursery.hpp"

#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "actors/base/defaults.hpp"
#include "actors/base/hash.hpp"
#include "actors/base/home.hpp"
#include "actors/base/start_process.hpp"
#include "actors/env/variables.hpp"
#include "actors/link/handshake.hpp"
#include "actors/link/utf8.hpp"
#include "bin/kernel/program.hpp"

namespace holdfast::env {

namespace fs = std::filesystem;

namespace {

constexpr int ended_at_once = 3;  // nursery_main.py's exit code when the nursery was gone before it could say anything

constexpr std::size_t last_words = 1000;  // bytes of its standard error that are shown

/// Its standard error is anybody's bytes.
std::string how_it_ended(finished_process const& process) {
  auto const& said = process.standard_error;
  auto end = link::to_utf8(std::string_view(said).substr(said.size() - std::min(said.size(), last_words)));
  end.erase(end.find_last_not_of(" \n") + 1);
  auto text = process.exit_code < 0 ? "killed by SIG" + std::string(::sigabbrev_np(-process.exit_code))
                                    : "exit code " + std::to_string(process.exit_code);
  return text + (end.empty() ? ", without a word" : ": " + end);
}

}  // namespace

std::string nursery_key(std::string const& python, std::vector<std::string> const& preload,
                        std::map<std::string, std::string> const& interpreter) {
  std::string material = python + '\n' + std::string(program_digest());
  for (auto const& module : preload) material += "\npreload " + module;
  for (auto const& [name, value] : interpreter)
    if (is_interpreter_variable(name)) material += "\n" + name + "=" + value;
  return hex(sha256(material));
}

result<fs::path> stage_program(fs::path const& home) {
  auto const target = home / "program" / std::string(program_digest());
  std::error_code problem;
  if (fs::exists(target, problem)) return target;
  // Another gateway of an earlier time may stage the same: write aside, then rename; who comes second finds it there.
  auto const aside = home / "program" / ("staging-" + random_hex(8));
  if (auto made = make_private_directory(aside); !made) return tl::unexpected(std::move(made.error()));
  for (auto const& file : program_files()) {
    auto const path = aside / file.path;
    if (auto made = make_private_directories(path.parent_path()); !made) return tl::unexpected(std::move(made.error()));
    std::ofstream out(path, std::ios::binary);
    out << file.content;
    out.close();
    if (!out) {
      fs::remove_all(aside, problem);
      return fail(error_code::start_failed, "cannot stage the program at " + path.string() + "; is the disk full or read-only?");
    }
  }
  fs::rename(aside, target, problem);
  if (problem) {
    std::error_code ignored;
    fs::remove_all(aside, ignored);
    if (!fs::exists(target, ignored))
      return fail(error_code::start_failed, "cannot stage the program at " + target.string() + ": " + problem.message());
  }
  return target;
}

result<void> start_nursery(nursery_plan const& plan) {
  auto program = stage_program(plan.home);
  if (!program) return tl::unexpected(program.error());
  auto const directory = plan.home / plan.row.directory;
  if (auto made = make_private_directory(directory); !made) return made;

  boost::json::array preload;
  for (auto const& module : plan.preload) preload.emplace_back(module);
  boost::json::object settings{{"nursery", plan.row.nursery.text}, {"token", plan.row.token},     {"home", plan.home_id},
                               {"directory", directory.string()},  {"program", plan.row.program}, {"preload", std::move(preload)},
                               {"failpoints", plan.failpoints},    {"idle_ms", plan.idle_ms},     {"protocol", link::protocol}};
  if (!plan.failpoint_log.empty()) settings["failpoint_log"] = plan.failpoint_log;

  for (std::uint32_t starts = 1;; ++starts) {
    auto finished = run_process({plan.row.python, (*program / "nursery.py").string()}, plan.variables, "/",
                                boost::json::serialize(settings), defaults::nursery_start);
    if (!finished) return tl::unexpected(finished.error());
    if (finished->exit_code == 0) return {};
    // A signal says nothing of the interpreter: another start is safe, as nothing was asked of this one yet, and it takes over the socket.
    auto const was_killed = finished->exit_code < 0 || finished->exit_code == ended_at_once;
    if (was_killed && starts < defaults::nursery_starts) continue;
    return fail(error_code::start_failed, "cannot start a nursery with " + plan.row.python + ": " + how_it_ended(*finished) +
                                              "; see that it runs and has the modules of preload, or name another python");
  }
}

}  // namespace holdfast::env
