#include "actors/core/kernel.hpp"

#include <signal.h>

#include <algorithm>

#include <caf/io/middleman.hpp>
#include <caf/io/system_messages.hpp>

#include "actors/base/caf.hpp"
#include "actors/base/failpoints.hpp"
#include "actors/core/attach_patience.hpp"
#include "actors/core/kernel_reach.hpp"
#include "actors/core/lifecycle.hpp"
#include "actors/core/workers.hpp"

namespace holdfast::core {

/// To itself: what was sent in this turn is to leave.
struct flush_now {};

}  // namespace holdfast::core

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::flush_now)

namespace holdfast::core {

namespace {

using std::chrono::steady_clock;

struct kernel_actor final : kernel_port, std::enable_shared_from_this<kernel_actor> {
  kernel_actor(caf::io::broker* broker, shared_context context, kernel_plan plan)
      : self(broker),
        shared(std::move(context)),
        row(std::move(plan.row)),
        session(std::move(plan.session)),
        spawn(std::move(plan.spawn)),
        ends(plan.ends),
        reach(row.environment == "local" ? reach_locally(self, shared, {row, [this] { apply(kernel_event::process_gone); }})
                                         : reach_by_commands(self, shared, shared->environment_of(row.environment), {row, {}})),
        link(reach->link()) {}

  caf::io::broker* self;
  shared_context shared;
  storage::link_record row;  // as it was when this actor was made; process, token and protocol matter here
  caf::actor session;
  std::optional<env::spawn_kernel> spawn;
  bool ends;
  std::unique_ptr<kernel_reach> reach;
  link::transport& link;  // of `reach`
  kernel_state now = kernel_state::spawning;
  alarm wake;
  milliseconds retry_delay{0};
  milliseconds kill_delay = defaults::kill_retry_first;
  std::optional<steady_time> retry_at;        // while dropped or silent
  std::optional<steady_time> hello_deadline;  // while a connection waits for hello
  std::optional<steady_time> kill_at;         // a shutdown was asked for
  std::optional<steady_time> ack_at;          // a bare ack is due then
  std::optional<steady_time> look_at;         // attached to one that cannot say that something has come
  steady_time asked_at;                       // the newest attempt to attach
  attach_patience patience;
  std::string why_unreachable;
  bool had_hello = false;
  bool flushes_soon = false;  // flush_now is on its way
  env::exit_known exit_told;

  config const& settings() const { return shared->settings; }

  void start() {
    if (spawn) {
      if (failpoint(failpoint_id::core_before_spawn_requested))
        return on_refused({error_code::start_failed, "cannot start kernel " + row.kernel.text + ": the request failed", {}});
      spawn->asker = caf::actor_cast<caf::actor>(self);
      auto const environment = shared->environment_of(row.environment);
      if (!environment) return on_refused(shared->unknown_environment(row.environment));
      shared->send_to_environment(row.environment, *spawn);
      return;
    }
    now = kernel_state::attaching;
    ends ? kill() : connect();
  }

  /// False when its process is proven gone, and the machine told so.
  bool identify() {
    if (reach->identify(row.process)) return true;
    apply(kernel_event::process_gone);
    return false;
  }

  // ---- the machine ----

  void apply(kernel_event event, std::string const& why = {}) {
    auto const step = on_event(now, event);
    if (!step) return;
    now = step->next;
    switch (step->action) {
      case kernel_action::connect: return connect();
      case kernel_action::none: return;
      case kernel_action::tell_unreachable:
        log::warn("kernel-unreachable", "kernel {} is unreachable: {}", row.kernel.text, why);
        self->send(session, kernel_unreachable{row.kernel, why});
        [[fallthrough]];
      case kernel_action::retry:
        why_unreachable = why;
        patience.on_unreachable(steady_clock::now(),
                                kill_at ? settings().scaled(settings().attach_budget) : reach->attach_budget());
        return retry_later();
      case kernel_action::wait:
        why_unreachable = "it runs and does not answer";
        patience.on_silent(steady_clock::now(), asked_at, settings().scaled(defaults::silence_most));
        return retry_later();
      case kernel_action::give_up:
        log::warn("kernel-given-up", "kernel {} is given up: {}", row.kernel.text, why_unreachable);
        link.close();
        reach->stop_watching();
        return read_remains_of(0);
      case kernel_action::ask_exit:
        link.close();
        reach->stop_watching();
        return reach->ask_exit(row.kernel, row.nursery, state_path(row.session, row.slot));
      case kernel_action::leave:
        log::warn("kernel-left", "kernel {} belongs to another home: left alone", row.kernel.text);
        self->send(session, kernel_left{row.kernel});
        return finish();
    }
  }

  void finish() {
    now = kernel_state::ended;
    link.close();
    reach->stop_watching();
    self->quit();
  }

  // ---- spawning ----

  void on_spawned(env::kernel_spawned const& answer) {
    row.nursery = answer.nursery;
    row.process = answer.process;
    self->send(session, kernel_live{row.kernel, answer.nursery, answer.python, answer.program, answer.process});
    apply(kernel_event::spawned);
    if (kill_at) kill();  // its end was ordered while nobody knew the process
  }

  void on_refused(error problem) {
    self->send(session, kernel_start_failed{row.kernel, std::move(problem), false});
    apply(kernel_event::spawn_refused);
    finish();
  }

  // ---- attaching ----

  void connect() {
    retry_at.reset();
    if (!identify()) return;
    if (failpoint(failpoint_id::core_before_attach_sent)) return apply(kernel_event::link_lost, "attach was not sent");
    auto const& found = shared->stores->found();
    auto const problem = reach->connect({row.kernel.text, row.token, found.home.id, found.incarnation, link.recorded(),
                                         static_cast<std::uint64_t>(settings().scaled(settings().grace).count()), row.protocol},
                                        spawn && !had_hello);
    asked_at = steady_clock::now();
    if (problem) return problem->listens ? on_no_hello() : apply(kernel_event::link_lost, problem->why);
    if (auto const within = reach->hello_patience()) {
      hello_deadline = steady_clock::now() + *within;
      wake.at(self, *hello_deadline);
    }
  }

  /// It has taken the connection, or lets it wait: whether it is silent or unreachable its process tells.
  void on_no_hello() {
    auto const found = reach->inspect();
    if (found == process_state::gone) return apply(kernel_event::process_gone);
    if (found == process_state::running) return apply(kernel_event::no_hello);
    apply(kernel_event::link_lost, std::string("no hello in time, its process is ") + to_string(found));
  }

  void retry_later() {
    retry_delay = retry_delay.count() == 0 ? defaults::attach_retry_first : std::min(retry_delay * 2, defaults::attach_retry_most);
    retry_at = steady_clock::now() + settings().scaled_delay(retry_delay);
    for (auto const& each : {retry_at, patience.give_up_at, patience.tell_silence_at})
      if (each) wake.at(self, *each);
  }

  void on_link_lost(std::string const& why) {
    link.close();
    hello_deadline.reset();
    ack_at.reset();
    look_at.reset();
    apply(kernel_event::link_lost, why);
  }

  void on_hello(link::hello const& message) {
    hello_deadline.reset();
    patience.on_answer();
    retry_delay = milliseconds{0};
    if (failpoint(failpoint_id::core_after_hello)) return on_link_lost("the hello was not taken");
    auto const is_reattached = !std::exchange(had_hello, true) && row.epoch > 0;
    apply(kernel_event::hello);
    row.process = message.process;
    if (!identify()) return;
    log::info("kernel-attached", "kernel {} attached, pid {}, epoch {}", row.kernel.text, message.process.pid, message.epoch);
    self->send(session,
               kernel_attached{row.kernel, message.epoch, message.process, message.protocol, is_reattached, shared_from_this()});
  }

  // ---- data ----

  void send(std::string payload) override {
    if (now == kernel_state::ended) return;
    ack_at.reset();
    // 4096 frames unacked: it does not read. Its connection is given up and made anew; deadlines end what hangs.
    if (!link.send(std::move(payload))) return on_link_lost("its window is full");
    if (link.ack_due()) schedule_ack();
    flush_soon();
  }

  void send_execute(std::string payload) override {
    if (failpoint(failpoint_id::link_before_execute_sent)) on_link_lost("execute could not be written");
    send(std::move(payload));
    (void)failpoint(failpoint_id::link_after_execute_sent);
  }

  /// At the end of this turn, with whatever else is sent in it.
  void flush_soon() {
    if (!reach->socket() && !std::exchange(flushes_soon, true)) self->send(self, flush_now{});
  }
  void flush() {
    flushes_soon = false;
    if (now == kernel_state::ended) return;
    reach->flush();
    look_at.reset();
    if (auto const after = reach->look_after()) {
      look_at = steady_clock::now() + *after;
      wake.at(self, *look_at);
    }
  }

  void on_events(std::vector<link::event> events) {
    std::vector<said> frames;
    std::optional<std::string> broken;
    auto is_gone = false;
    for (auto& event : events) {
      if (auto* hello = std::get_if<link::hello>(&event)) {
        on_hello(*hello);
      } else if (auto* frame = std::get_if<link::frame>(&event)) {
        frames.push_back(read_frame(frame->seq, frame->payload));
      } else if (auto* skipped = std::get_if<link::oversized>(&event)) {
        frames.push_back({skipped->seq, unreadable{"", "a frame of " + std::to_string(skipped->length) + " bytes"}});
      } else if (auto* no = std::get_if<link::refused>(&event)) {
        log::warn("kernel-refused", "kernel {} refused the attach: {} {}", row.kernel.text, no->reason, no->message);
        link.close();
        hello_deadline.reset();
        if (no->reason == "wrong_token") return apply(kernel_event::wrong_token);
        if (no->reason == "other_home") return apply(kernel_event::other_home);
        if (no->reason != "unsupported") return apply(kernel_event::link_lost, no->message);
        return std::exchange(row.protocol, no->protocol) == no->protocol ? kill() : connect();
      } else if (auto* problem = std::get_if<link::broken>(&event)) {
        broken = problem->reason;
      } else {
        is_gone = true;
      }
    }
    if (!frames.empty()) self->send(session, kernel_said{row.kernel, std::move(frames)});
    if (is_gone) return apply(kernel_event::process_gone);
    if (broken) on_link_lost(*broken);
    flush_soon();
  }

  void record(std::uint64_t seq) override {
    if (now == kernel_state::ended) return;
    link.record(seq);
    if (link.ack_due()) schedule_ack();
    flush_soon();
  }

  steady_time::duration waited() const override { return reach->waited(); }

  void schedule_ack() {
    if (ack_at) return;
    ack_at = steady_clock::now() + defaults::ack_delay;
    wake.at(self, *ack_at);
  }

  // ---- the end ----

  bool is_over() const { return now == kernel_state::dying || now == kernel_state::given_up || now == kernel_state::ended; }

  void on_end(end_kernel const& order) {
    if (is_over()) return;
    log::info("kernel-ending", "kernel {} is ended: {}", row.kernel.text, to_string(order.reason));
    if (order.way == end_kernel::how::shutdown && link.is_attached()) {
      send(link::to_json(link::shutdown{std::string(to_string(order.reason))}));
      kill_at = steady_clock::now() + settings().interrupt_grace + defaults::kill_margin;
      wake.at(self, *kill_at);
      return;
    }
    if (order.way == end_kernel::how::abort && identify() && reach->signal(SIGABRT))
      return wake.at(self, *(kill_at = steady_clock::now() + defaults::abort_patience));
    kill();
  }

  /// Again and again, until the process is known to be gone: a signal to another host may be lost, and without an identified process there
  /// is nothing that may be signalled yet.
  void kill() {
    kill_at.reset();
    if (is_over() || !identify()) return;
    kill_at = steady_clock::now() + std::exchange(kill_delay, std::min(kill_delay * 2, defaults::kill_retry_most));
    wake.at(self, *kill_at);
    if (reach->signal(SIGKILL)) return;
    // It cannot be identified from here, as in another pid namespace: it is told through its socket.
    if (link.is_attached()) send(link::to_json(link::shutdown{"ended"}));
  }

  void on_exit_known(env::exit_known const& known) {
    exit_told = known;
    read_remains_of(reach->socket() ? row.process.pid : 0);
  }

  /// `pid`: whose processes are ended, should no nursery have done it; 0: nobody's.
  void read_remains_of(std::int32_t pid) {
    self->send(shared->files, read_remains{caf::actor_cast<caf::actor>(self), row.kernel, pid, shared->path(row.directory),
                                           shared->path(state_path(row.session, row.slot))});
  }

  void on_remains(remains_found found) {
    if (exit_told.report) found.left.exit = std::move(exit_told.report);
    if (auto const& there = exit_told.state) found.left.state = {there->bytes, there->written_at};
    kernel_dead told{row.kernel, std::move(found.left), {}, row.protocol != link::protocol};
    if (now == kernel_state::given_up) told.given_up = why_unreachable;
    apply(kernel_event::remains_read);
    self->send(session, std::move(told));
    finish();
  }

  void on_wake() {
    auto const time = steady_clock::now();
    auto const due = [&](std::optional<steady_time>& when) { return wake.due(self, when, time); };
    if (due(ack_at) && link.ack_due() && !failpoint(failpoint_id::link_before_ack)) {
      link.write_ack();
      (void)failpoint(failpoint_id::link_after_ack);
    }
    // The connection is kept: reconnecting would only fill the backlog of a process that does not accept.
    if (due(hello_deadline)) on_no_hello();
    // One that never answered never ran anything: it is no orphan but ended, and its end waited for until the next attempt.
    if (due(patience.give_up_at)) row.epoch == 0 && !had_hello && !kill_at ? kill() : apply(kernel_event::budget_spent);
    auto const is_sought = now == kernel_state::dropped || now == kernel_state::silent;
    if (due(retry_at) && is_sought) link.is_open() ? on_no_hello() : connect();
    if (now == kernel_state::silent && due(patience.tell_silence_at)) {
      patience.on_silence_told();
      log::warn("kernel-silent", "kernel {} runs and does not answer; it is waited for", row.kernel.text);
      self->send(session, kernel_silent{row.kernel});
    }
    if (due(kill_at)) kill();
    if (due(look_at)) reach->look();
  }
};

}  // namespace

caf::actor spawn_kernel_actor(caf::actor_system& system, shared_context shared, kernel_plan plan) {
  return system.middleman().spawn_broker(
      [shared = std::move(shared), plan = std::move(plan)](caf::io::broker* self) -> caf::behavior {
        set_handlers(self, "kernel");
        auto state = std::make_shared<kernel_actor>(self, shared, plan);
        state->start();
        return {
            [state](end_kernel const& order) { state->on_end(order); },
            [state](let_go) { state->finish(); },
            [state](env::kernel_spawned const& answer) { state->on_spawned(answer); },
            [state](env::spawn_refused const& answer) { state->on_refused(answer.problem); },
            [state](env::exit_known const& known) { state->on_exit_known(known); },
            [state](remains_found& found) { state->on_remains(std::move(found)); },
            [state](caf::io::new_data_msg const& message) {
              auto* socket = state->reach->socket();
              if (socket && socket->is(message.handle)) state->on_events(socket->on_data(message.buf));
            },
            [state](caf::io::data_transferred_msg const& message) {
              if (auto* socket = state->reach->socket()) socket->on_transferred(message.remaining);
            },
            [state](caf::io::connection_closed_msg const& message) {
              if (auto* socket = state->reach->socket(); socket && socket->is(message.handle)) {
                socket->on_closed();
                state->on_link_lost("the connection was closed");
              }
            },
            [state](env::carried& answer) { state->on_events(state->reach->on_carried(std::move(answer))); },
            [state](env::process_signalled const& answer) {
              if (answer.is_gone) state->apply(kernel_event::process_gone);
            },
            [state](flush_now) { state->flush(); },
            [state](wake_up const& message) {
              if (state->wake.take(message)) state->on_wake();
            },
        };
      });
}

}  // namespace holdfast::core
