#include "bin/holdfast/doctor_checks.hpp"

#include <algorithm>

#include <spdlog/fmt/fmt.h>

#include "bin/holdfast/format.hpp"

namespace holdfast::cli {

namespace {

constexpr std::uint64_t mib = 1 << 20;
constexpr std::uint64_t assumed_kernels = 64;         // where max_kernels names no number
constexpr std::uint64_t descriptors_of_kernel = 2;    // in the daemon: a socket and a pidfd
constexpr std::uint64_t descriptors_of_daemon = 512;  // connections, stores, logs, and what the acceptor keeps free
constexpr std::uint64_t tasks_of_kernel = 3;          // the process, its link thread, a job now and then
constexpr std::uint64_t tasks_of_daemon = 64;
constexpr std::uint64_t disk_of_kernel = mib;        // spool and journal are allocated at its start
constexpr std::uint64_t memory_of_kernel = 4 * mib;  // idle, its own pages
constexpr std::uint64_t least_disk = 64 * mib;
constexpr int oldest_minor = 8, newest_minor = 13;

std::uint64_t expected(std::uint64_t kernels) { return kernels == 0 ? assumed_kernels : kernels; }

finding ok(std::string check, std::string text) { return {std::move(check), verdict::ok, std::move(text), {}}; }
finding note(std::string check, std::string text, std::string advice) {
  return {std::move(check), verdict::note, std::move(text), std::move(advice)};
}
finding wrong(std::string check, std::string text, std::string advice) {
  return {std::move(check), verdict::wrong, std::move(text), std::move(advice)};
}

std::string size(std::uint64_t bytes) { return human_bytes(static_cast<std::int64_t>(bytes)); }

std::string joined(std::vector<std::string> const& items, std::string_view between) {
  std::string all;
  for (auto const& each : items) all.append(all.empty() ? "" : between).append(one_line(each));
  return all;
}

std::string pids(std::vector<pid_t> const& all) {
  std::string text;
  for (auto each : all) text += (text.empty() ? "" : " ") + std::to_string(each);
  return text;
}

}  // namespace

char const* to_string(verdict how) {
  switch (how) {
    case verdict::ok: return "ok";
    case verdict::note: return "note";
    case verdict::wrong: return "wrong";
  }
  return "wrong";
}

finding check_settings(std::string const& problem, std::vector<std::string> const& ignored_variables) {
  if (!problem.empty()) return wrong("settings", problem, "mend it: no daemon starts with it");
  if (!ignored_variables.empty())
    return note("settings", "these variables name no setting: " + joined(ignored_variables, " "), "look for a misspelt name");
  return ok("settings", "the file and the variables are read");
}

finding check_home(home_facts const& found) {
  auto const& path = found.path;
  if (!found.problem.empty()) return wrong("home", path + ": " + found.problem, "name another home, or mend that one");
  if (found.is_network) return wrong("home", fmt::format("{} is on {}", path, found.file_system), "name a home on a local disk");
  if (!found.is_there) {
    if (!found.is_writable) return wrong("home", path + " is not there, and you may not make it", "name another home with --home");
  } else if (!found.is_directory) {
    return wrong("home", path + " is not a directory", "remove it, or name another home");
  } else if (found.owner != found.wanted_owner) {
    return wrong("home", fmt::format("{} belongs to uid {}, wanted {}", path, found.owner, found.wanted_owner),
                 "name another home, or run as its owner");
  } else if ((found.mode & 0077) != 0) {
    return wrong("home", fmt::format("{} has mode {:04o}, wanted 0700: others may enter it", path, found.mode),
                 "chmod 700 " + shell_word(path));
  } else if (!found.is_writable) {
    return wrong("home", path + " is not writable", "mount it writable, or name another home");
  }
  auto const room = fmt::format("{}, {} free", found.file_system, size(found.free_bytes));
  auto const needed = least_disk + expected(found.kernels) * disk_of_kernel;
  if (found.free_bytes < least_disk)
    return wrong("home", fmt::format("{}: {}", path, room),
                 "free some room: each kernel needs about 1 MiB there, output and results more");
  if (found.free_bytes < needed)
    return note("home", fmt::format("{}: {}; {} kernels need {}", path, room, expected(found.kernels), size(needed)),
                "free some room, or lower max_kernels");
  if (found.is_doubtful)
    return note("home", fmt::format("{}: {}", path, room), "locks and mapped files may fail there: a local disk is safer");
  if (!found.is_there) return note("home", fmt::format("{} is not there yet: {}", path, room), "nothing: the first run makes it");
  return ok("home", fmt::format("{}: {}, yours alone", path, room));
}

finding check_daemon(daemon_facts const& found) {
  if (found.answered && found.lock_holder && *found.answered != *found.lock_holder)
    return wrong("daemon", fmt::format("pid {} answers, but pid {} has the home", *found.answered, *found.lock_holder),
                 fmt::format("end the one that should not be there; see {}", found.log));
  if (found.answered) return ok("daemon", fmt::format("pid {} answers", *found.answered));
  if (found.lock_holder)
    return wrong(
        "daemon", fmt::format("pid {} has the home and does not answer: {}", *found.lock_holder, found.problem),
        fmt::format("see {}; an embedding gateway that does not listen is well; kill -9 {} loses nothing that was accepted",
                    found.log, *found.lock_holder));
  if (found.has_socket)
    return note("daemon", "none runs; the socket of one that was killed is there", "nothing: the next start replaces it");
  return ok("daemon", "none runs; run, wait and logs start one");
}

finding check_python(python_facts const& found) {
  if (found.path.empty())
    return wrong("python", found.wanted + " is not there", "install it, or name one with --python or the setting python");
  auto const name = found.path == found.wanted ? found.path : fmt::format("{} ({})", found.wanted, found.path);
  if (!found.problem.empty())
    return wrong("python", name + " " + found.problem, "name one that runs with --python or the setting python");
  auto const version = fmt::format("{}.{}.{}", found.major, found.minor, found.micro);
  if (found.major != 3 || found.minor < oldest_minor)
    return wrong("python", fmt::format("{} is {}, wanted 3.{} to 3.{}", name, version, oldest_minor, newest_minor),
                 "name a newer one with --python or the setting python");
  if (!found.missing.empty())
    return wrong("python", fmt::format("{} {} lacks {}", name, version, joined(found.missing, ", ")),
                 "install the whole standard library of that python");
  if (!found.preload_missing.empty())
    return wrong("python",
                 fmt::format("{} {} cannot import what preload names: {}", name, version, joined(found.preload_missing, ", ")),
                 "install it there, or take it out of preload");
  if (found.minor > newest_minor)
    return note("python", fmt::format("{} is {}", name, version), fmt::format("3.{} is the newest that is tested", newest_minor));
  return ok("python", fmt::format("{} is {}", name, version));
}

std::vector<finding> check_limits(limit_facts const& found) {
  auto const kernels = expected(found.kernels);
  auto const for_kernels = fmt::format("{} kernels", kernels);
  std::vector<finding> all;

  auto const files = kernels * descriptors_of_kernel + descriptors_of_daemon;
  auto const open_files = fmt::format("{} open files, {} at most", found.files_soft, found.files_hard);
  if (found.files_hard < files)
    all.push_back(wrong("files", fmt::format("{}; {} need {}", open_files, for_kernels, files),
                        "raise the hard limit (ulimit -Hn, LimitNOFILE=), or lower max_kernels"));
  else
    all.push_back(ok("files", open_files + (found.files_soft < files ? "; the daemon raises it" : "")));

  auto const tasks = kernels * tasks_of_kernel + tasks_of_daemon;
  struct count {
    char const* what;
    std::optional<std::uint64_t> left;
    char const* advice;
  };
  auto const processes_left = found.processes_most
                                  ? std::optional(*found.processes_most - std::min(*found.processes_most, found.processes_now))
                                  : std::nullopt;
  std::optional<finding> scarce;
  for (auto const& each :
       {count{"RLIMIT_NPROC leaves", processes_left, "raise it (ulimit -u, LimitNPROC=), or lower max_kernels"},
        count{"the control group leaves", found.group_pids_left, "raise its pids.max (TasksMax=), or lower max_kernels"},
        count{"kernel.pid_max is", found.pid_max, "sysctl kernel.pid_max=4194304"},
        count{"kernel.threads-max is", found.threads_max, "raise it with sysctl, or lower max_kernels"}})
    if (!scarce && each.left && *each.left < tasks)
      scarce =
          wrong("processes", fmt::format("{} {} processes; {} need {}", each.what, *each.left, for_kernels, tasks), each.advice);
  all.push_back(scarce ? *scarce : ok("processes", fmt::format("enough for {}", for_kernels)));

  if (auto const left = found.group_memory_left) {
    auto const needed = kernels * memory_of_kernel;
    if (*left < needed)
      all.push_back(note("memory",
                         fmt::format("the control group has {} left; {} take {} when idle", size(*left), for_kernels, size(needed)),
                         "raise its memory.max (MemoryMax=), or lower max_kernels or max_memory_mb"));
    else
      all.push_back(ok("memory", fmt::format("the control group has {} left", size(*left))));
  }
  return all;
}

finding check_system(system_facts const& found) {
  if (!found.has_proc)
    return wrong("system", "/proc tells nothing of processes", "mount it: no kernel can be told from another process without");
  if (!found.pidfd_problem.empty())
    return wrong("system", "pidfd_open fails: " + found.pidfd_problem,
                 "Linux 5.3 or newer is needed, and a seccomp filter that lets pidfd_open and pidfd_send_signal through");
  if (!found.has_boot_id)
    return wrong("system", "/proc/sys/kernel/random/boot_id cannot be read", "let it be read: a reboot could not be told without");
  return ok("system", "/proc and pidfd work");
}

std::vector<finding> check_leftovers(leftover_facts const& found) {
  std::vector<finding> all;
  std::vector<pid_t> removed, living;
  std::vector<std::string> unknown, dead;
  for (auto const& each : found.kernels) {
    if (each.is_removed)
      removed.insert(removed.end(), each.processes.begin(), each.processes.end());
    else if (found.has_daemon && !each.is_known && !each.processes.empty())
      all.push_back(wrong("leftovers",
                          fmt::format("kernel {} runs and the daemon does not know it: pid {}", each.kernel, pids(each.processes)),
                          fmt::format("it ends by itself after grace_seconds; kill {} ends it now", pids(each.processes))));
    else if (found.has_daemon && !each.is_known)
      unknown.push_back(each.kernel);
    else if (!found.has_daemon && !each.processes.empty())
      living.insert(living.end(), each.processes.begin(), each.processes.end());
    else if (!found.has_daemon)
      dead.push_back(each.kernel);
  }
  if (!removed.empty())
    all.push_back(wrong("leftovers", "processes run whose directory in this home is gone: pid " + pids(removed),
                        "a kernel notices within a second and ends; kill those that stay"));
  if (!unknown.empty())
    all.push_back(wrong("leftovers", "directories of kernels that nobody knows: run/" + joined(unknown, " run/"), "remove them"));
  if (!living.empty())
    all.push_back(
        note("leftovers",
             fmt::format("{} on without a daemon: pid {}",
                         living.size() == 1 ? "1 kernel lives" : fmt::format("{} kernels live", living.size()), pids(living)),
             "holdfast run attaches them; without a daemon they save their variables and end after grace_seconds"));
  if (!dead.empty())
    all.push_back(note("leftovers", counted(static_cast<std::int64_t>(dead.size()), "kernel") + " ended without a daemon",
                       "nothing: the next start reads what they left and tells their sessions"));
  if (all.empty()) all.push_back(ok("leftovers", "none"));
  return all;
}

bool is_well(std::vector<finding> const& all) {
  return std::none_of(all.begin(), all.end(), [](auto const& each) { return each.how == verdict::wrong; });
}

}  // namespace holdfast::cli
