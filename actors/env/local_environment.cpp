#include "actors/env/local_environment.hpp"

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <list>

#include <caf/event_based_actor.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/system_messages.hpp>
#include <caf/send.hpp>

#include "actors/base/clock.hpp"
#include "actors/base/defaults.hpp"
#include "actors/base/failpoints.hpp"
#include "actors/base/hash.hpp"
#include "actors/base/home.hpp"
#include "actors/base/identity.hpp"
#include "actors/base/unix_socket.hpp"
#include "actors/env/interpreter.hpp"
#include "actors/env/nursery.hpp"
#include "actors/env/spawn_message.hpp"
#include "actors/env/start_nursery.hpp"
#include "bin/kernel/program.hpp"

namespace holdfast::env {

/// What the detached starter reports.
struct nursery_started {
  nursery_id nursery;
  result<void> outcome;
};

}  // namespace holdfast::env

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::env::nursery_started)

namespace holdfast::env {

namespace {

using std::chrono::steady_clock;

/// Runs start_nursery on a thread of its own and reports once.
void start_aside(caf::actor_system& system, caf::actor const& reporter, nursery_plan plan) {
  system.spawn<caf::detached>([reporter, plan = std::move(plan)] {
    auto outcome = start_nursery(plan);
    // Without a sender: in the mailbox of an environment that has let go, it would keep this actor and so the process.
    caf::anon_send(reporter, nursery_started{plan.row.nursery, std::move(outcome)});
  });
}

struct local_state {
  /// Who waits for the end of a kernel, and until when.
  struct exit_wait {
    await_exit asked;
    steady_time until;
  };

  local_state(caf::io::broker* broker, local_options given) : self(broker), options(std::move(given)) {}

  caf::io::broker* self;
  local_options options;
  std::list<nursery> nurseries;  // stable addresses; few
  std::vector<exit_wait> exit_waits;
  alarm wake;
  std::optional<steady_time> quit_by;  // it lets go of nurseries, or ends them, until then

  // ---- spawning ----

  void on_spawn(spawn_kernel request) {
    auto const python = find_interpreter(request.python, options.settings, options.gateway_variables, request.variables);
    if (!python) return refuse(request, python.error().message);
    auto* known = nursery_for(python->string(), request.variables);
    if (known == nullptr)
      return refuse(request, "cannot record a nursery for kernel " + request.kernel.text + "; is the disk full?");
    auto& chosen = *known;
    auto due = steady_clock::now() + options.settings.scaled(defaults::spawn_deadline);
    if (chosen.now == nursery::phase::starting) due += defaults::nursery_start;
    chosen.ask_deadlines[request.kernel] = due;
    auto const kernel = request.kernel;
    chosen.asked.insert_or_assign(kernel, std::move(request));
    if (chosen.now == nursery::phase::attached) write_spawn(chosen, chosen.asked.at(kernel));
    wake.at(self, due);
  }

  void refuse(spawn_kernel const& request, std::string message) {
    self->send(request.asker, spawn_refused{error{error_code::start_failed, std::move(message), {}}});
  }

  /// The one for this interpreter, started if there is none; null when it cannot be recorded.
  nursery* nursery_for(std::string const& python, variables const& session) {
    auto const interpreter = nursery_variables(options.gateway_variables, options.settings.pass_env, session);
    auto const key = nursery_key(python, options.settings.preload, interpreter);
    for (auto& candidate : nurseries)
      if (candidate.row.key == key) return &candidate;

    storage::nursery_record row;
    row.nursery = nursery_id("y-" + make_ulid());
    row.key = key;
    row.python = python;
    row.program = program_digest();
    row.token = random_hex(32);
    row.directory = "nursery/" + row.nursery.text;
    row.started_at = now_ms();
    if (!options.record({storage::put_nursery{row}})) return nullptr;  // before it is started: a restart must find it
    auto& made = nurseries.emplace_back(self, row);
    auto const& settings = options.settings;
    start_aside(self->system(), caf::actor_cast<caf::actor>(self),
                {settings.home, row, options.home_id, settings.preload, interpreter, settings.failpoints, settings.failpoint_log,
                 settings.scaled(defaults::nursery_idle).count()});
    return &made;
  }

  void write_spawn(nursery& to, spawn_kernel const& request) {
    auto const message = spawn_message(request, options.settings, options.gateway_variables, options.home_id);
    if (auto made = make_private_directory(message.directory); !made) return finish(to, request.kernel, made.error().message);
    if (!to.link.send(link::to_json(message))) finish(to, request.kernel, "the nursery's window is full");
  }

  /// Answers one asked spawn with a refusal and forgets it.
  void finish(nursery& from, kernel_id const& kernel, std::string const& message) {
    auto found = from.asked.find(kernel);
    if (found == from.asked.end()) return;
    refuse(found->second, "cannot start kernel " + kernel.text + ": " + message);
    from.ask_deadlines.erase(kernel);
    from.asked.erase(found);
  }

  // ---- the life of a nursery ----

  nursery* find(nursery_id const& wanted) {
    auto found = std::find_if(nurseries.begin(), nurseries.end(), [&](auto const& each) { return each.row.nursery == wanted; });
    return found == nurseries.end() ? nullptr : &*found;
  }
  nursery* find(caf::io::connection_handle handle) {
    auto found = std::find_if(nurseries.begin(), nurseries.end(), [&](auto const& each) { return each.link.is(handle); });
    return found == nurseries.end() ? nullptr : &*found;
  }

  void on_started(nursery_started const& report) {
    auto* started = find(report.nursery);
    if (started == nullptr) return;
    if (!report.outcome) {
      log::error("nursery-failed", "nursery {} did not start: {}", report.nursery.text, report.outcome.error().message);
      forget(*started, report.outcome.error().message);
      return;
    }
    connect(*started);
  }

  void connect(nursery& to) {
    to.now = nursery::phase::attaching;
    if (failpoint(failpoint_id::core_before_attach_sent)) return retry_later(to);
    auto socket = connect_unix(options.settings.home / to.row.directory / "nursery.sock");
    if (!socket) {
      // Never identified and nobody listens: it is gone. Else its pidfd tells.
      if (!to.watch && (socket.error() == ENOENT || socket.error() == ECONNREFUSED))
        return forget(to,
                      to.row.python + " ended without a sign of life; see that it is a python from 3.8 on, or name another one");
      return retry_later(to);
    }
    if (!is_trusted_peer(socket->get()) || is_other_peer(socket->get(), to.row.process)) return retry_later(to);
    to.link.open(std::move(*socket),
                 {to.row.nursery.text, to.row.token, options.home_id, options.incarnation, to.link.recorded(),
                  static_cast<std::uint64_t>(options.settings.scaled(defaults::nursery_idle).count()), to.speaks});
  }

  void retry_later(nursery& which) {
    which.link.close();
    which.now = nursery::phase::attaching;
    auto const most = defaults::attach_retry_most;
    which.retry_delay = which.retry_delay.count() == 0 ? defaults::attach_retry_first : std::min(which.retry_delay * 2, most);
    which.next_try = steady_clock::now() + options.settings.scaled_delay(which.retry_delay);
    wake.at(self, which.next_try);
  }

  void relink(storage::nursery_record const& row) {
    auto& known = nurseries.emplace_back(self, row);
    if (is_there(known, "it ended while no daemon ran")) connect(known);
  }

  void watch(nursery& which, unique_fd pidfd) {
    which.watch = process_watch(self, std::move(pidfd), [this, id = which.row.nursery] {
      if (auto* dead = find(id)) forget(*dead, "it ended");
    });
  }

  /// False: it is gone, and forgotten.
  bool is_there(nursery& which, char const* why_not) {
    if (which.watch || which.row.process.pid == 0) return true;
    auto pidfd = open_pidfd(which.row.process);
    if (pidfd) watch(which, std::move(*pidfd));
    auto const is_gone = !pidfd && pidfd.error() == process_state::gone;
    if (is_gone) forget(which, why_not);
    return !is_gone;
  }

  void on_hello(nursery& from, link::hello const& message) {
    from.now = nursery::phase::attached;
    from.retry_delay = milliseconds{0};
    auto const python = message.python.empty() ? from.row.python : message.python;
    if (!(from.row.process == message.process) || from.row.python != python) {
      from.row.process = message.process;
      from.row.python = python;  // a shim on PATH is not what runs
      options.record({storage::put_nursery{from.row}});
    }
    if (!is_there(from, "it ended")) return;
    log::info("nursery-attached", "nursery {} attached, pid {}, epoch {}", from.row.nursery.text, message.process.pid,
              message.epoch);
    if (from.row.program != program_digest()) (void)from.link.send(link::to_json(link::shutdown{"upgraded"}));  // once childless
    auto const waiting = from.asked;  // perhaps lost with an earlier connection; writing may refuse and forget one
    for (auto const& [kernel, request] : waiting)
      if (auto found = from.asked.find(kernel); found != from.asked.end()) write_spawn(from, found->second);
  }

  /// Proof of absence: what was asked of it goes to a fresh nursery once, its kernels' ends will not be reported.
  void forget(nursery& dead, std::string const& why, bool is_ours = true) {
    log::warn("nursery-gone", "nursery {} is gone: {}", dead.row.nursery.text, why);
    auto asked = std::move(dead.asked);
    auto const had_started = dead.now != nursery::phase::starting;
    auto const id = dead.row.nursery;
    dead.link.close();
    options.record({storage::erase_nursery{id}});
    nurseries.remove_if([&](auto const& each) { return each.row.nursery == id; });
    if (std::error_code ignored; is_ours) std::filesystem::remove_all(options.settings.home / "nursery" / id.text, ignored);
    for (auto& [kernel, request] : asked) {
      if (had_started && !quit_by && ++request.attempts < defaults::spawn_attempts)
        on_spawn(std::move(request));
      else
        refuse(request, why);
    }
    tell_exit(exit_known{}, [&](auto const& each) { return each.asked.nursery == id; });
    if (quit_by) wake.at(self, steady_clock::now());  // a broker that quits outside of a message of its own stays
  }

  // ---- what a nursery says ----

  void on_frame(nursery& from, link::frame const& frame) {
    auto said = link::parse_from_nursery(frame.payload);
    from.link.record(frame.seq);
    if (!said) {
      log::warn("bad-frame", "nursery {} sent a bad frame at seq {}: {}", from.row.nursery.text, frame.seq, said.error());
      return;
    }
    if (auto* spawned = std::get_if<link::spawned>(&*said)) {
      auto found = from.asked.find(spawned->kernel);
      if (found == from.asked.end()) return;
      auto const& own = from.row.process;  // what it numbers is of its own pid namespace, whichever is ours
      storage::process_identity process{own.boot_id, own.pid_namespace, spawned->pid, spawned->start_time};
      self->send(found->second.asker, kernel_spawned{from.row.nursery, from.row.python, from.row.program, std::move(process)});
      from.ask_deadlines.erase(spawned->kernel);
      from.asked.erase(found);
    } else if (auto* failed = std::get_if<link::spawn_failed>(&*said)) {
      finish(from, failed->kernel, failed->message);
    } else if (auto* exited = std::get_if<link::exited>(&*said)) {
      tell_exit(exit_known{*exited}, [&](auto const& each) { return each.asked.kernel == exited->kernel; });
    }
  }

  void on_data(caf::io::new_data_msg const& message) {
    auto* from = find(message.handle);
    if (from == nullptr) return;
    auto const id = from->row.nursery;
    for (auto& event : from->link.on_data(message.buf)) {
      if (auto* said = std::get_if<link::hello>(&event))
        on_hello(*from, *said);
      else if (auto* frame = std::get_if<link::frame>(&event))
        on_frame(*from, *frame);
      else if (auto* skipped = std::get_if<link::oversized>(&event))
        from->link.record(skipped->seq);
      else if (auto* no = std::get_if<link::refused>(&event)) {
        log::error("nursery-refused", "nursery {} refused the attach: {} {}", id.text, no->reason, no->message);
        if (no->reason == "unsupported") from->speaks = no->protocol;
        auto const is_ours = no->reason != "other_home";
        if (no->reason == "wrong_token" || !is_ours)
          forget(*from, is_ours ? "another process answers in its place" : "it belongs to another home", is_ours);
        else
          retry_later(*from);
      } else if (auto* problem = std::get_if<link::broken>(&event)) {
        log::warn("nursery-link-broken", "nursery {}: {}", id.text, problem->reason);
        retry_later(*from);
      }
      from = find(id);
      if (from == nullptr) return;
    }
    if (from->link.ack_due()) from->link.write_ack();
  }

  // ---- how a kernel ended ----

  /// To those who wait for one that is meant; they wait no more.
  template <class Which>
  void tell_exit(exit_known const& known, Which is_meant) {
    for (auto const& each : exit_waits)
      if (is_meant(each)) self->send(each.asked.asker, known);
    std::erase_if(exit_waits, is_meant);
  }

  void on_await_exit(await_exit request) {
    // Its report may have come before anyone asked: the exit file was written first.
    auto const exit_file = options.settings.home / "run" / request.kernel.text / "exit";
    if (find(request.nursery) == nullptr || std::filesystem::exists(exit_file)) {
      self->send(request.asker, exit_known{});
      return;
    }
    auto const until = steady_clock::now() + options.settings.scaled(defaults::exit_report_deadline);
    exit_waits.push_back({std::move(request), until});
    wake.at(self, until);
  }

  void on_wake() {
    if (quit_by) return quit_if_done();
    auto const now = steady_clock::now();
    std::vector<nursery_id> due;
    for (auto& each : nurseries) {
      std::vector<kernel_id> late;
      for (auto const& [kernel, deadline] : each.ask_deadlines)
        if (deadline <= now)
          late.push_back(kernel);
        else
          wake.at(self, deadline);
      for (auto const& kernel : late) finish(each, kernel, "its nursery did not answer in time; see its nursery.log");
      if (each.now != nursery::phase::attaching || each.link.is_open()) continue;
      if (each.next_try <= now)
        due.push_back(each.row.nursery);
      else
        wake.at(self, each.next_try);
    }
    for (auto const& id : due)
      if (auto* retried = find(id)) connect(*retried);
    tell_exit(exit_known{}, [&](auto const& each) { return each.until <= now; });
    for (auto const& each : exit_waits) wake.at(self, each.until);
  }

  /// They end as soon as they have no child; one that does not is killed.
  void on_let_go(let_go const& order) {
    if (!order.ends_nurseries) nurseries.clear();  // links are closed with the broker; the nurseries live on
    quit_by = steady_clock::now() + options.settings.scaled(defaults::settle_deadline);
    for (auto& each : nurseries)
      if (each.link.is_attached()) (void)each.link.send(link::to_json(link::shutdown{"stop"}));
    quit_if_done();
  }

  void quit_if_done() {
    if (!quit_by) return;
    if (nurseries.empty()) return self->quit();
    wake.at(self, *quit_by);
    if (*quit_by > steady_clock::now()) return;
    for (auto& each : nurseries) {
      log::warn("nursery-killed", "nursery {} did not end when it was asked to", each.row.nursery.text);
      if (each.watch) (void)each.watch.send_signal(SIGKILL);
    }
    nurseries.clear();
    self->quit();
  }
};

}  // namespace

caf::actor spawn_local_environment(caf::actor_system& system, local_options options) {
  return system.middleman().spawn_broker([options = std::move(options)](caf::io::broker* self) -> caf::behavior {
    set_handlers(self, "local-environment");
    auto state = std::make_shared<local_state>(self, options);
    return {
        [state](spawn_kernel& request) { state->on_spawn(std::move(request)); },
        [state](await_exit& request) { state->on_await_exit(std::move(request)); },
        [state](relink_nurseries const& known) {
          for (auto const& row : known.rows) state->relink(row);
        },
        [state](nursery_started const& report) { state->on_started(report); },
        [state](caf::io::new_data_msg const& message) { state->on_data(message); },
        [state](caf::io::data_transferred_msg const& message) {
          if (auto* to = state->find(message.handle)) to->link.on_transferred(message.remaining);
        },
        [state](caf::io::connection_closed_msg const& message) {
          if (auto* lost = state->find(message.handle)) {
            lost->link.on_closed();
            state->retry_later(*lost);
          }
        },
        [state](wake_up const& message) {
          if (state->wake.take(message)) state->on_wake();
        },
        [state](let_go const& order) { state->on_let_go(order); },
    };
  });
}

}  // namespace holdfast::env
