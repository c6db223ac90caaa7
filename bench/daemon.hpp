// `holdfast serve` as a benchmark sees it: a child process on a home of its own, killed and started again, and one client of it.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "actors/front/client.hpp"

namespace holdfast::bench {

inline constexpr std::chrono::seconds patience{30};  // for one answer; above it the benchmark fails

class daemon_process {
 public:
  /// Starts it and returns once it answers.
  explicit daemon_process(std::filesystem::path home);
  daemon_process(daemon_process const&) = delete;
  daemon_process& operator=(daemon_process const&) = delete;
  ~daemon_process();

  /// SIGKILL; its kernels live on.
  void kill();
  /// After kill(): starts it and returns once it takes connections. What it says while it starts is thrown if it ends instead.
  void start();

  pid_t pid() const { return pid_; }
  front::client& client() { return *client_; }
  /// What the daemon answers; its error is thrown.
  boost::json::value call(std::string_view method, boost::json::object params = {});
  /// The result object of a final cell.
  boost::json::value run(std::string const& session, std::string const& code);

 private:
  std::filesystem::path home_;
  pid_t pid_ = -1;                       // -1: not running
  std::optional<front::client> client_;  // connected exactly while the daemon runs
};

}  // namespace holdfast::bench
