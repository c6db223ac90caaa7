// An environment behind a callback that runs a command to its end: kernels, nurseries, sockets and program are on its far side, and each
// request is one such command (a relay). Runs on the multiplexer thread; the callback on threads of its own, bounded in number.
// Refuses to conclude anything from a command that failed: its kernel is unreachable.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>

#include "actors/base/config.hpp"
#include "actors/env/messages.hpp"

namespace holdfast::env {

struct exec_command {
  std::vector<std::string> argv;
  std::string cwd;  // empty: wherever
  std::chrono::milliseconds timeout{0};
  std::string input;
};
struct exec_outcome {
  std::string output;
  int returncode = 0;
};

/// What an embedder registers.
struct exec_registration {
  std::string name;
  std::string directory;                 // over there, where all is kept; ~ is the user's home
  std::string python;                    // over there, for relays and for kernels that name none
  std::chrono::milliseconds longest{0};  // of one command
  /// Blocks; any thread, several at once. An exception is a failure.
  std::function<exec_outcome(exec_command const&)> execute;
};

struct exec_options {
  config settings;
  std::string home_id;
  std::uint64_t incarnation = 0;
  exec_registration registered;
};

/// An actor that takes the messages of actors/env/messages.hpp.
caf::actor spawn_exec_environment(caf::actor_system& system, exec_options options);

}  // namespace holdfast::env
