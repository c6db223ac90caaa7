#include "actors/core/owner_closing.hpp"

namespace holdfast::core {

bool owner_closing::is_wanted(order const& of, session_key const& key) const {
  return key.owner == of.what.owner && (!of.what.child || key.child == *of.what.child);
}

void owner_closing::begin(reply_to const& to, close_owner const& what) {
  auto const number = ++last_order_;
  auto& made = orders_[number];
  made.to = to;
  made.what = what;
  made.before = shared_->last_session + 1;  // what is made from now on is not meant
  for (auto const& [key, entry] : shared_->sessions)
    if (is_wanted(made, key)) {
      made.found.push_back(key);
      made.asked.insert(key);
    }
  go_on(number);
}

void owner_closing::find_more(order& of) {
  while (of.found.empty() && of.before != 0) {
    auto const page = shared_->stores->sessions(of.what.owner, of.what.child, of.before, defaults::closings_at_once);
    if (!page) {
      of.before = 0;
      if (!of.problem) of.problem = from_storage(page.error());
      return;
    }
    for (auto const& row : *page)
      if (!of.asked.contains(row.key)) of.found.push_back(row.key);
    of.before = page->size() < defaults::closings_at_once || page->back().number == 1 ? 0 : page->back().number;
  }
}

void owner_closing::go_on(std::uint64_t number) {
  auto& of = orders_.at(number);
  while (of.underway < defaults::closings_at_once) {
    find_more(of);
    if (of.found.empty()) break;
    auto const key = std::move(of.found.front());
    of.found.pop_front();
    auto const loaded = shared_->sessions.find(key);
    if (loaded != shared_->sessions.end() && loaded->second.face) of.kernels += loaded->second.face->kernels().size();
    ++of.underway;
    session_call call;
    call.from.front = caf::actor_cast<caf::actor>(self_);
    call.from.connection = number;
    call.key = key;
    call.what = close_session{};
    route_(call);
  }
  if (of.underway > 0) return;
  answer_to(of);
  orders_.erase(number);
}

void owner_closing::answer_to(order const& of) {
  answer made{of.to.connection, of.to.request, {}};
  if (of.problem)
    made.outcome = tl::unexpected(*of.problem);
  else if (of.sessions == 0)
    made.outcome = fail(error_code::not_found, "no session of owner " + of.what.owner +
                                                   (of.what.child && !of.what.child->empty() ? ", child " + *of.what.child : "") +
                                                   "; session.list shows what there is");
  else
    made.outcome = "{\"sessions\":" + std::to_string(of.sessions) + ",\"kernels\":" + std::to_string(of.kernels) + "}";
  self_->send(of.to.front, std::move(made));
}

void owner_closing::on_answer(answer const& told) {
  auto const found = orders_.find(told.connection);
  if (found == orders_.end()) return;
  auto& of = found->second;
  --of.underway;
  if (told.outcome)
    ++of.sessions;
  else if (told.outcome.error().code != error_code::not_found && !of.problem)  // not found: somebody else closed it
    of.problem = told.outcome.error();
  go_on(found->first);
}

void owner_closing::refuse_all(error const& why) {
  for (auto& [number, of] : std::exchange(orders_, {}))
    self_->send(of.to.front, answer{of.to.connection, of.to.request, tl::unexpected(why)});
}

}  // namespace holdfast::core
