// Closes the sessions that an owner has, or one child of it, at the moment it is asked to, and answers with their number. Each is closed as
// session.close does it; this only asks for it, so many side by side, and counts. Collaborators: the supervisor, which routes and hands the
// sessions' answers back. On the multiplexer thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include <caf/io/broker.hpp>

#include "actors/core/context.hpp"

namespace holdfast::core {

class owner_closing {
 public:
  /// `route` takes a call to a session, loaded or not.
  owner_closing(caf::io::broker* self, shared_context shared, std::function<void(session_call&)> route)
      : self_(self), shared_(std::move(shared)), route_(std::move(route)) {}

  /// Answers once all are closed; `not_found` if there was none; the first problem if some could not be closed.
  void begin(reply_to const& to, close_owner const& what);
  /// A session's answer to its close.
  void on_answer(answer const& told);
  /// The gateway ends: whoever waits hears so.
  void refuse_all(error const& why);

 private:
  struct order {
    reply_to to;
    close_owner what;
    session_number before = 0;      // stored sessions below are still to be looked for; 0: none
    std::deque<session_key> found;  // to be asked
    std::set<session_key> asked;    // loaded ones: they may be in the stores as well
    std::size_t underway = 0;
    std::size_t sessions = 0, kernels = 0;  // ended
    std::optional<error> problem;           // the first one
  };
  bool is_wanted(order const& of, session_key const& key) const;
  void find_more(order& of);
  void go_on(std::uint64_t number);
  void answer_to(order const& of);

  caf::io::broker* self_;
  shared_context shared_;
  std::function<void(session_call&)> route_;
  std::map<std::uint64_t, order> orders_;
  std::uint64_t last_order_ = 0;
};

}  // namespace holdfast::core
