#include "actors/env/exec_commands.hpp"

#include <caf/send.hpp>

#include "actors/base/clock.hpp"
#include "actors/base/defaults.hpp"
#include "actors/base/hash.hpp"
#include "bin/kernel/program.hpp"

namespace holdfast::env {

using std::chrono::steady_clock;

namespace {

tl::expected<exec_outcome, std::string> execute(exec_registration const& registered, exec_command const& what) {
  try {
    return registered.execute(what);
  } catch (std::exception const& problem) {
    return tl::unexpected("the command could not be executed: " + std::string(problem.what()));
  } catch (...) {
    return tl::unexpected<std::string>("the command could not be executed");
  }
}

}  // namespace

exec_commands::exec_commands(caf::io::broker* self, exec_registration registered, std::string home_id, milliseconds patience)
    : registered_(std::move(registered)),
      home_id_(std::move(home_id)),
      patience_(patience),
      reporter_(std::make_shared<reporter>()),
      threads_(defaults::commands_most, defaults::commands_urgent) {
  reporter_->to = caf::actor_cast<caf::actor>(self);
}

exec_commands::~exec_commands() {
  std::lock_guard const lock(reporter_->mutex);
  reporter_->to = {};
}

void exec_commands::run(boost::json::object head, std::string frames, milliseconds timeout, bool is_urgent, on_reply then,
                        std::shared_ptr<command_start> begin) {
  auto const number = ++last_;
  auto& made = commands_[number];
  made.head = std::move(head);
  made.frames = std::move(frames);
  made.timeout = timeout;
  made.is_urgent = is_urgent;
  made.then = std::move(then);
  made.begin = begin ? std::move(begin) : std::make_shared<command_start>();
  start(number, made);
}

void exec_commands::start(std::uint64_t number, command& what) {
  what.nonce = random_hex(8);
  what.awaits_program = false;
  what.begin->reset();
  what.asked_at = steady_clock::now();
  what.stagings_before = stagings_;
  what.head["nonce"] = what.nonce;
  what.head["root"] = registered_.directory;
  what.head["home"] = home_id_;
  what.head["program"] = program_digest();
  exec_command asked{relay_command(registered_.python), {}, what.timeout, relay_input(what.head, what.frames)};
  threads_.run(
      [number, asked = std::move(asked), begin = what.begin, registered = registered_, to = reporter_] {
        if (!begin->take(steady_clock::now())) return;  // given up: whoever asked has been told that it did not begin
        auto outcome = execute(registered, asked);
        std::lock_guard const lock(to->mutex);
        if (to->to) caf::anon_send(to->to, command_ended{number, std::move(outcome)});
      },
      what.is_urgent);
}

void exec_commands::on_ended(command_ended ended) {
  auto found = commands_.find(ended.number);
  if (found == commands_.end()) return;  // it was late
  auto& what = found->second;
  auto reply = ended.outcome ? read_reply(ended.outcome->output, what.nonce) : tl::unexpected(ended.outcome.error());
  if (!reply && ended.outcome && ended.outcome->returncode != 0)
    reply = tl::unexpected("the command ended with " + std::to_string(ended.outcome->returncode) + ": " + reply.error());
  if (reply && text_of(*reply, "type") == "missing" && !std::exchange(what.was_staged_for, true)) {
    // Nothing was done there: it is the same request once the program is.
    if (what.stagings_before < stagings_) return start(ended.number, what);  // it was brought while this one was underway
    what.awaits_program = true;
    return stage();
  }
  auto then = std::move(what.then);
  commands_.erase(found);
  then(std::move(reply));
}

void exec_commands::stage() {
  if (std::exchange(is_staging_, true)) return;
  log::info("program-staging", "environment {} has no program {}: bringing it", registered_.name, program_digest().substr(0, 12));
  run(stage_request(), {}, defaults::stage_timeout, true, [this](auto reply) { on_staged(reply); });
}

void exec_commands::on_staged(tl::expected<relay_reply, std::string> const& reply) {
  is_staging_ = false;
  std::string problem;
  if (!reply)
    problem = reply.error();
  else if (text_of(*reply, "type") != "staged")
    problem = text_of(*reply, "message");
  if (problem.empty()) ++stagings_;
  std::vector<std::uint64_t> waiting;
  for (auto const& [number, each] : commands_)
    if (each.awaits_program) waiting.push_back(number);
  for (auto const number : waiting) {
    auto found = commands_.find(number);
    if (problem.empty()) {
      start(number, found->second);
      continue;
    }
    auto then = std::move(found->second.then);
    commands_.erase(found);
    then(tl::unexpected("cannot bring the program there: " + problem));
  }
}

std::optional<steady_time> exec_commands::give_up_late(steady_time now) {
  std::vector<std::pair<on_reply, std::string>> late;
  std::optional<steady_time> next;
  for (auto each = commands_.begin(); each != commands_.end();) {
    auto& what = each->second;
    auto late_at = now + what.timeout + defaults::late_command;  // the program is being brought: that ends in time
    std::string why = "the command did not come back in time";
    if (!what.awaits_program) {
      auto const taken_at = what.begin->taken_at();
      late_at = taken_at ? *taken_at + what.timeout + defaults::late_command : what.asked_at + patience_;
      if (!taken_at && late_at <= now) {
        if (!what.begin->withdraw()) continue;  // taken in this moment: looked at again
        why = "no thread was free to run the command; those that there are may hang";
      }
    }
    if (late_at <= now) {
      late.emplace_back(std::move(what.then), std::move(why));
      each = commands_.erase(each);
      continue;
    }
    next = next ? std::min(*next, late_at) : late_at;
    ++each;
  }
  for (auto const& [then, why] : late) then(tl::unexpected(why));
  return next;
}

}  // namespace holdfast::env
