#include "bench/daemon.hpp"

#include <fcntl.h>
#include <sys/wait.h>

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>
#include <utility>

#include "actors/base/unique_fd.hpp"
#include "bench/processes.hpp"

namespace holdfast::bench {

daemon_process::daemon_process(std::filesystem::path home) : home_(std::move(home)) { start(); }

daemon_process::~daemon_process() { kill(); }

void daemon_process::kill() {
  client_.reset();
  if (pid_ > 0) kill_child(std::exchange(pid_, -1));
}

void daemon_process::start() {
  auto const said = home_.string() + ".said";
  unique_fd const errors(::open(said.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  // Without a cap: a kernel that is hibernated in the midst of a measurement is another measurement.
  pid_ = start_program({HOLDFAST_BENCH_DAEMON, "--home", home_.string(), "serve"},
                       {{"HOLDFAST_GRACE_SECONDS", grace_seconds}, {"HOLDFAST_MAX_KERNELS", "0"}}, -1, errors.get());
  auto const deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    auto connected = front::client::connect(home_ / "holdfast.sock", patience);
    if (connected) {
      client_.emplace(*std::move(connected));
      return;
    }
    bool const has_ended = ::waitpid(pid_, nullptr, WNOHANG) == pid_;
    if (has_ended) pid_ = -1;
    if (has_ended || std::chrono::steady_clock::now() > deadline) {
      std::ifstream words(said);
      throw std::runtime_error("no daemon: " + connected.error().message +
                               "; it said: " + std::string{std::istreambuf_iterator<char>(words), {}});
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

boost::json::value daemon_process::call(std::string_view method, boost::json::object params) {
  auto answered = client_->call(method, std::move(params), patience);
  if (!answered) throw std::runtime_error(std::string(method) + ": " + answered.error().message);
  return *std::move(answered);
}

boost::json::value daemon_process::run(std::string const& session, std::string const& code) {
  return call("run", {{"session", session}, {"code", code}});
}

}  // namespace holdfast::bench
