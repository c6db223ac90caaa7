#include "actors/core/remote_kernels.hpp"

#include <algorithm>
#include <variant>

namespace holdfast::core {

bool remote_kernels::has_any(session_number session) const {
  auto const found = slots_.lower_bound({session, 0});
  return found != slots_.end() && found->first == session;
}

bool remote_kernels::concerns(storage::change const& what) const {
  if (auto const* cell = std::get_if<storage::put_cell>(&what)) return has_any(cell->row.session);
  if (auto const* outbox = std::get_if<storage::erase_outbox>(&what)) return has_any(outbox->session);
  if (auto const* notice = std::get_if<storage::put_notice>(&what)) return has_any(notice->row.session);
  if (auto const* job = std::get_if<storage::put_job>(&what)) return linked_.contains(job->row.kernel);
  if (auto const* gone = std::get_if<storage::erase_link>(&what)) return linked_.contains(gone->kernel);
  auto const* link = std::get_if<storage::put_link>(&what);
  return link != nullptr && linked_.contains(link->row.kernel);
}

/// Cells and notices of the unit go along whole: what a session says of one kernel with what it says of another is one thing.
void remote_kernels::add(storage::change const& what, storage::unmoved_rows& into) const {
  if (auto const* cell = std::get_if<storage::put_cell>(&what)) {
    into.cells.insert({cell->row.session, cell->row.number});
  } else if (auto const* outbox = std::get_if<storage::put_outbox>(&what)) {
    // One that is moved to another slot, as its kernel was given up, may be in `disk`.
    into.outboxes[{outbox->row.session, outbox->row.number}] |= slots_.contains({outbox->row.session, outbox->row.slot});
  } else if (auto const* sent = std::get_if<storage::erase_outbox>(&what)) {
    into.outboxes[{sent->session, sent->number}] |= false;
  } else if (auto const* notice = std::get_if<storage::put_notice>(&what)) {
    into.notices.insert({notice->row.session, notice->row.notice});
  } else if (auto const* link = std::get_if<storage::put_link>(&what)) {
    if (linked_.contains(link->row.kernel)) into.links.insert(link->row.kernel);
  } else if (auto const* gone = std::get_if<storage::erase_link>(&what)) {
    if (linked_.contains(gone->kernel)) into.links.insert(gone->kernel);
  }
}

bool remote_kernels::note(storage::changes const& unit, storage::unmoved_rows& into) {
  for (auto const& what : unit) {
    auto const* link = std::get_if<storage::put_link>(&what);
    if (link == nullptr || link->row.environment == "local") continue;
    place const at{link->row.session, link->row.slot};
    if (linked_.try_emplace(link->row.kernel, at).second) slots_.insert(at);
  }
  // One that outlived its kernel may be in `disk` all the same.
  for (auto const& what : unit)
    if (auto const* job = std::get_if<storage::put_job>(&what))
      into.jobs[{job->row.session, job->row.job}] |= linked_.contains(job->row.kernel);
  if (linked_.empty() || std::none_of(unit.begin(), unit.end(), [this](auto const& each) { return concerns(each); })) return false;
  for (auto const& what : unit) add(what, into);
  for (auto const& what : unit) {
    auto const* gone = std::get_if<storage::erase_link>(&what);
    if (gone == nullptr) continue;
    if (auto const found = linked_.find(gone->kernel); found != linked_.end()) {
      slots_.erase(slots_.find(found->second));
      linked_.erase(found);
    }
  }
  return true;
}

}  // namespace holdfast::core
