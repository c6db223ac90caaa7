// The process of wire_peer.py: starts it, hands it connections, reads its last words, and never leaves it behind.
#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

namespace holdfast::link::test {

class python_peer {
 public:
  /// Runs `$HOLDFAST_PYTHON` or python3 of PATH. `defect`: one that it is to have; empty: none.
  python_peer(std::uint64_t frames, std::string const& token, std::string const& defect);
  python_peer(python_peer const&) = delete;
  python_peer& operator=(python_peer const&) = delete;
  ~python_peer();

  /// Our end of a new connection, non-blocking; the peer's end replaces the one that it had. The caller closes it.
  int connect();
  /// Ends the peer's input and answers what it printed: one JSON object, or nothing if it failed.
  std::string finish();

 private:
  pid_t pid_ = -1;    // -1: reaped
  int control_ = -1;  // our end; -1: the peer was told to finish
  int printed_ = -1;  // read end of its standard output
};

}  // namespace holdfast::link::test
