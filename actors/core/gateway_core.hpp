// The core as a front sees it: started once per home, asked through route(), ended by a shut_down request.
#pragma once

#include <memory>
#include <vector>

#include <caf/actor_system.hpp>

#include "actors/base/config.hpp"
#include "actors/base/messages.hpp"
#include "actors/base/traffic.hpp"
#include "actors/env/exec_environment.hpp"

namespace holdfast::core {

/// A started core. Give it back before the actor system ends.
struct running;

/// Takes the home's lock, opens the stores, starts the supervisor and begins recovery. `busy` names the process that has the home.
/// `clients` is what the fronts count, for the metrics; `registered`: the environments beside `local`, each under a name of its own.
result<std::shared_ptr<running>> start(caf::actor_system& system, config const& settings, std::shared_ptr<traffic const> clients,
                                       std::vector<env::exec_registration> const& registered = {});

/// All three: on the multiplexer thread only, that is, from a broker. They never answer before they return.
void route(running& core, session_call call);
void route(running& core, supervisor_call call);
void route(running& core, connection_closed closed);

}  // namespace holdfast::core
