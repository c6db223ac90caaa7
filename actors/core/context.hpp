// What the actors of this layer share: settings, stores, who is there. Made by the gateway core, touched on the multiplexer thread only
// (the disk store has the stores too, for commit_disk alone, and tells the metrics). Holds no decisions.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include <caf/actor.hpp>
#include <caf/send.hpp>

#include "actors/base/config.hpp"
#include "actors/base/defaults.hpp"
#include "actors/base/home.hpp"
#include "actors/base/traffic.hpp"
#include "actors/core/disk_barrier.hpp"
#include "actors/core/events.hpp"
#include "actors/core/kernel_roll.hpp"
#include "actors/core/kernel_view.hpp"
#include "actors/core/metrics.hpp"
#include "actors/core/remote_kernels.hpp"
#include "actors/env/per_call_places.hpp"
#include "actors/env/variables.hpp"
#include "storage/stores.hpp"

namespace holdfast::core {

struct context {
  config settings;
  env::variables variables;  // of this process, read once
  std::unique_ptr<home_lock> lock;
  std::unique_ptr<storage::stores> stores;
  storage::unix_ms started_at = 0;
  gateway_metrics metrics;
  event_hub events{metrics};
  std::shared_ptr<traffic const> clients;  // counted by the fronts

  caf::actor supervisor;
  caf::actor disk;   // commit_to_disk
  caf::actor files;  // what may block on files and processes (workers.hpp)
  struct environment {
    caf::actor actor;    // takes actors/env/messages.hpp
    std::string python;  // of kernels that name none
  };
  /// By name: `local` always, the others as they were registered.
  std::map<std::string, environment> environments;
  /// Empty when nobody registered it.
  caf::actor environment_of(std::string const& name) const {
    auto const found = environments.find(name);
    return found == environments.end() ? caf::actor{} : found->second.actor;
  }
  std::string const& python_of(std::string const& environment_name) const {
    auto const found = environments.find(environment_name);
    return found == environments.end() ? settings.python : found->second.python;
  }
  /// Names those that there are.
  error unknown_environment(std::string const& name) const;
  /// What is kept of a kernel that is gone, or never came to be, wherever it was.
  void remove_kernel_files(storage::link_record const& link);

  /// Loaded sessions; others are in the stores only. `face` is valid as long as the entry is there: its actor removes it.
  struct session_entry {
    caf::actor actor;
    session_face* face = nullptr;
  };
  std::unordered_map<session_key, session_entry> sessions;

  /// Rows of `boot` that the supervisor copies to `disk` within flush_to_disk, or as soon as somebody waits for it.
  storage::unmoved_rows to_disk;
  remote_kernels elsewhere;  // of which rows `disk` keeps copies
  disk_barrier barrier;
  void move_later(session_number session, cell_number cell);
  void move_later(session_number session);
  void forget_later(session_number session, notice_id const& told);
  void move_later(storage::unmoved_rows const& rows);  // of kernels elsewhere
  /// Now, or as soon as `disk` has all that is recorded now of kernels elsewhere.
  void once_on_disk(std::function<void()> step, std::function<void(storage::failure const&)> refused = {});
  /// To the actor of an environment that is there: at once to `local`; to another one when `disk` has all that is recorded now of kernels
  /// elsewhere, so that none is told more than a power loss leaves known here.
  template <class Request>
  void send_to_environment(std::string const& name, Request what) {
    auto const to = environment_of(name);
    if (name == "local") return caf::anon_send(to, std::move(what));
    once_on_disk([to, what = std::move(what)] { caf::anon_send(to, what); });
  }

  /// Of cells that run here without a kernel.
  std::shared_ptr<env::per_call_places> interpreters = std::make_shared<env::per_call_places>(defaults::per_call_most);

  std::unique_ptr<kernel_roll> kernels;  // made with the limits of the settings
  bool look_asked = false;               // look_at_kernels is on its way
  void look_at_kernels();

  session_number last_session = 0;  // the highest number ever given
  std::set<session_key> forking;    // names of sessions that forks are about to make: nobody else makes them

  bool shutting_down = false;
  std::size_t not_saved = 0;  // namespaces that were lost with their kernels as the gateway ended these
  std::string farewell = "the daemon was stopped; the cell goes on in its kernel";  // to who waits for a cell when the gateway ends
  bool store_failed = false;  // a write failed: everything is answered with store_failed, and the gateway ends

  std::string path(std::string const& relative) const { return (settings.home / relative).string(); }
  /// One transaction in `boot`; the error is what a request is answered with.
  result<void> commit(storage::changes const& unit);
  /// What a store answered: after `failed` nothing is known of what is on the disk, and the gateway ends. Nothing happens for others.
  void on_refused(storage::failure const& why);

 private:
  /// For what is added to it: the supervisor hears of the first.
  storage::unmoved_rows& moving();
};

/// The file of the saved namespace of a session's slot, relative to the home.
std::string state_path(session_number session, std::uint32_t slot);

/// Wakes the supervisor: something waits in to_disk.
struct move_soon {};
/// The same, and somebody waits for it.
struct move_now {};
/// Wakes the supervisor: kernels or those who wait for one are to be looked at anew.
struct look_at_kernels {};
/// To the supervisor: end, as nothing more can be recorded.
struct end_gateway {
  error why;
};

using shared_context = std::shared_ptr<context>;

/// What loading a session's row, or finding none, answers a request with.
error unknown_session(session_key const& key);
/// For whatever is asked of a session that a fork is about to make.
error being_forked(session_key const& key);
/// For a run that meets the end of its session: a new one may bear the name.
error being_closed(session_key const& key);

}  // namespace holdfast::core

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::move_soon)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::move_now)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::look_at_kernels)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::end_gateway)
