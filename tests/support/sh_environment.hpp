// The run-to-completion contract for real, on this machine: `/bin/sh -c LINE`, with a directory of its own for the far side and nothing of
// this process's environment but PATH and a HOME in that directory. Counts what is asked of it, and can be cut off.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "holdfast/holdfast.hpp"
#include "tests/support/operation_gate.hpp"
#include "tests/support/temporary_directory.hpp"

namespace holdfast::test {

class sh_environment : public exec_environment {
 public:
  /// The word behind "operation" in a request, such as carry.
  static std::string operation_of(std::string const& input) {
    constexpr std::string_view key = "\"operation\":\"";
    auto const at = input.find(key);
    if (at == std::string::npos) return {};
    return input.substr(at + key.size(), input.find('"', at + key.size()) - at - key.size());
  }

  outcome execute(command const& what) override {
    auto const operation = operation_of(what.input);
    {
      std::lock_guard const lock(mutex_);
      operations_.push_back(operation);
      if (look_) look_(what);
    }
    gate.pass(operation);
    if (is_cut_off_) return {"", 255};
    return run(what);
  }
  std::chrono::milliseconds longest_command() const override { return longest; }
  std::string directory() const override { return (place_ / "far").string(); }

  /// How many commands there were of that operation; of all, without one.
  std::size_t count(std::string const& operation = {}) const {
    std::lock_guard const lock(mutex_);
    if (operation.empty()) return operations_.size();
    return static_cast<std::size_t>(std::count(operations_.begin(), operations_.end(), operation));
  }
  void cut_off(bool is_cut_off) { is_cut_off_ = is_cut_off; }
  /// Called with each command before it runs.
  void look_at(std::function<void(command const&)> look) {
    std::lock_guard const lock(mutex_);
    look_ = std::move(look);
  }
  std::chrono::milliseconds longest{40'000};
  operation_gate gate;
  std::filesystem::path const& place() const { return place_.path(); }

 private:
  outcome run(command const& what) const {
    std::array<int, 2> in{}, out{};
    if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    auto const line = what.shell_line();
    auto const home = "HOME=" + place_.path().string();
    std::array<char const*, 4> argv{"/bin/sh", "-c", line.c_str(), nullptr};
    std::array<char const*, 3> environment{"PATH=/usr/local/bin:/usr/bin:/bin", home.c_str(), nullptr};
    auto const pid = ::fork();
    if (pid == 0) {
      ::setpgid(0, 0);
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      ::execve(argv[0], const_cast<char* const*>(argv.data()), const_cast<char* const*>(environment.data()));
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    ::fcntl(in[1], F_SETFL, O_NONBLOCK);
    auto done = exchange(what, in[1], out[0]);
    if (done.returncode != 0) ::kill(-pid, SIGKILL);
    int status = 0;
    ::waitpid(pid, &status, 0);
    if (done.returncode == 0) done.returncode = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return done;
  }

  static outcome exchange(command const& what, int in, int out) {
    using clock = std::chrono::steady_clock;
    auto const until = clock::now() + what.timeout;
    outcome done;
    std::size_t written = 0;
    std::array<char, 65536> buffer{};
    if (what.input.empty()) {
      ::close(in);
      in = -1;
    }
    while (true) {
      auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(until - clock::now()).count();
      std::array<pollfd, 2> watched{pollfd{out, POLLIN, 0}, pollfd{in, POLLOUT, 0}};
      if (left <= 0 || ::poll(watched.data(), in < 0 ? 1 : 2, static_cast<int>(left)) == 0) {
        done.returncode = 124;
        break;
      }
      if (in >= 0 && watched[1].revents != 0) {
        auto const sent = ::write(in, what.input.data() + written, what.input.size() - written);
        if (sent > 0) written += static_cast<std::size_t>(sent);
        if (sent < 0 || written == what.input.size()) {
          ::close(in);
          in = -1;
        }
      }
      if (watched[0].revents == 0) continue;
      auto const got = ::read(out, buffer.data(), buffer.size());
      if (got <= 0) break;
      done.output.append(buffer.data(), static_cast<std::size_t>(got));
    }
    if (in >= 0) ::close(in);
    ::close(out);
    return done;
  }

  temporary_directory place_;
  mutable std::mutex mutex_;
  std::vector<std::string> operations_;  // in the order of their calls
  std::function<void(command const&)> look_;
  std::atomic<bool> is_cut_off_{false};
};

}  // namespace holdfast::test
