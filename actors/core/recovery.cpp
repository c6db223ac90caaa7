#include "actors/core/recovery.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include <caf/send.hpp>

#include "actors/base/identity.hpp"
#include "actors/base/log.hpp"
#include "actors/core/messages.hpp"
#include "actors/core/session.hpp"
#include "actors/env/messages.hpp"

namespace holdfast::core {

namespace {

/// A fork that the daemon did not live to finish: what `disk` has of the session that it was to make goes, so that nothing is left half.
result<void> forget_unfinished_copy(storage::stores& stores, std::vector<storage::link_record> const& links) {
  auto const is_unfinished = [](auto const& each) {
    return each.state == storage::link_state::intended && each.reason == "forked";
  };
  if (std::none_of(links.begin(), links.end(), is_unfinished)) return {};
  storage::changes const unit = {storage::erase_session{links.front().session}};
  if (auto erased = stores.commit_disk({&unit, 1}); !erased) return tl::unexpected(from_storage(erased.error()));
  return {};
}

}  // namespace

result<recovery_plan> plan_recovery(storage::stores& stores) {
  recovery_plan plan;
  auto nurseries = stores.nurseries();
  if (!nurseries) return tl::unexpected(from_storage(nurseries.error()));
  plan.nurseries = std::move(*nurseries);
  auto links = stores.links();
  if (!links) return tl::unexpected(from_storage(links.error()));
  for (auto& link : *links) plan.sessions[link.session].push_back(std::move(link));
  for (auto const& [number, of_session] : plan.sessions)
    if (auto done = forget_unfinished_copy(stores, of_session); !done) return tl::unexpected(std::move(done.error()));
  auto open = stores.open_cells(0);
  if (!open) return tl::unexpected(from_storage(open.error()));
  for (auto const& cell : *open) plan.sessions.try_emplace(cell.session);
  auto unmoved = stores.out_of_step();
  if (!unmoved) return tl::unexpected(from_storage(unmoved.error()));
  plan.unmoved = std::move(*unmoved);
  return plan;
}

namespace {

/// Run directories that no link names: their kernels are proven gone, or end themselves when the directory is.
void sweep_run_directories(context const& shared, std::set<std::string> const& known) {
  std::error_code problem;
  for (auto const& entry : std::filesystem::directory_iterator(shared.path("run"), problem))
    if (!known.contains("run/" + entry.path().filename().string()))
      caf::anon_send(shared.files, remove_tree{entry.path().string()});
}

}  // namespace

void recover(caf::actor_system& system, shared_context const& shared, recovery_plan plan) {
  if (!plan.nurseries.empty()) caf::anon_send(shared->environment_of("local"), env::relink_nurseries{std::move(plan.nurseries)});
  std::set<std::string> directories;
  for (auto const& [number, links] : plan.sessions)
    for (auto const& link : links) directories.insert(link.directory);
  sweep_run_directories(*shared, directories);

  // Before any kernel elsewhere is told anything, `disk` has what is in `boot`.
  storage::unmoved_rows known;
  for (auto const& [number, links] : plan.sessions)
    for (auto const& link : links) (void)shared->elsewhere.note({storage::put_link{link}}, known);
  if (!plan.unmoved.empty()) shared->barrier.on_recorded();
  shared->move_later(plan.unmoved);

  for (auto& [number, links] : plan.sessions) {
    auto row = shared->stores->session(number);
    if (!row) {  // not known to be gone: its kernel is left alone
      log::error("recovery-incomplete", "session {}: {}", number, row.error().text);
      continue;
    }
    if (*row) {
      auto records = read_session(*shared->stores, number);
      if (records)
        spawn_session(system, shared, {std::move(**row), false, std::move(links), {}, std::move(*records)});
      else  // as above
        log::error("recovery-incomplete", "session {}: {}", number, records.error().message);
      continue;
    }
    // Closed while its kernel was being ended: nothing may use that kernel any more.
    for (auto const& link : links) {
      if (link.environment == "local")
        if (auto const pidfd = open_pidfd(link.process)) ::syscall(SYS_pidfd_send_signal, pidfd->get(), SIGKILL, nullptr, 0);
      (void)shared->commit({storage::erase_link{link.kernel}});
      shared->remove_kernel_files(link);
    }
  }
  log::info("recovery-started", "{} sessions with kernels or open cells", plan.sessions.size());
}

}  // namespace holdfast::core
