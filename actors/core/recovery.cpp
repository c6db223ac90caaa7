#include "actors/core/recovery.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <map>

#include <caf/send.hpp>

#include "actors/base/identity.hpp"
#include "actors/base/log.hpp"
#include "actors/core/messages.hpp"
#include "actors/core/session.hpp"
#include "actors/env/messages.hpp"

namespace holdfast::core {

void recover(caf::actor_system& system, shared_context const& shared) {
  auto& stores = *shared->stores;
  if (auto nurseries = stores.nurseries()) {
    if (!nurseries->empty()) caf::anon_send(shared->environment, env::relink_nurseries{std::move(*nurseries)});
  } else {
    log::error("recovery-incomplete", "nurseries: {}", nurseries.error().text);
  }

  std::map<session_number, std::optional<storage::link_record>> wanted;
  if (auto links = stores.links()) {
    for (auto& link : *links) wanted[link.session] = std::move(link);
  } else {
    log::error("recovery-incomplete", "links: {}", links.error().text);
  }
  if (auto open = stores.open_cells(0)) {
    for (auto const& cell : *open) wanted.try_emplace(cell.session);
  } else {
    log::error("recovery-incomplete", "open cells: {}", open.error().text);
  }

  for (auto& [number, link] : wanted) {
    auto row = stores.session(number);
    if (!row) {  // not known to be gone: its kernel is left alone
      log::error("recovery-incomplete", "session {}: {}", number, row.error().text);
      continue;
    }
    if (*row) {
      spawn_session(system, shared, {std::move(**row), false, std::move(link)});
      continue;
    }
    // Closed while its kernel was being ended: nothing may use that kernel any more.
    if (link) {
      if (auto pidfd = open_pidfd(link->process)) ::syscall(SYS_pidfd_send_signal, pidfd->get(), SIGKILL, nullptr, 0);
      (void)shared->commit({storage::erase_link{link->kernel}});
      caf::anon_send(shared->files, remove_tree{shared->path(link->directory)});
    }
  }
  log::info("recovery-started", "{} sessions with kernels or open cells", wanted.size());
}

}  // namespace holdfast::core
