#include "bench/processes.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
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
  all.reserve(words.size() + 1);
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

pid_t start_program(std::vector<std::string> const& argv, std::map<std::string, std::string> const& variables, int standard_input,
                    int standard_error) {
  auto words = argv;
  std::vector<std::string> environment;
  for (char** each = environ; *each; ++each)
    if (std::strncmp(*each, "HOLDFAST_", 9) != 0) environment.emplace_back(*each);
  for (auto const& [name, value] : variables) environment.push_back(name + "=" + value);

  auto const arguments = pointers(words), variables_of_it = pointers(environment);
  int const null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  auto const child = ::fork();
  if (child < 0) throw std::runtime_error("cannot start " + argv.front() + ": " + std::strerror(errno));
  if (child == 0) {
    // Only what is safe after a fork beside other threads. A daemon must not outlive a benchmark that is killed.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(standard_input >= 0 ? standard_input : null, STDIN_FILENO);
    ::dup2(null, STDOUT_FILENO);
    if (standard_error >= 0) ::dup2(standard_error, STDERR_FILENO);
    ::execvpe(arguments.front(), arguments.data(), variables_of_it.data());
    ::_exit(127);
  }
  ::close(null);
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

double processor_time(pid_t process) {
  clockid_t its_clock;
  timespec used{};
  if (::clock_getcpuclockid(process, &its_clock) != 0 || ::clock_gettime(its_clock, &used) != 0)
    throw std::runtime_error("process " + std::to_string(process) + " is gone");
  return static_cast<double>(used.tv_sec) * 1e6 + static_cast<double>(used.tv_nsec) / 1e3;
}

void confine(pid_t process, unsigned processor) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(processor, &only);
  for (auto const& thread : fs::directory_iterator(directory_of(process) / "task"))
    ::sched_setaffinity(std::stoi(thread.path().filename()), sizeof(only), &only);
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
