#include "actors/core/context.hpp"

#include <boost/json/array.hpp>
#include <caf/send.hpp>

#include "actors/base/log.hpp"
#include "actors/core/messages.hpp"
#include "actors/env/messages.hpp"

namespace holdfast::core {

result<void> context::commit(storage::changes const& unit) {
  if (store_failed) return fail(error_code::store_failed, "the store has failed; look at the disk, then start the daemon again");
  commit_timer timer(metrics, store::boot);
  auto committed = stores->commit_boot(unit);
  timer.done(committed.has_value());
  if (committed) {
    storage::unmoved_rows remote;
    if (elsewhere.note(unit, remote)) barrier.on_recorded();
    move_later(remote);
    return {};
  }
  log::error("store-failed", "boot store refused a transaction: {}", committed.error().text);
  on_refused(committed.error());
  return tl::unexpected(from_storage(committed.error()));
}

void context::on_refused(storage::failure const& why) {
  if (why.code != storage::failure_code::failed || std::exchange(store_failed, true)) return;
  if (supervisor) caf::anon_send(supervisor, end_gateway{from_storage(why)});
}

storage::unmoved_rows& context::moving() {
  if (to_disk.empty()) caf::anon_send(supervisor, move_soon{});
  return to_disk;
}

void context::move_later(session_number session, cell_number cell) { moving().cells.insert({session, cell}); }
void context::move_later(session_number session) { moving().sessions.insert(session); }
void context::forget_later(session_number session, notice_id const& told) { moving().told.insert({session, told}); }
void context::move_later(storage::unmoved_rows const& rows) {
  if (!rows.empty()) moving().add(rows);
}

void context::once_on_disk(std::function<void()> step, std::function<void(storage::failure const&)> refused) {
  barrier.then(std::move(step), std::move(refused));
  if (barrier.is_behind()) caf::anon_send(supervisor, move_now{});
}

/// Sent once, however much changes until it is looked at.
void context::look_at_kernels() {
  if (supervisor && !std::exchange(look_asked, true)) caf::anon_send(supervisor, core::look_at_kernels{});
}

error context::unknown_environment(std::string const& name) const {
  std::string listed;
  boost::json::array known;
  for (auto const& [each, known_as] : environments) {
    listed += (listed.empty() ? "" : ", ") + each;
    known.emplace_back(each);
  }
  return {error_code::invalid_params,
          "no environment " + name + "; there are: " + listed,
          {{"param", "environment"}, {"known", std::move(known)}}};
}

void context::remove_kernel_files(storage::link_record const& link) {
  caf::anon_send(files, remove_tree{path(link.directory)});
  auto const is_ours = link.directory == "run/" + link.kernel.text;  // one that another home took over is not
  if (auto const there = environment_of(link.environment); there && link.environment != "local" && is_ours)
    send_to_environment(link.environment, env::remove_kernel{link.kernel, link.process});
}

std::string state_path(session_number session, std::uint32_t slot) {
  return "state/" + std::to_string(session) + "." + std::to_string(slot);
}

error being_forked(session_key const& key) {
  return {error_code::shutting_down, "session " + key.session + " is being made by a fork; send it again", {}};
}

error being_closed(session_key const& key) {
  return {error_code::shutting_down, "session " + key.session + " is being closed; send it again for a new one", {}};
}

error unknown_session(session_key const& key) {
  return {error_code::not_found,
          "no session " + key.session + " of owner " + key.owner + (key.child.empty() ? "" : ", child " + key.child) +
              "; session.list shows what there is, run makes one",
          {}};
}

}  // namespace holdfast::core
