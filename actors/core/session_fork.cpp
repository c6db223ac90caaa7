// Another session with a copy of this one: of the namespace of each of its kernels, live or saved. All are copied at once. An idle kernel
// is forked: the clone's link is recorded as intended, without a session, before the kernel is asked; a saved namespace is a file that is
// copied. Once all are there the copy is recorded: what is saved in `disk`, then session and live links in one transaction in `boot`.
// Until then there is no such session: a start finds an intended link of a fork, erases what there is of its session and removes the run
// directory, which ends a clone.
#include "actors/base/clock.hpp"
#include "actors/base/failpoints.hpp"
#include "actors/base/hash.hpp"
#include "actors/base/home.hpp"
#include "actors/core/event_details.hpp"
#include "actors/core/session.hpp"
#include "actors/core/session_state.hpp"
#include "actors/link/json_writer.hpp"
#include "actors/link/state_answers.hpp"

namespace holdfast::core {

namespace {

std::string left_json(link::left_behind const& left) {
  link::json_writer out;
  out.text("kind", left.kind);
  if (left.job) out.text("job", *left.job);
  if (left.pid) out.integer("pid", *left.pid);
  if (left.command) out.text("command", *left.command);
  if (left.descriptor) out.integer("descriptor", *left.descriptor);
  if (left.what) out.text("what", *left.what);
  return out.take();
}

std::string with_left_behind(std::string row, std::vector<std::string> const& left) {
  row.pop_back();
  return row + ",\"left_behind\":" + link::json_list(left, [](auto const& each) { return each; }) + "}";
}

}  // namespace

/// What the new session takes over.
storage::session_record session_state::copy_of_row(std::string const& into) const {
  auto made = own_row;
  made.number = 0;  // given when it is sure that there is none of that name
  made.key.session = into;
  made.created_at = now_ms();
  for (auto& each : made.slots)
    if (each.fresh_reason == "reset")
      each.fresh_reason = "first";  // what was lost, not what was given up, is lost to the copy as well
  made.restarts = 0;
  return made;
}

std::optional<error> session_state::why_not_forked() const {
  auto const busy = [this](std::string const& with) {
    return error{
        error_code::busy, "session " + own_row.key.session + " is busy with " + with + "; it can be forked when it is idle", {}};
  };
  if (!cells.empty()) return busy("cell " + cells.front().row.cell.text);
  if (!arrivals.empty()) return busy("a cell that waits for its kernel");
  for (auto const& [number, at] : slots) {
    if (at.kernel && key_of(at).environment != "local")
      return error{error_code::cannot_fork,
                   "cannot fork session " + own_row.key.session + ": its kernel lives in environment " + key_of(at).environment +
                       ", and only those of local are forked",
                   {}};
    if (at.saved.now != saved_namespace::step::none || (at.kernel && at.saved.row))
      return busy("its namespace, which is saved or restored");
    if (at.kernel && !at.is_attached())
      return error{error_code::unreachable, "the kernel of session " + own_row.key.session + " does not answer now; ask again", {}};
  }
  return {};
}

void session_state::on_fork(reply_to const& from, fork_session const& what) {
  if (auto why = why_not_forked()) return answer_error(from, std::move(*why));
  auto made = copy_of_row(what.into);
  auto const found = shared->stores->find_session(made.key);
  if (!found) return answer_error(from, from_storage(found.error()));
  if (*found || shared->sessions.contains(made.key) || shared->forking.contains(made.key))
    return answer_error(from, {error_code::cannot_fork,
                               "cannot fork session " + own_row.key.session + " into " + what.into +
                                   ": that session exists; close it first, or name another one",
                               {}});
  made.number = ++shared->last_session;
  session_copy copy{from, std::move(made)};
  storage::changes intended;
  for (auto const& [number, at] : slots) {
    if (at.kernel) {
      short_of = shared->kernels->shortage_for(own_row.key.owner, {});
      if (short_of != shortage::none)
        return answer_error(from,
                            {error_code::cannot_fork,
                             "cannot fork session " + own_row.key.session + ": no room for its kernel: " + shortage_in_words(),
                             {}});
      copy.places.push_back(shared->kernels->enter(own_row.key.owner));
      intended.push_back(storage::put_link{copy.clones.emplace_back(link_of_clone(at, copy.made.number))});
    } else if (is_hibernated(at)) {
      auto& saved = copy.saved.emplace_back(*at.saved.row);
      saved.session = copy.made.number;
      saved.file = state_path(saved.session, number);
      saved.reason = "fork";
    }
  }
  if (!intended.empty()) {
    if (auto committed = shared->commit(intended); !committed) return answer_error(from, std::move(committed.error()));
    (void)failpoint(failpoint_id::core_after_fork_recorded);
  }
  auto const id = ++last_copy;
  shared->forking.insert(copy.made.key);
  copy.awaited = copy.clones.size() + copy.saved.size();
  auto const clones = copy.clones;
  auto const saved = copy.saved;
  auto const is_empty = copy.awaited == 0;
  copies.emplace(id, std::move(copy));
  if (is_empty) return record_copy(id);
  for (auto const& link : clones) ask_for_clone(id, link);
  for (auto const& each : saved)
    self->send(shared->files,
               copy_file{address(), shared->path(state_path(own_row.number, each.slot)), shared->path(each.file), id});
}

storage::link_record session_state::link_of_clone(slot const& at, session_number of) const {
  auto link = at.kernel->row;
  link.kernel = kernel_id("k-" + make_ulid());
  link.session = of;
  link.state = storage::link_state::intended;
  link.token = random_hex(32);
  link.directory = "run/" + link.kernel.text;
  link.process = {};
  link.epoch = link.last_seq = link.generation = 0;
  link.reason = "forked";
  link.started_at = link.idle_since = now_ms();
  return link;
}

void session_state::ask_for_clone(std::uint32_t id, storage::link_record const& link) {
  auto const directory = shared->path(link.directory);
  if (auto there = make_private_directory(directory); !there) return on_part_copied(id, std::move(there.error()));
  ask_kernel(
      slots.at(link.slot),
      {{},
       "fork",
       {{"kernel", link.kernel.text},
        {"token", link.token},
        {"directory", directory},
        {"state", shared->path(state_path(link.session, link.slot))}}},
      [this, id, kernel = link.kernel](result<link::answered> answer) { on_forked(id, kernel, std::move(answer)); },
      defaults::request_deadline, true);
}

void session_state::on_forked(std::uint32_t id, kernel_id const& kernel, result<link::answered> answer) {
  auto const found = copies.find(id);
  if (found == copies.end()) return;  // given up: the clone ends without its directory
  auto const refuse = [&](error_code code, std::string const& why) {
    on_part_copied(id, error{code, "cannot fork session " + own_row.key.session + ": " + why, {}});
  };
  if (!answer) return refuse(error_code::unreachable, answer.error().message);
  if (answer->error)
    return refuse(answer->error->kind == "busy" ? error_code::busy : error_code::cannot_fork, answer->error->message);
  auto const clone = link::clone_of(answer->body);
  if (!clone) return refuse(error_code::unreachable, "the kernel's answer could not be read: " + clone.error());
  auto& clones = found->second.clones;
  auto& link = *std::find_if(clones.begin(), clones.end(), [&](auto const& each) { return each.kernel == kernel; });
  link.state = storage::link_state::live;
  // Its numbers are those of the pid namespace of the kernel that was forked, whichever is ours.
  if (auto const& original = slots.at(link.slot).kernel) link.process = original->row.process;
  link.process.pid = clone->pid;
  link.process.start_time = clone->start_time;
  slot_in(found->second.made, link.slot).fresh_reason = "died";  // as of any session with a kernel
  for (auto const& each : clone->left) found->second.left.push_back(left_json(each));
  on_part_copied(id, {});
}

void session_state::on_file_copied(file_copied const& told) {
  if (told.problem.empty()) return on_part_copied(told.tag, {});
  on_part_copied(told.tag, error{error_code::cannot_fork,
                                 "cannot copy the saved namespace of session " + own_row.key.session + ": " + told.problem,
                                 {}});
}

/// Clone or file: there, or not.
void session_state::on_part_copied(std::uint32_t id, std::optional<error> problem) {
  auto const found = copies.find(id);
  if (found == copies.end()) return;
  auto& copy = found->second;
  if (problem && !copy.problem) copy.problem = std::move(problem);
  if (--copy.awaited > 0) return;
  if (copy.problem) return drop_copy(id, *copy.problem);
  record_copy(id);
}

void session_state::record_copy(std::uint32_t id) {
  auto& copy = copies.at(id);
  if (copy.saved.empty() && !copy.clones.empty()) return finish_copy(id);
  copy.is_recording = true;
  storage::changes unit{storage::put_session{copy.made}};
  for (auto const& each : copy.saved) unit.push_back(storage::put_saved{each});
  self->send(shared->disk, commit_to_disk{std::move(unit), address(), disk_tag::copy_put + id});
}

void session_state::on_copy_recorded(std::uint32_t id, std::optional<storage::failure> const& problem) {
  if (!copies.contains(id)) return;
  if (problem) return drop_copy(id, from_storage(*problem));
  if (!copies.at(id).clones.empty()) return finish_copy(id);
  auto const copy = std::move(copies.extract(id).mapped());
  shared->forking.erase(copy.made.key);
  shared->events.publish("session_created", copy.made.key, reason_details("fork"));
  std::uint64_t bytes = 0;
  for (auto const& each : copy.saved) bytes += each.bytes;
  answer_text(copy.from, with_left_behind(stored_session_row(copy.made, 0, bytes, copy.made.created_at), copy.left));
}

/// With kernels: from here on there is such a session.
void session_state::finish_copy(std::uint32_t id) {
  (void)failpoint(failpoint_id::core_before_clone_recorded);
  auto& recorded = copies.at(id);
  storage::changes unit{storage::put_session{recorded.made}};
  for (auto const& each : recorded.clones) unit.push_back(storage::put_link{each});
  if (auto committed = shared->commit(unit); !committed) return drop_copy(id, std::move(committed.error()));
  (void)failpoint(failpoint_id::core_after_clone_recorded);
  auto copy = std::move(copies.extract(id).mapped());
  shared->forking.erase(copy.made.key);
  copy.places.clear();  // the session takes its own
  log::info("session-forked", "session {} is forked into session {}", own_row.number, copy.made.number);
  session_seed seed{std::move(copy.made), true, std::move(copy.clones), fork_reply{copy.from, std::move(copy.left)}, {}};
  seed.records.saved = std::move(copy.saved);
  spawn_session(self->system(), shared, std::move(seed));
}

/// There is no such session: clones that came to be end without their directories.
void session_state::drop_copy(std::uint32_t id, error why) {
  auto const copy = std::move(copies.extract(id).mapped());
  storage::changes unit;
  for (auto const& each : copy.clones) unit.push_back(storage::erase_link{each.kernel});
  if (!unit.empty() && !shared->commit(unit))
    log::warn("fork-incomplete", "links of session {} could not be erased; the next start does it", copy.made.number);
  for (auto const& each : copy.clones) self->send(shared->files, remove_tree{shared->path(each.directory)});
  for (auto const& each : copy.saved) self->send(shared->files, remove_tree{shared->path(each.file)});
  if (copy.is_recording) self->send(shared->disk, commit_to_disk{{storage::erase_session{copy.made.number}}, {}, 0});
  shared->forking.erase(copy.made.key);
  answer_error(copy.from, std::move(why));
}

void session_state::refuse_copies(error const& why) {
  while (!copies.empty()) drop_copy(copies.begin()->first, why);
}

// ---- in the new session ----

/// Once each clone is attached, or looked for.
void session_state::answer_fork() {
  if (std::any_of(slots.begin(), slots.end(),
                  [](auto const& each) { return each.second.kernel && !each.second.kernel->was_tried; }))
    return;
  if (auto const call = std::exchange(fork_asked, std::nullopt)) answer_text(call->to, with_left_behind(row(), call->left_behind));
}

void session_state::answer_fork(error why) {
  if (auto const call = std::exchange(fork_asked, std::nullopt)) answer_error(call->to, std::move(why));
}

}  // namespace holdfast::core
