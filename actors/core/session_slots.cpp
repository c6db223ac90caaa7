// In which kernel? A session has one for each kernel key that its cells named: environment, interpreter and tools.
#include <algorithm>

#include "actors/base/clock.hpp"
#include "actors/base/hash.hpp"
#include "actors/core/kernel.hpp"
#include "actors/core/session_state.hpp"
#include "bin/kernel/program.hpp"

namespace holdfast::core {

namespace {

template <class Row>
auto& row_of_slot(Row& row, std::uint32_t number) {
  return *std::find_if(row.slots.begin(), row.slots.end(), [=](auto const& each) { return each.number == number; });
}

/// As the first kernel of its key is told: what made it another one than the last.
char const* difference(storage::kernel_slot const& key, storage::kernel_slot const& last) {
  return key.environment == last.environment && key.python == last.python ? "tools_changed" : "environment_changed";
}

/// As nothing has run in it another kernel may take its place.
storage::link_record renewed(storage::link_record link) {
  link.kernel = kernel_id("k-" + make_ulid());
  link.token = random_hex(32);
  link.directory = "run/" + link.kernel.text;
  link.program = program_digest();
  return link;
}

}  // namespace

storage::kernel_slot& slot_in(storage::session_record& row, std::uint32_t number) { return row_of_slot(row, number); }
storage::kernel_slot const& slot_in(storage::session_record const& row, std::uint32_t number) { return row_of_slot(row, number); }

slot const* session_state::holder(kernel_id const& kernel) const {
  if (kernel.empty()) return nullptr;
  for (auto const& [number, each] : slots)
    if (each.has(kernel)) return &each;
  return nullptr;
}

slot* session_state::holder(kernel_id const& kernel) { return const_cast<slot*>(std::as_const(*this).holder(kernel)); }

slot const& session_state::place_of(live_cell const& cell) const {
  if (auto const* at = holder(cell.row.kernel)) return *at;
  return slots.at(cell.outbox.slot);
}

slot& session_state::place_of(live_cell const& cell) { return const_cast<slot&>(std::as_const(*this).place_of(cell)); }

storage::kernel_slot session_state::key_for(run_cell const& what) const {
  auto const* before = what.if_kernel ? holder(*what.if_kernel) : nullptr;
  if (before == nullptr && !cells.empty()) before = &place_of(cells.back());
  auto key = before ? key_of(*before) : slot_in(own_row, own_row.slot);
  if (what.environment && *what.environment != key.environment) {
    key.environment = *what.environment;
    key.python.clear();  // a path here may mean nothing there
  }
  if (what.python) key.python = *what.python;
  if (what.tools) key.tools = *what.tools;
  if (key.python.empty()) key.python = shared->python_of(key.environment);  // by its name, so that a later cell can name it
  return key;
}

slot const* session_state::find_slot(storage::kernel_slot const& key) const {
  for (auto const& each : own_row.slots)
    if (each.is_for(key.environment, key.python, key.tools)) return &slots.at(each.number);
  return nullptr;
}

slot* session_state::find_slot(storage::kernel_slot const& key) { return const_cast<slot*>(std::as_const(*this).find_slot(key)); }

result<std::uint32_t> session_state::make_slot(storage::kernel_slot key) {
  if (auto const* there = find_slot(key)) return there->number;
  auto const is_unused = [this](storage::kernel_slot const& each) {
    auto const& at = slots.at(each.number);
    return !at.kernel && !at.saved.row && at.saved.now == saved_namespace::step::none &&
           std::none_of(cells.begin(), cells.end(), [&](auto const& cell) { return cell.outbox.slot == each.number; });
  };
  key.fresh_reason = "first";
  if (own_row.slots.size() == 1 && own_row.slots.front().fresh_reason == "first" && is_unused(own_row.slots.front())) {
    key.number = own_row.slots.front().number;  // of a session that never had a kernel
    own_row.slots.front() = std::move(key);
    return own_row.slots.front().number;
  }
  auto const unused = own_row.slots.back().number + 1;  // by no slot that was ever there: orphans have numbers of earlier ones
  if (own_row.slots.size() >= defaults::slots_most) {
    auto const oldest = std::find_if(own_row.slots.begin(), own_row.slots.end(), is_unused);
    if (oldest == own_row.slots.end())
      return fail(error_code::at_capacity, "session " + own_row.key.session + " has kernels of " +
                                               std::to_string(own_row.slots.size()) +
                                               " keys (environment, python, tools); reset it, or use another session");
    auto const number = oldest->number;
    slots.erase(number);
    own_row.slots.erase(oldest);
    if (own_row.slot == number) own_row.slot = own_row.slots.back().number;
  }
  key.fresh_reason = difference(key, slot_in(own_row, own_row.slot));
  key.number = unused;
  slots.try_emplace(key.number).first->second.number = key.number;
  own_row.slots.push_back(std::move(key));
  return own_row.slots.back().number;
}

void session_state::take_key(storage::link_record const& link) {
  auto const is_its = [&](auto const& each) { return each.number == link.slot; };
  auto found = std::find_if(own_row.slots.begin(), own_row.slots.end(), is_its);
  if (found == own_row.slots.end()) {
    own_row.slots.push_back({link.slot, {}, {}, {}, link.reason});
    std::sort(own_row.slots.begin(), own_row.slots.end(), [](auto const& a, auto const& b) { return a.number < b.number; });
    found = std::find_if(own_row.slots.begin(), own_row.slots.end(), is_its);
  }
  found->environment = link.environment;
  found->python = link.asked_python;
  found->tools = link.tools;
}

void session_state::take_row(storage::session_record row) {
  own_row = std::move(row);
  std::erase_if(slots, [this](auto const& each) {
    return std::none_of(own_row.slots.begin(), own_row.slots.end(), [&](auto const& kept) { return kept.number == each.first; });
  });
  for (auto const& each : own_row.slots) slots[each.number].number = each.number;
}

bool session_state::has_kernel() const {
  return std::any_of(slots.begin(), slots.end(), [](auto const& each) { return each.second.kernel.has_value(); });
}

void session_state::spawn_kernel(slot& at) {
  auto const& link = at.kernel->row;
  if (is_stale(link)) {  // a daemon with another program asked for it, whose nursery has perhaps forked it: ours would do it again
    auto made = renewed(link);
    if (shared->commit({storage::erase_link{link.kernel}, storage::put_link{made}}))
      shared->remove_kernel_files(std::exchange(at.kernel->row, std::move(made)));  // without its directory that one ends itself
  }
  env::spawn_kernel request{{},
                            link.kernel,
                            link.token,
                            link.directory,
                            link.asked_python,
                            link.tools,
                            own_row.cwd,
                            as_map(own_row.variables),
                            state_path(own_row.number, at.number)};
  at.kernel->actor = spawn_kernel_actor(self->system(), shared, {link, address(), std::move(request)});
}

kernel_view session_state::view_of(slot const& at) const {
  auto const& link = at.kernel->row;
  kernel_view view{own_row.key,
                   link.kernel,
                   link.environment,
                   link.python,
                   link.tools,
                   link.process.pid,
                   link.state == storage::link_state::live,
                   at.kernel->attached,
                   at.kernel->was_tried,
                   {},
                   0,
                   count_jobs(at),
                   link.started_at,
                   link.idle_since,
                   false,
                   is_stale(link)};
  for (auto const& cell : cells) {
    if (is_out(cell, at)) {
      if (view.cell.empty() || !cell.row.background) view.cell = cell.row.cell.text;  // the foreground one, if there is one
    } else if (is_queued(cell) && cell.outbox.slot == at.number) {
      ++view.queued;
    }
  }
  return view;
}

}  // namespace holdfast::core
