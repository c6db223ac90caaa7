#include <catch2/catch.hpp>

#include "bin/holdfast/doctor_checks.hpp"

namespace holdfast::cli {
namespace {

constexpr std::uint64_t gib = std::uint64_t{1} << 30;

home_facts good_home() {
  home_facts found;
  found.path = "/srv/h";
  found.is_there = true;
  found.owner = found.wanted_owner = 1000;
  found.file_system = "ext";
  found.free_bytes = 10 * gib;
  found.kernels = 64;
  return found;
}

limit_facts good_limits() {
  limit_facts found;
  found.kernels = 64;
  found.files_soft = 1024;
  found.files_hard = 524'288;
  found.pid_max = 4'194'304;
  found.threads_max = 100'000;
  return found;
}

python_facts good_python() {
  python_facts found;
  found.wanted = "python3";
  found.path = "/usr/bin/python3";
  found.major = 3;
  found.minor = 11;
  found.micro = 2;
  return found;
}

finding of(std::vector<finding> const& all, std::string const& check) {
  for (auto const& each : all)
    if (each.check == check) return each;
  FAIL("no finding " << check);
  return {};
}

leftover_facts with(bool has_daemon, leftover_facts::directory kernel) {
  leftover_facts found;
  found.has_daemon = has_daemon;
  found.kernels.push_back(std::move(kernel));
  return found;
}

TEST_CASE("what is well says so and advises nothing") {
  for (auto const& each : {check_settings("", {}), check_home(good_home()), check_python(good_python()), check_daemon({}),
                           check_system({true, true, ""}), of(check_limits(good_limits()), "files"),
                           of(check_limits(good_limits()), "processes"), check_leftovers({}).front()}) {
    INFO(each.text);
    CHECK(each.how == verdict::ok);
    CHECK(each.advice.empty());
  }
}

TEST_CASE("a home that no daemon would take is wrong, and what to do is said") {
  struct wrong_home {
    char const* part;
    void (*spoil)(home_facts&);
  };
  for (auto const& [part, spoil] : {
           wrong_home{"belongs to uid 0, wanted 1000", [](home_facts& home) { home.owner = 0; }},
           wrong_home{"has mode 0755, wanted 0700", [](home_facts& home) { home.mode = 0755; }},
           wrong_home{"is not a directory", [](home_facts& home) { home.is_directory = false; }},
           wrong_home{"is on NFS", [](home_facts& home) { home.is_network = true, home.file_system = "NFS"; }},
           wrong_home{"Permission denied", [](home_facts& home) { home.problem = "Permission denied"; }},
           wrong_home{"is not writable", [](home_facts& home) { home.is_writable = false; }},
           wrong_home{"you may not make it", [](home_facts& home) { home.is_there = home.is_writable = false; }},
           wrong_home{"2.0 MiB free", [](home_facts& home) { home.free_bytes = 2 << 20; }},
       }) {
    auto home = good_home();
    spoil(home);

    auto const told = check_home(home);

    INFO(part << " in " << told.text);
    CHECK(told.how == verdict::wrong);
    CHECK(told.text.find(part) != std::string::npos);
    CHECK_FALSE(told.advice.empty());
  }
}

TEST_CASE("a home that is not there yet, or is short of room for all kernels, is a note") {
  auto home = good_home();
  home.is_there = false;
  CHECK(check_home(home).how == verdict::note);

  home = good_home();
  home.kernels = 5000;
  home.free_bytes = gib;
  CHECK(check_home(home).how == verdict::note);
  CHECK(check_home(home).text.find("5000 kernels need") != std::string::npos);
}

TEST_CASE("a daemon that has the home and does not answer is wrong; one that does, or none, is not") {
  daemon_facts found;
  found.lock_holder = 7;
  found.has_socket = true;
  found.problem = "nothing came in 5 s";
  CHECK(check_daemon(found).how == verdict::wrong);
  CHECK(check_daemon(found).text == "pid 7 has the home and does not answer: nothing came in 5 s");

  found.answered = 7;
  CHECK(check_daemon(found).how == verdict::ok);
  found.answered = 8;
  CHECK(check_daemon(found).how == verdict::wrong);

  daemon_facts killed;
  killed.has_socket = true;
  CHECK(check_daemon(killed).how == verdict::note);
}

TEST_CASE("a python is told apart: not there, not running, too old, too new, incomplete") {
  auto found = good_python();
  found.path.clear();
  CHECK(check_python(found).text == "python3 is not there");

  found = good_python();
  found.problem = "does not run: cannot execute";
  CHECK(check_python(found).how == verdict::wrong);

  found = good_python();
  found.minor = 7;
  CHECK(check_python(found).text == "python3 (/usr/bin/python3) is 3.7.2, wanted 3.8 to 3.13");
  found.minor = 14;
  CHECK(check_python(found).how == verdict::note);

  found = good_python();
  found.missing = {"ctypes: No module named '_ctypes'"};
  CHECK(check_python(found).text.find("lacks ctypes: No module named '_ctypes'") != std::string::npos);

  found = good_python();
  found.preload_missing = {"numpy: No module named 'numpy'"};
  CHECK(check_python(found).how == verdict::wrong);
}

TEST_CASE("limits are held against what max_kernels allows") {
  auto found = good_limits();
  CHECK(of(check_limits(found), "files").text == "1024 open files, 524288 at most");

  found.kernels = 1000;
  CHECK(of(check_limits(found), "files").text == "1024 open files, 524288 at most; the daemon raises it");
  found.files_hard = 1024;
  CHECK(of(check_limits(found), "files").how == verdict::wrong);
  CHECK(of(check_limits(found), "files").text == "1024 open files, 1024 at most; 1000 kernels need 2512");

  found = good_limits();
  found.kernels = 0;  // any number: held against the default
  found.pid_max = 200;
  CHECK(of(check_limits(found), "processes").text == "kernel.pid_max is 200 processes; 64 kernels need 256");
}

TEST_CASE("the scarcest of the limits of processes is named, with what this user has already") {
  auto found = good_limits();
  found.processes_most = 300;
  found.processes_now = 100;
  CHECK(of(check_limits(found), "processes").text == "RLIMIT_NPROC leaves 200 processes; 64 kernels need 256");

  found.processes_now = 1000;  // a limit that was lowered afterwards
  CHECK(of(check_limits(found), "processes").text == "RLIMIT_NPROC leaves 0 processes; 64 kernels need 256");

  found = good_limits();
  found.group_pids_left = 10;
  CHECK(of(check_limits(found), "processes").how == verdict::wrong);
}

TEST_CASE("memory is told where a control group limits it") {
  auto found = good_limits();
  CHECK(check_limits(found).size() == 2);

  found.group_memory_left = 100 << 20;
  CHECK(of(check_limits(found), "memory").how == verdict::note);
  found.group_memory_left = gib;
  CHECK(of(check_limits(found), "memory").how == verdict::ok);
}

TEST_CASE("a system without pidfd or /proc is wrong") {
  CHECK(check_system({false, true, ""}).how == verdict::wrong);
  CHECK(check_system({true, false, ""}).how == verdict::wrong);
  CHECK(check_system({true, true, "Function not implemented"}).text == "pidfd_open fails: Function not implemented");
}

TEST_CASE("kernels that live on without a daemon are a note, those that a daemon does not know are wrong") {
  auto const alone = check_leftovers(with(false, {"k-1", {41}, true, false}));
  CHECK(alone.front().how == verdict::note);
  CHECK(alone.front().text == "1 kernel lives on without a daemon: pid 41");

  CHECK(check_leftovers(with(true, {"k-1", {41}, true, false})).front().how == verdict::ok);

  auto const unknown = check_leftovers(with(true, {"k-1", {41}, false, false}));
  CHECK(unknown.front().how == verdict::wrong);
  CHECK(unknown.front().advice.find("kill 41") != std::string::npos);

  CHECK(check_leftovers(with(true, {"k-1", {}, false, false})).front().text == "directories of kernels that nobody knows: run/k-1");
  CHECK(check_leftovers(with(false, {"k-1", {}, true, false})).front().how == verdict::note);
  CHECK(check_leftovers(with(false, {"k-1", {41}, true, true})).front().how == verdict::wrong);
}

TEST_CASE("one thing that is wrong is enough, any number of notes is not") {
  CHECK(is_well({{"a", verdict::ok, "", ""}, {"b", verdict::note, "", ""}}));
  CHECK_FALSE(is_well({{"a", verdict::ok, "", ""}, {"b", verdict::wrong, "", ""}}));
}

}  // namespace
}  // namespace holdfast::cli
