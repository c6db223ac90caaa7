// The two far sides that every behaviour is tested on, and a gateway with its real core that has one of them as environment `far`.
#pragma once

#include <signal.h>

#include <map>
#include <thread>

#include <boost/json/parse.hpp>

#include "tests/support/scripted_environment.hpp"
#include "tests/support/sh_environment.hpp"

namespace holdfast::test {

using namespace std::chrono_literals;

/// Kernels that are records.
struct by_script {
  std::shared_ptr<scripted_environment> environment = std::make_shared<scripted_environment>();

  static char const* hang() { return "hang"; }
  static char const* wait() { return "wait"; }
  void refuse_spawns() { environment->set_mood(scripted_environment::mood::refuses_spawns); }
  void kill(std::int64_t) { environment->kill_kernels(); }
  void release() { environment->release(); }
  void cut_off(bool is_cut_off) {
    environment->set_mood(is_cut_off ? scripted_environment::mood::exits_255 : scripted_environment::mood::well);
  }
};

/// Kernels that are processes of this machine.
struct by_shell {
  std::shared_ptr<sh_environment> environment = std::make_shared<sh_environment>();

  /// Holds the interpreter's lock: its kernel says nothing any more.
  static char const* hang() { return "import ctypes\nctypes.PyDLL(None).sleep(600)"; }
  static char const* wait() { return "import os, time\nwhile not os.path.exists('released'): time.sleep(0.01)\n2"; }
  void refuse_spawns() { write_file(environment->place() / "far", "no directory can be made here"); }
  void kill(std::int64_t pid) { ::kill(static_cast<pid_t>(pid), SIGKILL); }
  void release() { write_file(environment->place() / "released", ""); }
  void cut_off(bool is_cut_off) { environment->cut_off(is_cut_off); }
};

using keys = std::map<std::string, std::string>;  // of a gateway's settings

template <class Far>
struct embedded {
  temporary_directory home;
  Far far;
  keys settings;
  std::unique_ptr<gateway> running;

  explicit embedded(keys given = {}) : settings(std::move(given)) { restart(); }
  ~embedded() {
    gate().open();
    if (running) running->stop(kernels::end);
  }

  /// The same home in a fresh gateway; kernels go on.
  void restart() {
    running.reset();
    running = std::make_unique<gateway>(gateway::config{.home = home.path(), .settings = settings});
    running->add_environment("far", far.environment);
    running->start();
  }

  operation_gate& gate() { return far.environment->gate; }
  session open(std::string const& name, std::string const& owner = "ada", std::string const& child = {}) {
    return running->open_session(owner, child, name);
  }
  cell_result run(std::string const& name, std::string const& code, run_options options = {}) {
    options.environment = "far";
    return open(name).run(code, options);
  }

  boost::json::array kernels_there() { return boost::json::parse(running->call("kernel.list")).at("items").as_array(); }
  void stop_kernel(std::string const& kernel) { running->call("kernel.stop", R"({"kernel":")" + kernel + "\"}"); }
  std::int64_t only_pid() { return kernels_there().at(0).at("pid").as_int64(); }
};

/// The kernel part of a result.
inline boost::json::object kernel_of(cell_result const& result) {
  auto const all = boost::json::parse(result.json);
  auto const* found = all.at("kernel").if_object();
  return found ? *found : boost::json::object{};
}

/// Empty while it is not accepted.
inline std::string status_of(session in, std::string const& cell) {
  try {
    return in.cell_get(cell).status;
  } catch (failure const&) {
    return {};
  }
}

template <class Condition>
bool comes_true(Condition holds, std::chrono::milliseconds within = 20s) {
  auto const until = std::chrono::steady_clock::now() + within;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

}  // namespace holdfast::test
