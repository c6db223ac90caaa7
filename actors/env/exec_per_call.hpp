// Cells without a kernel on a far side: each is one command, behind one without the cell that has seen an interpreter run there; what is
// ordered meanwhile goes with further commands, until it is taken or the first one is back. Collaborators: exec_environment, whose commands
// these are; relay_per_call.py, which keeps the deadline there. Refuses to run anything twice: a command that brings no answer leaves its
// cell with an end of which nothing is known, and is told to kill.
#pragma once

#include <functional>
#include <list>
#include <optional>
#include <string>

#include <caf/io/broker.hpp>

#include "actors/base/caf.hpp"
#include "actors/env/exec_commands.hpp"
#include "actors/env/per_call.hpp"

namespace holdfast::env {

class exec_per_calls {
 public:
  using runner = std::function<void(boost::json::object head, std::string frames, milliseconds timeout, bool is_urgent,
                                    exec_commands::on_reply then)>;

  /// `run`: as exec_commands. `wake`: on_wake is to be called then. `remove`: what is kept there under that name is to go.
  exec_per_calls(caf::io::broker* self, exec_options const& options, runner run, std::function<void(steady_time)> wake,
                 std::function<void(std::string const&)> remove)
      : self_(self), options_(options), run_(std::move(run)), wake_(std::move(wake)), remove_(std::move(remove)) {}

  /// In its turn: at most defaults::per_call_most are underway.
  void start(run_per_call asked);
  void order(order_per_call const& given);
  void on_wake(steady_time now);

 private:
  struct one {
    std::string name;  // there
    caf::actor asker;  // empty: nobody asks any more; it is to be killed
    per_call_plan plan;
    bool is_begun = false;  // it has its source
    std::optional<order_per_call::what> wanted = {};
    milliseconds retry_delay{0};
    std::uint32_t tries = 0;                 // of the kill of one that nobody asks for
    std::optional<steady_time> try_at = {};  // none: a command is underway, or nothing is wanted
  };

  void start_next();
  /// It is over: the next one begins.
  void forget(std::list<one>::iterator over);
  std::list<one>::iterator find(std::string const& name);
  std::list<one>::iterator find(caf::actor const& asker, std::uint64_t number);
  /// What a cell may take of one command.
  milliseconds longest_cell() const;
  boost::json::object head_for(one const& of, milliseconds timeout) const;
  void on_probed(std::string const& name, tl::expected<relay_reply, std::string> const& reply);
  void go(one& begun, std::string const& source);
  void on_ended(std::string const& name, milliseconds cut_to, tl::expected<relay_reply, std::string> reply);
  void want(one& of, order_per_call::what order);
  void try_order(one& of);
  void on_ordered(std::string const& name, order_per_call::what order, tl::expected<relay_reply, std::string> const& reply);

  caf::io::broker* self_;
  exec_options const& options_;
  runner run_;
  std::function<void(steady_time)> wake_;
  std::function<void(std::string const&)> remove_;
  std::list<one> all_;               // that were started and are not over, at most defaults::per_call_most
  std::list<run_per_call> waiting_;  // for their turn, in order; nothing of them is there
};

}  // namespace holdfast::env
