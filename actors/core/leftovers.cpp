#include "actors/core/leftovers.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "actors/base/defaults.hpp"
#include "actors/base/unique_fd.hpp"
#include "actors/link/crc32.hpp"

namespace holdfast::core {

namespace {

std::string read_all(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

/// Field 6 of /proc/PID/stat; 0 when it cannot be read.
pid_t session_of(pid_t pid) {
  auto const text = read_all("/proc/" + std::to_string(pid) + "/stat");
  auto const name_end = text.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  char state = 0;
  pid_t parent = 0, group = 0, session = 0;
  fields >> state >> parent >> group >> session;
  return session;
}

/// The kernel's number, as docs/wire.md says: what descends from it has it as its soft limit of file locks.
std::uint64_t number_of(std::string const& kernel) {
  std::string const reversed(kernel.rbegin(), kernel.rend());
  return (std::uint64_t{1} << 60) | ((std::uint64_t{link::crc32(kernel)} << 28) ^ link::crc32(reversed));
}

bool has_number(pid_t pid, std::uint64_t number) {
  constexpr std::string_view name = "Max file locks";
  auto const limits = read_all("/proc/" + std::to_string(pid) + "/limits");
  auto const at = limits.find(name);
  if (at == std::string::npos) return false;
  std::istringstream soft(limits.substr(at + name.size()));
  std::uint64_t found = 0;
  return (soft >> found) && found == number;
}

/// What a process of a kernel bears, whatever became of its session.
struct brand {
  std::string mark;      // in its environment
  std::uint64_t number;  // as a limit
};

bool has_variable(pid_t pid, std::string const& entry) {
  auto const environment = '\0' + read_all("/proc/" + std::to_string(pid) + "/environ");
  return environment.find('\0' + entry + '\0') != std::string::npos;
}

bool is_marked(pid_t pid, brand const& of) { return has_number(pid, of.number) || has_variable(pid, of.mark); }

struct leftover {
  pid_t pid;
  unique_fd pidfd;
};

std::vector<pid_t> other_processes() {
  std::vector<pid_t> found;
  std::error_code problem;
  for (auto const& entry : std::filesystem::directory_iterator("/proc", problem)) {
    auto const name = entry.path().filename().string();
    pid_t pid = 0;
    auto const [end, failed] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (failed == std::errc{} && *end == '\0' && pid > 1 && pid != ::getpid()) found.push_back(pid);
  }
  return found;
}

/// Adds those that `belong`, looked at again behind a pidfd: the number may have changed hands in between.
template <class Belongs>
void take_hold(std::vector<pid_t> const& among, Belongs belongs, std::vector<leftover>& into) {
  for (auto const pid : among) {
    if (!belongs(pid)) continue;
    unique_fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (pidfd && belongs(pid)) into.push_back({pid, std::move(pidfd)});
  }
}

void send_signal(std::vector<leftover> const& all, int number) {
  for (auto const& each : all) ::syscall(SYS_pidfd_send_signal, each.pidfd.get(), number, nullptr, 0);
}

/// Whether all of them have ended within that time.
bool have_ended(std::vector<leftover> const& all, std::chrono::milliseconds within) {
  auto const until = std::chrono::steady_clock::now() + within;
  for (auto const& each : all) {
    auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd ended{each.pidfd.get(), POLLIN, 0};
    if (::poll(&ended, 1, static_cast<int>(std::max<std::int64_t>(0, left.count()))) != 1) return false;
  }
  return true;
}

/// TERM, 250 ms, KILL; whether all of them have ended.
bool end_all(std::vector<leftover> const& all) {
  send_signal(all, SIGTERM);
  if (have_ended(all, defaults::leftover_grace)) return true;
  send_signal(all, SIGKILL);
  return have_ended(all, defaults::leftover_grace);
}

}  // namespace

std::vector<pid_t> end_leftovers(kernel_id const& kernel, pid_t kernel_pid) {
  brand const mark{"HOLDFAST_KERNEL=" + kernel.text, number_of(kernel.text)};
  std::vector<leftover> found;
  auto const all = other_processes();
  take_hold(
      all, [&](pid_t pid) { return is_marked(pid, mark); }, found);
  // Its session's number is the kernel's as long as a marked process is in it, and anybody's afterwards.
  auto const pins = [&](leftover const& each) { return session_of(each.pid) == kernel_pid; };
  if (std::any_of(found.begin(), found.end(), pins))
    take_hold(
        all, [&](pid_t pid) { return session_of(pid) == kernel_pid && !is_marked(pid, mark); }, found);
  std::vector<pid_t> pids;
  pids.reserve(found.size());
  for (auto const& each : found) pids.push_back(each.pid);
  end_all(found);
  return pids;
}

job_end end_job(job_id const& job) {
  auto const mark = "HOLDFAST_JOB=" + job.text;
  std::vector<leftover> found;
  take_hold(
      other_processes(), [&](pid_t pid) { return has_variable(pid, mark); }, found);
  if (found.empty()) return job_end::none_found;
  return end_all(found) ? job_end::ended : job_end::some_left;
}

}  // namespace holdfast::core
