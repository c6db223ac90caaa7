#include "actors/env/exec_per_call.hpp"

#include <algorithm>
#include <utility>

#include <boost/json/array.hpp>

#include "actors/base/defaults.hpp"
#include "actors/base/hash.hpp"
#include "actors/link/decoder.hpp"
#include "actors/link/frame.hpp"
#include "actors/link/json_reader.hpp"

namespace holdfast::env {

namespace json = boost::json;
using std::chrono::steady_clock;
using what = order_per_call::what;

namespace {

milliseconds margin_of(exec_registration const& registered) { return std::min(defaults::command_margin, registered.longest / 2); }

/// What an `ended` says; none: it is not one.
std::optional<per_call_ended> read_ended(relay_reply const& reply) {
  std::string problem;
  link::json_fields fields(reply.head, "ended", problem);
  per_call_ended made;
  made.exit_code = static_cast<int>(fields.optional_integer("exit_code").value_or(0));
  auto const* timed_out = reply.head.if_contains("timed_out");
  made.timed_out = timed_out != nullptr && timed_out->is_bool() && timed_out->get_bool();
  made.out_bytes = fields.number("stdout_bytes");
  made.err_bytes = fields.number("stderr_bytes");
  if (auto const line = fields.optional_text("reply")) made.reply = read_per_call_reply(*line);
  if (text_of(reply, "type") != "ended" || !problem.empty()) return std::nullopt;
  return made;
}

std::vector<per_call_said::piece> read_output(std::string const& frames) {
  std::vector<per_call_said::piece> pieces;
  link::decoder bytes;
  bytes.feed(frames);
  while (auto item = bytes.next()) {
    auto const* frame = std::get_if<link::frame>(&*item);
    if (frame == nullptr) continue;
    auto message = link::parse_from_kernel(frame->payload);
    if (auto* said = message ? std::get_if<link::output>(&*message) : nullptr)
      pieces.push_back({said->stream, said->offset, std::move(said->text)});
  }
  return pieces;
}

}  // namespace

std::list<exec_per_calls::one>::iterator exec_per_calls::find(std::string const& name) {
  return std::find_if(all_.begin(), all_.end(), [&](auto const& each) { return each.name == name; });
}

std::list<exec_per_calls::one>::iterator exec_per_calls::find(caf::actor const& asker, std::uint64_t number) {
  return std::find_if(all_.begin(), all_.end(),
                      [&](auto const& each) { return each.asker == asker && each.plan.number == number; });
}

milliseconds exec_per_calls::longest_cell() const {
  auto const most = options_.registered.longest - margin_of(options_.registered);
  return most - std::min(options_.settings.interrupt_grace, most / 2);
}

json::object exec_per_calls::head_for(one const& of, milliseconds timeout) const {
  json::object own;
  for (auto const& [name, value] : of.plan.session) own[name] = value;
  auto const& passed = options_.settings.pass_env;
  return {{"operation", "per_call"},
          {"call", of.name},
          {"python", of.plan.python.empty() ? options_.registered.python : of.plan.python},
          {"cwd", of.plan.cwd},
          {"env", std::move(own)},
          {"usual", usual_variables()},
          {"pass_env", json::array(passed.begin(), passed.end())},
          {"timeout_ms", timeout.count()},
          {"interrupt_grace_ms", options_.settings.interrupt_grace.count()}};
}

void exec_per_calls::start(run_per_call asked) {
  waiting_.push_back(std::move(asked));
  start_next();
}

void exec_per_calls::forget(std::list<one>::iterator over) {
  all_.erase(over);
  start_next();
}

void exec_per_calls::start_next() {
  if (waiting_.empty() || all_.size() >= defaults::per_call_most) return;
  auto asked = std::move(waiting_.front());
  waiting_.pop_front();
  auto const& made = all_.emplace_back(one{"p-" + random_hex(16), std::move(asked.asker), std::move(asked.plan)});
  run_(head_for(made, milliseconds{0}), {}, margin_of(options_.registered), false,
       [this, name = made.name](auto const& reply) { on_probed(name, reply); });
}

void exec_per_calls::on_probed(std::string const& name, tl::expected<relay_reply, std::string> const& reply) {
  auto const found = find(name);
  if (found == all_.end()) return;
  if (reply && text_of(*reply, "type") == "ready") return self_->send(found->asker, per_call_ready{found->plan.number});
  auto const asker = std::move(found->asker);
  auto const number = found->plan.number;
  forget(found);
  self_->send(asker, per_call_refused{number, reply ? text_of(*reply, "message") : reply.error()});
}

void exec_per_calls::order(order_per_call const& given) {
  auto const found = find(given.asker, given.number);
  if (found == all_.end()) {
    if (given.order == what::kill)
      waiting_.remove_if([&](auto const& each) { return each.asker == given.asker && each.plan.number == given.number; });
    return;
  }
  if (given.order == what::go) return go(*found, given.source);
  if (found->is_begun) return want(*found, given.order);
  if (given.order == what::kill) forget(found);
}

void exec_per_calls::go(one& begun, std::string const& source) {
  begun.is_begun = true;
  auto const longest = longest_cell();
  auto const asked = begun.plan.timeout;
  auto const cut_to = asked.count() == 0 || asked > longest ? longest : milliseconds{0};
  auto const timeout = cut_to.count() > 0 ? cut_to : asked;
  std::string frames;
  link::append(frames, 1, 0, source);
  auto const all = timeout + options_.settings.interrupt_grace + margin_of(options_.registered);
  run_(head_for(begun, timeout), std::move(frames), std::min(all, options_.registered.longest), false,
       [this, name = begun.name, cut_to](auto reply) { on_ended(name, cut_to, std::move(reply)); });
}

void exec_per_calls::on_ended(std::string const& name, milliseconds cut_to, tl::expected<relay_reply, std::string> reply) {
  auto const found = find(name);
  if (found == all_.end()) return;
  auto const asker = std::exchange(found->asker, {});
  auto const number = found->plan.number;
  if (reply && text_of(*reply, "type") == "refused") {
    forget(found);
    return self_->send(asker, per_call_refused{number, text_of(*reply, "message")});
  }
  auto ended = reply ? read_ended(*reply) : std::nullopt;
  if (ended) {
    if (auto pieces = read_output(reply->frames); !pieces.empty()) self_->send(asker, per_call_said{number, std::move(pieces)});
    forget(found);
  } else {
    log::warn("per-call-lost", "{}: nothing is known of the end of a cell without a kernel: {}", options_.registered.name,
              reply ? text_of(*reply, "message") : reply.error());
    ended.emplace();
    want(*found, what::kill);
  }
  ended->number = number;
  ended->cut_to = cut_to;
  self_->send(asker, std::move(*ended));
}

/// A kill is not overridden by an interrupt.
void exec_per_calls::want(one& of, what order) {
  auto const is_underway = of.wanted && !of.try_at;
  if (of.wanted != what::kill) of.wanted = order;
  of.retry_delay = defaults::attach_retry_first;
  if (!is_underway) try_order(of);
}

void exec_per_calls::try_order(one& of) {
  of.try_at.reset();
  auto const order = *of.wanted;
  json::object head{{"operation", "per_call_order"}, {"call", of.name}, {"order", order == what::kill ? "kill" : "interrupt"}};
  run_(std::move(head), {}, margin_of(options_.registered), true,
       [this, name = of.name, order](auto const& reply) { on_ordered(name, order, reply); });
}

/// Its relay may not listen yet, or the host may be away: tried again for as long as the cell's own command is out.
void exec_per_calls::on_ordered(std::string const& name, what order, tl::expected<relay_reply, std::string> const& reply) {
  auto const found = find(name);
  if (found == all_.end()) return;
  auto& of = *found;
  auto const is_taken = reply && text_of(*reply, "state") == "taken";
  if (!of.asker && (is_taken || ++of.tries >= defaults::removals_tried)) {
    forget(found);
    return remove_(name);
  }
  if (is_taken && of.wanted == order) return of.wanted.reset();
  of.retry_delay = is_taken ? milliseconds{0} : std::min(of.retry_delay * 2, defaults::attach_retry_most);
  of.try_at = steady_clock::now() + of.retry_delay;
  wake_(*of.try_at);
}

void exec_per_calls::on_wake(steady_time now) {
  for (auto& each : all_)
    if (each.try_at && *each.try_at <= now)
      try_order(each);
    else if (each.try_at)
      wake_(*each.try_at);
}

}  // namespace holdfast::env
