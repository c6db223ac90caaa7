#include "bench/processes.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

extern char** environ;

namespace holdfast::bench {

namespace fs = std::filesystem;

namespace {

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (auto& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

std::string contents(fs::path const& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The value in kB of a line `name:  N kB`; 0 when there is none.
std::uint64_t kilobytes(std::string const& text, std::string const& name) {
  auto const at = text.find("\n" + name + ":");
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + name.size() + 2, nullptr, 10) * 1024;
}

fs::path directory_of(pid_t process) { return "/proc/" + std::to_string(process); }

/// Kills through a pidfd, and looks at the process after opening it: its number cannot change hands in between.
bool kill_if_names(pid_t process, std::string const& path) {
  auto const descriptor = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
  if (descriptor < 0) return false;
  bool const is_ours = contents(directory_of(process) / "cmdline").find(path + "/") != std::string::npos;
  if (is_ours) ::syscall(SYS_pidfd_send_signal, descriptor, SIGKILL, nullptr, 0);
  ::close(descriptor);
  return is_ours;
}

/// Whether it found any.
bool kill_all_that_name(std::string const& path) {
  bool found = false;
  std::error_code ended;  // a process may end while it is looked at
  for (auto const& entry : fs::directory_iterator("/proc", ended)) {
    auto const name = entry.path().filename().string();
    pid_t process = 0;
    auto const [end, problem] = std::from_chars(name.data(), name.data() + name.size(), process);
    if (problem != std::errc{} || end != name.data() + name.size() || process == ::getpid()) continue;
    found = kill_if_names(process, path) || found;
  }
  return found;
}

}  // namespace

pid_t start_program(std::vector<std::string> const& argv, std::map<std::string, std::string> const& variables, int standard_input) {
  auto words = argv;
  std::vector<std::string> environment;
  for (char** each = environ; *each; ++each)
    if (std::strncmp(*each, "HOLDFAST_", 9) != 0) environment.emplace_back(*each);
  for (auto const& [name, value] : variables) environment.push_back(name + "=" + value);

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  if (standard_input >= 0) ::posix_spawn_file_actions_adddup2(&actions, standard_input, STDIN_FILENO);
  else ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  int const problem =
      ::posix_spawnp(&child, words.front().c_str(), &actions, nullptr, pointers(words).data(), pointers(environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (problem != 0) throw std::runtime_error("cannot start " + argv.front() + ": " + std::strerror(problem));
  return child;
}

void kill_child(pid_t child) {
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

memory resident(pid_t process) {
  auto const text = contents(directory_of(process) / "status");
  return {kilobytes(text, "RssAnon"), kilobytes(text, "RssFile") + kilobytes(text, "RssShmem")};
}

memory proportional(pid_t process) {
  auto const text = contents(directory_of(process) / "smaps_rollup");
  auto const anonymous = kilobytes(text, "Pss_Anon");
  return {anonymous, kilobytes(text, "Pss") - anonymous};
}

scratch_directory::scratch_directory() {
  auto name = (fs::temp_directory_path() / "holdfast-bench-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot create " + name + ": " + std::strerror(errno));
  path_ = name;
}

scratch_directory::~scratch_directory() {
  // Again until there is none: a nursery may have forked while the list was read.
  for (int round = 0; round < 500 && kill_all_that_name(path_.string()); ++round)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

bool scratch_directory::kill(pid_t process) const { return kill_if_names(process, path_.string()); }

}  // namespace holdfast::bench
