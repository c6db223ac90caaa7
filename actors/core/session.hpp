// The actor of one session: accepts its cells in order, runs them in its kernel, records what becomes of them, tells who waits.
// Collaborators: kernel actor (below it), supervisor (makes and finds it), context. Its inside is session_state.hpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>

#include "actors/base/messages.hpp"
#include "actors/core/context.hpp"
#include "actors/core/session_records.hpp"

namespace holdfast::core {

/// A session.fork that is answered by the new session.
struct fork_reply {
  reply_to to;
  std::vector<std::string> left_behind;  // JSON objects
};

struct session_seed {
  storage::session_record row;
  bool fresh = false;                       // its row is in no store yet
  std::vector<storage::link_record> links;  // the kernels it has by the records
  std::optional<fork_reply> asked = {};     // by what it came to be
  session_records records = {};             // of one that is not fresh
};

/// Makes the actor and enters it into context.sessions. It takes session_call, stop_session_kernel, job_call and wind_down.
caf::actor spawn_session(caf::actor_system& system, shared_context const& shared, session_seed const& seed);

}  // namespace holdfast::core
