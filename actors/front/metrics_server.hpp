// GET /metrics on a loopback address, for a Prometheus that scrapes: setting `metrics_listen`. A broker on the multiplexer thread that asks
// the core as any front does; one request a connection. Collaborators: http_head (what was asked), core_port.
// Refuses everything else there is in HTTP, heads over 8 KiB, connections that take longer than 10 s, and more than 32 of them.
// (prometheus-cpp's own exposer changes the process's signal dispositions, and two idle clients keep it from answering a third.)
#pragma once

#include <functional>
#include <string>

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>

#include "actors/base/errors.hpp"
#include "actors/front/core_port.hpp"

namespace holdfast::front {

/// Listens at ADDRESS:PORT as config_keys.cpp takes it, until gateway_ended. Errors: busy when somebody has that port, unreachable for
/// what else the system refuses.
result<caf::actor> start_metrics_server(caf::actor_system& system, core_handle core, std::string const& listen,
                                        std::function<void(std::optional<error> const&)> on_ended);

}  // namespace holdfast::front
