// Runs requests to a far side as commands, brings the program there when it is missing, and says what came of each exactly once.
// Collaborators: relay_request (bytes), command_threads (which block), exec_environment (what requests mean). Multiplexer thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <boost/json/object.hpp>
#include <caf/actor.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/io/broker.hpp>

#include "actors/base/caf.hpp"
#include "actors/env/command_threads.hpp"
#include "actors/env/exec_environment.hpp"
#include "actors/env/relay_request.hpp"

namespace holdfast::env {

/// A command has ended; to the broker that runs commands.
struct command_ended {
  std::uint64_t number = 0;
  tl::expected<exec_outcome, std::string> outcome;
};

class exec_commands {
 public:
  using on_reply = std::function<void(tl::expected<relay_reply, std::string>)>;

  /// `patience`: for a thread to take a command.
  exec_commands(caf::io::broker* self, exec_registration registered, std::string home_id, milliseconds patience);
  exec_commands(exec_commands const&) = delete;
  exec_commands& operator=(exec_commands const&) = delete;
  ~exec_commands();

  /// `then` hears exactly once, later: the answer, or why nothing is known. Urgent ones overtake others.
  void run(boost::json::object head, std::string frames, milliseconds timeout, bool is_urgent, on_reply then,
           std::shared_ptr<command_start> begin = {});
  void on_ended(command_ended ended);
  /// Gives up what is late; the time to be called again, if anything is underway.
  std::optional<steady_time> give_up_late(steady_time now);

 private:
  /// Told from the threads, which may outlive the actor system.
  struct reporter {
    std::mutex mutex;
    caf::actor to;  // empty: nobody listens any more
  };
  struct command {
    boost::json::object head;
    std::string frames;
    milliseconds timeout{0};
    bool is_urgent = false;
    on_reply then;
    std::string nonce = {};
    std::shared_ptr<command_start> begin;
    steady_time asked_at = {};  // for a thread
    bool awaits_program = false;
    std::uint64_t stagings_before = 0;  // when it was started
    bool was_staged_for = false;
  };

  void start(std::uint64_t number, command& what);
  void stage();
  void on_staged(tl::expected<relay_reply, std::string> const& reply);

  exec_registration registered_;
  std::string home_id_;
  milliseconds patience_;
  std::shared_ptr<reporter> reporter_;
  command_threads threads_;
  std::map<std::uint64_t, command> commands_;  // underway, or waiting for the program
  std::uint64_t last_ = 0;
  bool is_staging_ = false;
  std::uint64_t stagings_ = 0;  // that have brought the program
};

}  // namespace holdfast::env

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::env::command_ended)
