// Another session with a copy of this one's namespace. An idle kernel is forked: the clone's link is recorded as intended, without a
// session, before the kernel is asked; session and live link become rows in one transaction once the clone listens. Until then there is
// no such session: a start finds a link without one and removes the run directory, which ends a clone. A saved namespace is copied.
#include "actors/base/clock.hpp"
#include "actors/base/failpoints.hpp"
#include "actors/base/hash.hpp"
#include "actors/base/home.hpp"
#include "actors/base/identity.hpp"
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

/// A kernel of another key: of the copy's cells only those that name none find what the session has.
std::string left_json(storage::kernel_slot const& key) {
  link::json_writer out;
  auto what = "the namespace for environment " + key.environment + ", python " + (key.python.empty() ? "default" : key.python);
  for (auto const& each : key.tools) what += (&each == &key.tools.front() ? ", tools " : " ") + each;
  return out.text("kind", "namespace").text("what", what).take();
}

std::string with_left_behind(std::string row, std::string const& left) {
  row.pop_back();
  return row + ",\"left_behind\":" + left + "}";
}

}  // namespace

/// What the new session takes over.
storage::session_record session_state::copy_of_row(std::string const& into) const {
  auto made = own_row;
  made.number = 0;  // given when it is sure that there is none of that name
  made.key.session = into;
  made.created_at = now_ms();
  made.slots = {slot_in(own_row, own_row.slot)};
  auto& reason = made.slots.front().fresh_reason;
  if (reason == "reset") reason = "first";  // what was lost, not what was given up, is lost to the copy as well
  made.restarts = 0;
  return made;
}

/// Names the namespaces of the session's other keys in a list of what is left behind.
std::string session_state::with_other_slots(std::string left) const {
  for (auto const& [number, at] : slots) {
    if (number == own_row.slot || (!at.kernel && !is_hibernated(at))) continue;
    left.back() = left.size() > 2 ? ',' : left.back();
    if (left.back() == ']') left.pop_back();
    left += left_json(key_of(at)) + "]";
  }
  return left;
}

void session_state::refuse_fork(reply_to const& from, session_key const& into, error why) {
  shared->forking.erase(into);
  answer_error(from, std::move(why));
}

void session_state::on_fork(reply_to const& from, fork_session const& what) {
  if (auto const& environment = slot_in(own_row, own_row.slot).environment; environment != "local")
    return answer_error(from, {error_code::cannot_fork,
                               "cannot fork session " + own_row.key.session + ": its kernel lives in environment " + environment +
                                   ", and only those of local are forked",
                               {}});
  auto made = copy_of_row(what.into);
  auto const found = shared->stores->find_session(made.key);
  if (!found) return answer_error(from, from_storage(found.error()));
  if (*found || shared->sessions.contains(made.key) || !shared->forking.insert(made.key).second)
    return answer_error(from, {error_code::cannot_fork,
                               "cannot fork session " + own_row.key.session + " into " + what.into +
                                   ": that session exists; close it first, or name another one",
                               {}});
  made.number = ++shared->last_session;
  auto const busy = [&](std::string const& with) {
    refuse_fork(
        from, made.key,
        {error_code::busy, "session " + own_row.key.session + " is busy with " + with + "; it can be forked when it is idle", {}});
  };
  if (!cells.empty()) return busy("cell " + cells.front().row.cell.text);
  if (!arrivals.empty()) return busy("a cell that waits for its kernel");
  auto& at = slots.at(own_row.slot);
  if (at.saved.now != saved_namespace::step::none || (at.kernel && at.saved.row))
    return busy("its namespace, which is saved or restored");
  if (!at.kernel) return fork_without_kernel(at, from, std::move(made));
  if (!at.is_attached())
    return refuse_fork(
        from, made.key,
        {error_code::unreachable, "the kernel of session " + own_row.key.session + " does not answer now; ask again", {}});

  short_of = shared->kernels->shortage_for(own_row.key.owner, {});
  if (short_of != shortage::none)
    return refuse_fork(from, made.key,
                       {error_code::cannot_fork,
                        "cannot fork session " + own_row.key.session + ": no room for its kernel: " + shortage_in_words(),
                        {}});

  auto link = at.kernel->row;
  link.kernel = kernel_id("k-" + make_ulid());
  link.session = made.number;
  link.state = storage::link_state::intended;
  link.token = random_hex(32);
  link.directory = "run/" + link.kernel.text;
  link.process = {};
  link.epoch = link.last_seq = link.generation = 0;
  link.reason = "forked";
  link.started_at = link.idle_since = now_ms();
  if (auto committed = shared->commit({storage::put_link{link}}); !committed) return refuse_fork(from, made.key, committed.error());
  (void)failpoint(failpoint_id::core_after_fork_recorded);
  auto const directory = shared->path(link.directory);
  if (auto there = make_private_directory(directory); !there) return drop_clone(from, made, link, there.error());
  ask_kernel(
      at,
      {{},
       "fork",
       {{"kernel", link.kernel.text},
        {"token", link.token},
        {"directory", directory},
        {"state", shared->path(state_path(made.number, at.number))}}},
      [this, from, made, link](result<link::answered> answer) { on_forked(from, made, link, std::move(answer)); },
      defaults::request_deadline, true);
}

/// There is no such session: a clone that came to be ends without its directory.
void session_state::drop_clone(reply_to const& from, storage::session_record const& made, storage::link_record const& link,
                               error why) {
  if (!shared->commit({storage::erase_link{link.kernel}}))
    log::warn("fork-incomplete", "the link of kernel {} could not be erased; the next start does it", link.kernel.text);
  self->send(shared->files, remove_tree{shared->path(link.directory)});
  refuse_fork(from, made.key, std::move(why));
}

void session_state::on_forked(reply_to const& from, storage::session_record made, storage::link_record link,
                              result<link::answered> answer) {
  auto const refuse = [&](error_code code, std::string const& why) {
    drop_clone(from, made, link, {code, "cannot fork session " + own_row.key.session + ": " + why, {}});
  };
  if (!answer) return refuse(error_code::unreachable, answer.error().message);
  if (answer->error)
    return refuse(answer->error->kind == "busy" ? error_code::busy : error_code::cannot_fork, answer->error->message);
  auto const clone = link::clone_of(answer->body);
  if (!clone) return refuse(error_code::unreachable, "the kernel's answer could not be read: " + clone.error());
  if (shared->shutting_down) return refuse(error_code::shutting_down, "the daemon is shutting down");
  (void)failpoint(failpoint_id::core_before_clone_recorded);
  link.state = storage::link_state::live;
  link.process = {boot_id(), own_pid_namespace(), clone->pid, clone->start_time};
  slot_in(made, link.slot).fresh_reason = "died";  // as of any session with a kernel
  if (auto committed = shared->commit({storage::put_session{made}, storage::put_link{link}}); !committed)
    return drop_clone(from, made, link, committed.error());
  (void)failpoint(failpoint_id::core_after_clone_recorded);
  log::info("session-forked", "session {} is forked into session {}, kernel {}", own_row.number, made.number, link.kernel.text);
  shared->forking.erase(made.key);
  auto left = link::json_list(clone->left, [](auto const& each) { return left_json(each); });
  session_seed seed{std::move(made), true, {std::move(link)}, {}, {}};
  seed.asked = fork_reply{from, with_other_slots(std::move(left))};
  spawn_session(self->system(), shared, std::move(seed));
}

// ---- in the new session ----

void session_state::answer_fork() {
  if (auto const call = std::exchange(fork_asked, std::nullopt)) answer_text(call->to, with_left_behind(row(), call->left_behind));
}

void session_state::answer_fork(error why) {
  if (auto const call = std::exchange(fork_asked, std::nullopt)) answer_error(call->to, std::move(why));
}

// ---- without a kernel ----

void session_state::fork_without_kernel(slot& at, reply_to const& from, storage::session_record made) {
  if (fork_copy)
    return refuse_fork(from, made.key, {error_code::busy, "session " + own_row.key.session + " is being forked; ask again", {}});
  std::optional<storage::saved_record> copy;
  if (is_hibernated(at)) {
    copy = at.saved.row;
    copy->session = made.number;
    copy->file = state_path(made.number, at.number);
    copy->reason = "fork";
  }
  fork_copy = {from, std::move(made), std::move(copy), with_other_slots("[]")};
  if (fork_copy->saved)
    self->send(shared->files, copy_file{address(), shared->path(at.saved.row->file), shared->path(fork_copy->saved->file)});
  else
    record_fork_copy();
}

void session_state::on_file_copied(file_copied const& told) {
  if (!fork_copy) return;
  if (!told.problem.empty()) {
    return refuse_fork_copy(
        {error_code::cannot_fork, "cannot copy the saved namespace of session " + own_row.key.session + ": " + told.problem, {}});
  }
  record_fork_copy();
}

void session_state::record_fork_copy() {
  storage::changes unit{storage::put_session{fork_copy->made}};
  if (fork_copy->saved) unit.push_back(storage::put_saved{*fork_copy->saved});
  self->send(shared->disk, commit_to_disk{std::move(unit), address(), disk_tag::fork_put});
}

void session_state::on_fork_copy_recorded(std::optional<storage::failure> const& problem) {
  if (!fork_copy) return;
  auto const call = *std::exchange(fork_copy, std::nullopt);
  if (problem) return refuse_fork(call.from, call.made.key, from_storage(*problem));
  shared->forking.erase(call.made.key);
  shared->events.publish("session_created", call.made.key, reason_details("fork"));
  auto const bytes = call.saved ? call.saved->bytes : 0;
  answer_text(call.from, with_left_behind(stored_session_row(call.made, 0, bytes, call.made.created_at), call.left_behind));
}

void session_state::refuse_fork_copy(error why) {
  if (auto const call = std::exchange(fork_copy, std::nullopt)) refuse_fork(call->from, call->made.key, std::move(why));
}

}  // namespace holdfast::core
