// A nursery and its kernels without a daemon: what they cost alone. The difference to the same through a gateway is the gateway's.
// Speaks docs/wire.md by blocking calls; records nothing, and acks what comes with the next frame that goes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "actors/link/decoder.hpp"
#include "actors/link/messages.hpp"

namespace holdfast::bench {

/// An attached connection. Every failure, a wait of 30 s included, is thrown.
class direct_link {
 public:
  direct_link(std::filesystem::path const& socket, std::string const& id, std::string const& token);
  direct_link(direct_link const&) = delete;
  direct_link& operator=(direct_link const&) = delete;
  ~direct_link();

  void send(std::string const& payload);
  /// The payload of the next frame that has one.
  std::string receive();

 private:
  void write(std::uint64_t seq, std::string const& payload);

  int fd_ = -1;
  link::decoder decoder_;
  std::uint64_t sent_ = 0;      // seq of the newest frame sent
  std::uint64_t received_ = 0;  // seq of the newest frame received
};

class direct_kernel {
 public:
  direct_kernel(std::filesystem::path const& directory, link::spawned const& born, std::string const& token);

  /// The result of a cell.
  link::done run(std::string const& code);
  /// Returns once the cell runs.
  void start(std::string const& code);
  pid_t pid() const { return born_.pid; }
  kernel_id const& id() const { return born_.kernel; }

 private:
  void execute(std::string const& code);

  link::spawned born_;
  direct_link link_;
  std::uint64_t generation_ = 0;
};

class direct_nursery {
 public:
  /// Works in the directory, which its owner cleans away with the processes in it.
  explicit direct_nursery(std::filesystem::path home);

  struct birth {
    std::filesystem::path directory;
    link::spawned born;
  };
  /// Forks a kernel that listens.
  birth spawn();
  direct_kernel attach(birth const& kernel);
  /// Returns at the nursery's report of that kernel's death.
  void wait_exited(kernel_id const& kernel);

 private:
  /// Starts it; its socket.
  std::filesystem::path start();

  std::filesystem::path home_;
  std::string token_;  // of the nursery and of its kernels
  direct_link link_;
  std::uint64_t kernels_ = 0;  // spawned so far
};

}  // namespace holdfast::bench
