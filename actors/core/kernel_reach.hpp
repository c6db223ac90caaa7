// How a kernel actor reaches its kernel: what carries the frames, what tells that the process is gone, who signals it. A process of this
// machine is reached through its socket and its pidfd; one of an environment behind commands through its environment actor.
// Collaborators: kernel (whose actor owns it), transports, environments. Refuses to decide what becomes of the kernel: lifecycle.hpp does.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <caf/io/broker.hpp>

#include "actors/base/identity.hpp"
#include "actors/core/context.hpp"
#include "actors/env/messages.hpp"
#include "actors/link/socket_link.hpp"
#include "actors/link/transport.hpp"

namespace holdfast::core {

class kernel_reach {
 public:
  virtual ~kernel_reach() = default;

  virtual link::transport& link() = 0;
  /// Of a kernel of this machine: its broker's messages belong to it. Null for others.
  virtual link::socket_link* socket() { return nullptr; }

  /// From now on `process` is what is watched and signalled. False: it is proven gone.
  virtual bool identify(storage::process_identity const& process) = 0;
  struct failure {
    std::string why;
    bool listens = false;  // and takes no more connections: it does not accept
  };
  /// Begins to say attach; why it cannot be, if it cannot. `is_starting`: the process may not have called listen() itself yet.
  virtual std::optional<failure> connect(link::attach message, bool is_starting) = 0;
  /// How long a hello may take; none: it says by itself that none comes.
  virtual std::optional<milliseconds> hello_patience() const { return std::nullopt; }
  /// What its process does, as far as that can be told from here.
  virtual process_state inspect() const { return process_state::unknown; }
  /// For how long in all it may be unreachable before it is given up.
  virtual milliseconds attach_budget() const = 0;
  /// False: it cannot be sent now. True says nothing of its effect.
  virtual bool signal(int number) = 0;
  virtual void stop_watching() = 0;
  /// Asks its environment how it ended; exit_known comes.
  virtual void ask_exit(kernel_id const& kernel, nursery_id const& nursery, std::string const& state) = 0;

  /// What was sent is to leave now; called at the end of a turn in which something was.
  virtual void flush() {}
  /// A trip of a relay is over.
  virtual std::vector<link::event> on_carried(env::carried) { return {}; }
  /// For how long in all what was to reach it has waited to be carried there.
  virtual steady_time::duration waited() const { return {}; }
  /// When it should be asked whether anything has come, as it does not say so itself; none: it does.
  virtual std::optional<milliseconds> look_after() const { return std::nullopt; }
  virtual void look() {}
};

struct reached_kernel {
  storage::link_record const& row;
  std::function<void()> on_gone;  // its process is proven gone
};

std::unique_ptr<kernel_reach> reach_locally(caf::io::broker* self, shared_context shared, reached_kernel of);
/// `environment` is empty when nobody registered it: then the kernel is unreachable.
std::unique_ptr<kernel_reach> reach_by_commands(caf::io::broker* self, shared_context shared, caf::actor environment,
                                                reached_kernel of);

}  // namespace holdfast::core
