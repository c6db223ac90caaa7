// The actor of one kernel: its process, its link, its attach machine (lifecycle.hpp). A channel, not a judge: what frames mean and what is
// recorded is its session's. Runs on the multiplexer thread. Refuses to conclude anything from silence.
#pragma once

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>

#include "actors/core/context.hpp"
#include "actors/core/messages.hpp"
#include "actors/env/messages.hpp"

namespace holdfast::core {

struct kernel_plan {
  storage::link_record row;
  caf::actor session;
  /// For an intended link: asked of the environment. None: attach the process of the row.
  std::optional<env::spawn_kernel> spawn;
  /// It is ended and not attached: an orphan whose time has come. Tried until its process is proven gone.
  bool ends = false;
};

caf::actor spawn_kernel_actor(caf::actor_system& system, shared_context shared, kernel_plan plan);

}  // namespace holdfast::core
