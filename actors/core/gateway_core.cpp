#include "actors/core/gateway_core.hpp"

#include <sys/resource.h>

#include <caf/send.hpp>

#include "actors/base/clock.hpp"
#include "actors/base/failpoints.hpp"
#include "actors/base/identity.hpp"
#include "actors/base/log.hpp"
#include "actors/core/context.hpp"
#include "actors/core/kernel_keeper.hpp"
#include "actors/core/supervisor.hpp"
#include "actors/core/workers.hpp"
#include "actors/env/local_environment.hpp"

namespace holdfast::core {

struct running {
  shared_context shared;
  caf::actor supervisor;  // context lets go of its own when the gateway ends
};

namespace {

/// Each kernel costs two descriptors here: a socket and a pidfd.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

result<std::shared_ptr<running>> start(caf::actor_system& system, config const& settings, std::shared_ptr<traffic const> clients,
                                       std::vector<env::exec_registration> const& registered) {
  if (auto prepared = prepare_home(settings.home); !prepared) return tl::unexpected(std::move(prepared.error()));
  auto lock = home_lock::acquire(settings.home);
  if (!lock) return tl::unexpected(std::move(lock.error()));
  if (auto armed = arm_failpoints(settings.failpoints, settings.failpoint_log); !armed)
    return tl::unexpected(std::move(armed.error()));
  raise_descriptor_limit();

  storage::options options;
  options.home = settings.home;
  options.boot_id = boot_id();
  options.machine_id = machine_id();
  options.failpoint = [](std::string_view name) { return failpoint(name); };
  auto stores = storage::stores::open(options);
  if (!stores) return tl::unexpected(from_storage(stores.error()));

  auto shared = std::make_shared<context>();
  shared->settings = settings;
  shared->clients = std::move(clients);
  shared->variables = current_environment();
  shared->lock = std::make_unique<home_lock>(std::move(*lock));
  shared->stores = std::move(*stores);
  shared->kernels = std::make_unique<kernel_roll>(limits_of(settings), [raw = shared.get()] { raw->look_at_kernels(); });
  shared->started_at = now_ms();
  auto const& found = shared->stores->found();
  shared->events.begin(found.incarnation);
  log::info("gateway-started", "home {} incarnation {}{}", settings.home.string(), found.incarnation,
            found.boot_discarded ? "; the system was booted since: local kernels are gone" : "");

  if (found.boot_kept_rows) log::warn("move-incomplete", "disk has no room for what boot holds: the next start moves the rest");
  if (found.links_forgotten > 0) log::info("home-copied", "left {} kernels of another daemon's home alone", found.links_forgotten);

  auto plan = plan_recovery(*shared->stores);
  if (!plan) return tl::unexpected(std::move(plan.error()));

  shared->disk = spawn_disk_store(system, shared);
  shared->files = spawn_file_worker(system);
  // It may outlive the stores for as long as nurseries take to end: then their rows are left to the next start.
  auto const record = [weak = std::weak_ptr(shared)](storage::changes const& unit) {
    auto const there = weak.lock();
    return there && there->commit(unit).has_value();
  };
  shared->environments["local"] = {
      env::spawn_local_environment(system, {settings, found.home.id, found.incarnation, shared->variables, record}),
      settings.python};
  for (auto const& each : registered)
    shared->environments[each.name] = {env::spawn_exec_environment(system, {settings, found.home.id, found.incarnation, each}),
                                       each.python};
  auto core = std::make_shared<running>();
  core->shared = shared;
  core->supervisor = spawn_supervisor(system, shared, std::move(*plan));
  return core;
}

void route(running& core, session_call call) {
  auto loaded = core.shared->sessions.find(call.key);
  // A session that its supervisor is still making has no face yet: its calls go the same way as the first one, in order.
  auto const& to = loaded != core.shared->sessions.end() && loaded->second.actor ? loaded->second.actor : core.supervisor;
  caf::anon_send(to, std::move(call));
}

void route(running& core, supervisor_call call) { caf::anon_send(core.supervisor, std::move(call)); }

void route(running& core, connection_closed closed) { caf::anon_send(core.supervisor, std::move(closed)); }

}  // namespace holdfast::core
