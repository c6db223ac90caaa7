// Interface of an environment actor: who asks for kernels, and what it is told. Asked by kernel actors and the supervisor only.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <caf/actor.hpp>
#include <caf/allowed_unsafe_message_type.hpp>

#include "actors/base/caf.hpp"
#include "actors/base/errors.hpp"
#include "actors/link/messages.hpp"
#include "actors/link/relay_link.hpp"
#include "storage/records.hpp"

namespace holdfast::env {

/// Starts the kernel of an intended link, or finds it if it was started already (idempotent by kernel id). `asker` gets kernel_spawned
/// or spawn_refused, within the spawn deadline or once its nursery is up.
struct spawn_kernel {
  caf::actor asker;
  kernel_id kernel;
  std::string token;
  std::string directory;                         // the run directory, relative to the home
  std::string python;                            // empty: the configured one
  std::vector<std::string> tools;                // that its cells can import
  std::string cwd;                               // empty: the home of the user
  std::map<std::string, std::string> variables;  // the session's own, over the environment's
  std::string state;                             // where it saves its namespace at the end of its grace, relative to the home
  std::uint32_t attempts = 0;                    // nurseries that died with this request
};
struct kernel_spawned {
  nursery_id nursery;
  std::string python;   // the resolved interpreter
  std::string program;  // digest of what it runs
  storage::process_identity process;
};
struct spawn_refused {
  error problem;
};

/// A kernel is proven dead: `asker` gets exit_known once its nursery has reported, or without a report when that nursery is gone
/// or says nothing within exit_report_deadline.
struct await_exit {
  caf::actor asker;
  kernel_id kernel;
  nursery_id nursery;
  storage::process_identity process;
  std::string state;  // where it saved its namespace, relative to the home; an environment out of reach of our files looks there
};
struct exit_known {
  /// The file of its session's namespace, where that is out of reach of our files: not necessarily its own.
  struct state_file {
    std::uint64_t bytes = 0;
    storage::unix_ms written_at = 0;
  };
  std::optional<link::exited> report = {};
  std::optional<state_file> state = {};
};

// ---- of environments that are reached by commands only ----

/// Whether a thread has taken a command, and when. A thread takes it or its owner withdraws it: whoever comes first.
class command_start {
 public:
  /// False: it was withdrawn.
  bool take(steady_time now) { return settle(now); }
  /// False: it was taken.
  bool withdraw() { return settle(steady_time::max()); }
  /// It waits anew.
  void reset() { at_ = steady_time{}; }
  /// None: it waits, or was withdrawn.
  std::optional<steady_time> taken_at() const {
    auto const at = at_.load();
    return at == steady_time{} || at == steady_time::max() ? std::nullopt : std::optional(at);
  }

 private:
  bool settle(steady_time at) {
    auto waits = steady_time{};
    return at_.compare_exchange_strong(waits, at);
  }
  std::atomic<steady_time> at_{steady_time{}};  // the epoch: it waits; the maximum: withdrawn
};
/// One trip of a relay_link; `asker` gets carried with the same number.
struct carry {
  caf::actor asker;
  kernel_id kernel;
  storage::process_identity process;
  link::relay_link::trip trip;
  bool is_urgent = false;                     // another trip waits there
  std::shared_ptr<command_start> begin = {};  // kept up for whoever wants to know
};
struct carried {
  std::uint64_t trip = 0;
  tl::expected<link::brought, std::string> outcome;
};
/// Signals the process if it is still the one that was recorded; `asker` gets process_signalled.
struct signal_process {
  caf::actor asker;
  kernel_id kernel;
  storage::process_identity process;
  int number = 0;
};
struct process_signalled {
  bool is_gone = false;  // proof; false: it is not known to be
};
/// Removes what is kept there of a kernel, which is ended first if it lives. Tried for some time; no answer.
struct remove_kernel {
  kernel_id kernel;
  storage::process_identity process;  // pid 0: none is known
};

/// Attaches the nurseries of an earlier incarnation; those that are gone are forgotten.
struct relink_nurseries {
  std::vector<storage::nursery_record> rows;
};

/// Lets go of all nurseries, and ends the actor. They live on, or are ended, which is waited for.
struct let_go {
  bool ends_nurseries = false;
};

}  // namespace holdfast::env

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::env::spawn_kernel)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::env::kernel_spawned)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::env::spawn_refused)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::env::await_exit)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::env::exit_known)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::env::carry)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::env::carried)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::env::signal_process)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::env::process_signalled)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::env::remove_kernel)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::env::relink_nurseries)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::env::let_go)
