// The life of a kernel as its actor sees it: a table, state x event -> next state and action.
// Pure: the kernel actor feeds events and carries actions out. What the table does not name changes nothing.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace holdfast::core {

enum class kernel_state : std::uint8_t {
  spawning,   ///< asked of the environment; its process is not known
  attaching,  ///< a process with a recorded identity; attach was said or will be
  attached,   ///< hello has come
  dropped,    ///< was attached, or could not be: unreachable, retried while its budget lasts, nothing is concluded from it
  silent,     ///< it took the connection and runs, and says nothing (its interpreter is held): waited for, silence_most at most
  dying,      ///< proven absent; its nursery's report is awaited, then spool and journal are read
  given_up,   ///< its budget is spent; what spool and journal have so far is being read
  ended,      ///< its session knows; this actor ends
};
constexpr std::string_view to_string(kernel_state state) {
  constexpr std::array<std::string_view, 8> words = {"spawning", "attaching", "attached", "dropped",
                                                     "silent",   "dying",     "given_up", "ended"};
  return words[static_cast<std::size_t>(state)];
}

enum class kernel_event : std::uint8_t {
  spawned,        ///< the environment names the process
  spawn_refused,  ///< the environment could not start it
  hello,          ///< the attach was answered
  link_lost,      ///< the connection broke or could not be made, or no hello came in time from a process that does not run
  no_hello,       ///< none came in time, and its process runs
  budget_spent,   ///< it was unreachable, or silent, for as long as that may take
  wrong_token,    ///< another process answers in its place: proof of absence
  other_home,     ///< it belongs to another home: leave it alone
  process_gone,   ///< its pidfd is readable, or its identity is gone
  remains_read,   ///< exit file, spool and journal are read
};

enum class kernel_action : std::uint8_t {
  none,              ///< whoever brought the event has the details and tells the session
  connect,           ///< connect and say attach
  retry,             ///< connect again after the delay
  tell_unreachable,  ///< tell the session once, then retry
  wait,              ///< look again after the delay; the session is told after a while
  give_up,           ///< read what it has said so far, and leave it to the session as an orphan
  ask_exit,          ///< ask the environment for the nursery's report
  leave,             ///< tell the session that the link ends while the kernel lives on, and end
};

struct transition {
  kernel_state next;
  kernel_action action;
};

constexpr std::optional<transition> on_event(kernel_state state, kernel_event event) {
  using s = kernel_state;
  using e = kernel_event;
  using a = kernel_action;
  if (state == s::ended) return std::nullopt;
  if (state == s::dying || state == s::given_up) {
    if (event == e::remains_read) return transition{s::ended, a::none};
    return std::nullopt;
  }
  switch (event) {
    case e::spawned:
      if (state == s::spawning) return transition{s::attaching, a::connect};
      return std::nullopt;
    case e::spawn_refused:
      if (state == s::spawning) return transition{s::ended, a::none};
      return std::nullopt;
    case e::hello:
      if (state == s::attaching || state == s::dropped || state == s::silent) return transition{s::attached, a::none};
      return std::nullopt;
    case e::link_lost:
      if (state == s::attached || state == s::attaching || state == s::silent) return transition{s::dropped, a::tell_unreachable};
      if (state == s::dropped) return transition{s::dropped, a::retry};
      return std::nullopt;
    case e::no_hello:
      if (state == s::attaching || state == s::dropped || state == s::silent) return transition{s::silent, a::wait};
      return std::nullopt;
    case e::budget_spent:
      if (state == s::dropped || state == s::silent) return transition{s::given_up, a::give_up};
      return std::nullopt;
    case e::wrong_token:
    case e::process_gone:
      if (state != s::spawning) return transition{s::dying, a::ask_exit};
      return std::nullopt;
    case e::other_home:
      if (state != s::spawning) return transition{s::ended, a::leave};
      return std::nullopt;
    case e::remains_read: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace holdfast::core
