// The bare ping-pong that `1+1` is compared to: one JSON frame each way between this process and a Python process over a unix
// socket, the Python side evaluating the cell.
#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

namespace holdfast::bench {

class bare_ping_pong {
 public:
  bare_ping_pong();
  bare_ping_pong(bare_ping_pong const&) = delete;
  bare_ping_pong& operator=(bare_ping_pong const&) = delete;
  ~bare_ping_pong();

  /// The value of the expression.
  std::string run(std::string const& code);
  pid_t pid() const { return peer_; }

 private:
  int link_ = -1;
  pid_t peer_ = -1;
  std::uint64_t seq_ = 0;  // of the newest frame sent
};

}  // namespace holdfast::bench
