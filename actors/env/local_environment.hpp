// The environment `local`: kernels as children of nurseries on this machine, one nursery per interpreter and interpreter variables.
// Collaborators: start_nursery (in a detached actor), socket_link, the stores through `record`. Runs on the multiplexer thread.
// Refuses to guess: a nursery that cannot be reached is retried; only proof of its absence makes another one.
#pragma once

#include <functional>

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>

#include "actors/base/config.hpp"
#include "actors/env/messages.hpp"
#include "actors/env/variables.hpp"

namespace holdfast::env {

struct local_options {
  config settings;
  std::string home_id;
  std::uint64_t incarnation = 0;
  variables gateway_variables;  // of this process, read once
  /// Commits to `boot`, on the multiplexer thread; false: it failed.
  std::function<bool(storage::changes const&)> record;
};

/// An actor that takes the messages of actors/env/messages.hpp.
caf::actor spawn_local_environment(caf::actor_system& system, local_options options);

}  // namespace holdfast::env
