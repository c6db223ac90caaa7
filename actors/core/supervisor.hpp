// The supervisor: finds or makes sessions, lists what there is, recovers everything at start, moves rows to `disk`, ends the gateway.
// Collaborators: session (one actor each), the disk store, the environment. Never on the path of a cell whose session is loaded.
#pragma once

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>

#include "actors/core/context.hpp"
#include "actors/core/recovery.hpp"

namespace holdfast::core {

/// Takes session_call for sessions that are not loaded, supervisor_call and connection_closed. Begins recovery at once.
caf::actor spawn_supervisor(caf::actor_system& system, shared_context const& shared, recovery_plan const& plan);

}  // namespace holdfast::core
