// The server at $HOLDFAST_HOME/holdfast.sock: many clients, one line a request, answered when ready. A broker on the multiplexer thread.
// Collaborators: line_assembler and outbox (what comes in and goes out, bounded), dispatch (what a line means), core_port.
// Refuses other users, endless and unfinished lines, clients that do not read, and more connections than there is room for; none of
// that is felt by another client.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>

#include "actors/base/defaults.hpp"
#include "actors/base/errors.hpp"
#include "actors/front/core_port.hpp"
#include "actors/front/dispatch.hpp"
#include "actors/front/outbox.hpp"

namespace holdfast::front {

struct server_options {
  std::filesystem::path socket = {};
  core_handle core = {};
  call_defaults calls = {};
  std::chrono::milliseconds line_deadline = defaults::line_deadline;
  std::chrono::milliseconds farewell{2000};  // how long a client may take to read what is left once the gateway has ended
  std::size_t max_connections = defaults::max_connections;
  std::size_t max_open_requests = 1024;  // of one connection
  outbox::limits queue = {};
  std::function<void(std::optional<error> const& why)> on_ended =
      {};  // on the multiplexer thread, when the core says that the gateway has ended
};

/// Listens and serves until gateway_ended, then writes out, closes its connections, removes the socket file and quits.
/// Errors: busy when somebody listens there already, unreachable for what the system refuses.
result<caf::actor> start_unix_server(caf::actor_system& system, server_options options);

}  // namespace holdfast::front
