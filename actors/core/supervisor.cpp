#include "actors/core/supervisor.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>

#include <caf/io/middleman.hpp>

#include "actors/base/caf.hpp"
#include "actors/base/clock.hpp"
#include "actors/core/file_sweep.hpp"
#include "actors/core/job_list.hpp"
#include "actors/core/kernel_keeper.hpp"
#include "actors/core/list_page.hpp"
#include "actors/core/messages.hpp"
#include "actors/core/mover.hpp"
#include "actors/core/owner_closing.hpp"
#include "actors/core/session.hpp"
#include "actors/core/session_list.hpp"
#include "actors/core/status.hpp"
#include "actors/core/wind_down_waves.hpp"
#include "actors/env/messages.hpp"

namespace holdfast::core {

namespace {

using std::chrono::steady_clock;

struct supervisor_state {
  supervisor_state(caf::io::broker* broker, shared_context context)
      : self(broker), shared(std::move(context)), moves(self, shared) {}

  caf::io::broker* self;
  shared_context shared;
  mover moves;
  alarm wake;
  kernel_keeper keeper{self, shared, wake};
  file_sweep sweep{self, shared, wake};
  owner_closing closing{self, shared, [this](session_call& call) { route(call); }};
  wind_down_waves waves{self, shared};
  std::optional<steady_time> flush_at;
  std::vector<caf::actor> fronts;  // that have asked anything: told when the gateway ends
  std::vector<reply_to> shutdown_waiters;
  std::size_t kernels_left = 0;
  std::optional<steady_time> end_by;  // a store that does not settle must not hold the end up
  steady_time home_check_at{};
  std::optional<error> why_ending;  // when nobody asked for the end

  void start(recovery_plan plan) {
    if (auto last = shared->stores->last_session_number()) shared->last_session = *last;
    recover(self->system(), shared, std::move(plan));
    keeper.start();
    sweep.start();
    schedule_home_check();
  }

  void answer_text(reply_to const& to, std::string text) {
    self->send(to.front, answer{to.connection, to.request, std::move(text)});
  }
  void answer_error(reply_to const& to, error problem) {
    self->send(to.front, answer{to.connection, to.request, tl::unexpected(std::move(problem))});
  }
  void know(caf::actor const& front) {
    if (std::find(fronts.begin(), fronts.end(), front) == fronts.end()) fronts.push_back(front);
  }

  // ---- sessions ----

  void on_session_call(session_call& call) {
    know(call.from.front);
    route(call);
  }

  void route(session_call& call) {
    if (shared->shutting_down)
      return answer_error(call.from, {error_code::shutting_down, "the daemon is shutting down; send it again later", {}});
    if (shared->forking.contains(call.key)) return answer_error(call.from, being_forked(call.key));
    auto loaded = shared->sessions.find(call.key);
    if (loaded != shared->sessions.end()) return self->send(loaded->second.actor, std::move(call));
    auto found = shared->stores->find_session(call.key);
    if (!found) return answer_error(call.from, from_storage(found.error()));
    session_seed seed;
    if (*found) {
      auto records = read_session(*shared->stores, (*found)->number);
      if (!records) return answer_error(call.from, std::move(records.error()));
      seed.row = std::move(**found);
      seed.records = std::move(*records);
    } else {
      if (!std::holds_alternative<run_cell>(call.what)) return answer_error(call.from, unknown_session(call.key));
      seed.fresh = true;
      seed.row.number = ++shared->last_session;
      seed.row.key = call.key;
      seed.row.created_at = now_ms();
    }
    auto actor = spawn_session(self->system(), shared, std::move(seed));
    self->send(actor, std::move(call));
  }

  // ---- kernels ----

  std::vector<kernel_view> kernels() const {
    std::vector<kernel_view> views;
    for (auto const& [key, entry] : shared->sessions)
      if (entry.face)
        for (auto& view : entry.face->kernels()) views.push_back(std::move(view));
    // Their ids are ULIDs: descending is newest first.
    std::sort(views.begin(), views.end(), [](auto const& a, auto const& b) { return a.kernel > b.kernel; });
    return views;
  }

  void on_list(reply_to const& from, list_kernels const& what) {
    std::vector<std::string> items;
    std::string last;
    auto const ranks = keeper.ranks();
    for (auto const& view : kernels()) {
      if (!what.after.empty() && view.kernel.text >= what.after) continue;
      if (!matches(what.owner, view.key.owner) || !matches(what.child, view.key.child)) continue;
      if (!matches(what.session, view.key.session) || !matches(what.state, view.state())) continue;
      if (items.size() == what.limit) return answer_text(from, list_json(items, last));
      auto const rank = ranks.find(view.kernel.text);
      items.push_back(view.to_json(rank == ranks.end() ? 0 : rank->second));
      last = view.kernel.text;
    }
    answer_text(from, list_json(items, ""));
  }

  void on_stop(reply_to const& from, stop_kernel const& what) {
    for (auto const& [key, entry] : shared->sessions)
      if (entry.face)
        for (auto const& view : entry.face->kernels())
          if (view.kernel == what.kernel) return self->send(entry.actor, stop_session_kernel{from, what.kernel, what.save});
    answer_error(from, {error_code::not_found, "no kernel " + what.kernel.text + "; kernel.list shows what there is", {}});
  }

  // ---- jobs ----

  /// To the session whose job it is.
  template <class What>
  void on_job(reply_to const& from, What const& what) {
    auto job = shared->stores->job(what.job);
    if (!job) return answer_error(from, from_storage(job.error()));
    auto row =
        *job ? shared->stores->session((*job)->session) : storage::result<std::optional<storage::session_record>>(std::nullopt);
    if (!row) return answer_error(from, from_storage(row.error()));
    if (!*row) return answer_error(from, {error_code::not_found, "no job " + what.job.text + "; job.list shows what there is", {}});
    auto const loaded = shared->sessions.find((*row)->key);
    if (loaded != shared->sessions.end()) return self->send(loaded->second.actor, job_call{from, what});
    auto records = read_session(*shared->stores, (*row)->number);
    if (!records) return answer_error(from, std::move(records.error()));
    self->send(spawn_session(self->system(), shared, {std::move(**row), false, {}, {}, std::move(*records)}), job_call{from, what});
  }

  // ---- the disk ----

  void schedule_flush(milliseconds delay = defaults::flush_to_disk) {
    if (flush_at) return;
    flush_at = steady_clock::now() + delay;
    wake.at(self, *flush_at);
  }

  /// Somebody waits for what is recorded. What comes while a unit is on its way goes with the next one.
  void hurry() {
    if (moves.was_refused()) return;
    moves.flush();
    if (!shared->to_disk.empty()) schedule_flush();
  }

  void on_committed(disk_committed const& committed) {
    moves.on_committed(committed);
    if (committed.problem && shared->shutting_down) return end();  // what stays in boot is moved at the next start
    if (committed.problem) flush_at.reset();                       // not before the retry
    if (shared->barrier.is_waited_for()) hurry();
    if (!shared->to_disk.empty()) schedule_flush(committed.problem ? defaults::store_retry : defaults::flush_to_disk);
    end_if_settled();
  }

  void on_wake() {
    auto const now = steady_clock::now();
    if (home_check_at <= now)
      check_home();
    else
      wake.at(self, home_check_at);
    keeper.on_wake(now);
    sweep.on_wake(now);
    if (flush_at && *flush_at <= now) {
      flush_at.reset();
      moves.flush();
      if (!shared->to_disk.empty()) schedule_flush(moves.was_refused() ? defaults::store_retry : defaults::flush_to_disk);
    } else if (flush_at) {
      wake.at(self, *flush_at);
    }
    if (!end_by) return;
    if (*end_by <= now)
      on_late_end();
    else
      wake.at(self, *end_by);
  }

  // ---- the end ----

  void schedule_home_check() {
    home_check_at = steady_clock::now() + defaults::home_check;
    wake.at(self, home_check_at);
  }

  /// What is recorded in a home that is gone is lost, and at its path another daemon's home may lie: nothing more is done by that path.
  void check_home() {
    if (shared->lock)
      if (auto lost = shared->lock->lost())
        return on_end_gateway({error_code::store_failed, "the daemon ends: " + std::move(*lost), {}});
    schedule_home_check();
  }

  void on_end_gateway(error why) {
    if (shared->shutting_down) return;
    log::error("gateway-failed", "{}", why.message);
    shared->farewell = why.message;
    why_ending = std::move(why);
    begin_end(false);
  }

  void on_shut_down(reply_to const& from, bool end_kernels) {
    shutdown_waiters.push_back(from);
    if (!shared->shutting_down) begin_end(end_kernels);
  }

  void begin_end(bool end_kernels) {
    shared->shutting_down = true;
    kernels_left = kernels().size();
    if (end_kernels)
      log::info("gateway-ending", "the gateway ends, and {} kernels with it", kernels_left);
    else
      log::info("gateway-ending", "the gateway ends; {} kernels live on", kernels_left);
    wait_for_end(waves.begin(end_kernels));
    end_if_settled();
  }

  void wait_for_end(milliseconds patience) {
    end_by = steady_clock::now() + patience;
    wake.at(self, *end_by);
  }

  /// Kernels that have not ended by then are killed; what has not settled after that must not hold the process.
  void on_late_end() {
    if (!waves.kill_late()) return end();
    wait_for_end(defaults::settle_deadline);
  }

  /// Ends once every session has wound down and `disk` has what they recorded.
  void end_if_settled() {
    if (!shared->shutting_down || !shared->sessions.empty()) return;
    moves.flush();
    if (moves.is_idle()) end();
  }

  void end() {
    end_by.reset();
    if (waves.ends_kernels()) kernels_left = kernels().size();
    closing.refuse_all({error_code::shutting_down, "the daemon is shutting down; send it again later", {}});
    // Those that did not settle in time must not hold the process: what they have not recorded is found at the next start.
    for (auto const& [key, entry] : shared->sessions) self->send(entry.actor, wind_down{false});
    for (auto const& to : std::exchange(shutdown_waiters, {}))
      answer_text(
          to, "{\"kernels_left\":" + std::to_string(kernels_left) + ",\"not_saved\":" + std::to_string(shared->not_saved) + "}");
    for (auto const& [name, each] : shared->environments) self->send(each.actor, env::let_go{waves.ends_kernels()});
    self->send_exit(shared->disk, caf::exit_reason::user_shutdown);
    self->send_exit(shared->files, caf::exit_reason::user_shutdown);
    for (auto const& front : fronts) self->send(front, gateway_ended{why_ending});
    shared->environments.clear();
    shared->barrier.drop();
    shared->supervisor = shared->disk = shared->files = {};
    self->quit();
  }

  void on_call(supervisor_call& call) {
    know(call.from.front);
    auto const& from = call.from;
    std::visit(
        [&](auto const& what) {
          using request = std::decay_t<decltype(what)>;
          if constexpr (std::is_same_v<request, list_kernels>)
            on_list(from, what);
          else if constexpr (std::is_same_v<request, close_owner>)
            closing.begin(from, what);
          else if constexpr (std::is_same_v<request, stop_kernel>)
            on_stop(from, what);
          else if constexpr (std::is_same_v<request, list_sessions> || std::is_same_v<request, list_jobs> ||
                             std::is_same_v<request, list_notices>)
            answer_with(from, list(*shared, what));
          else if constexpr (std::is_same_v<request, stop_job> || std::is_same_v<request, read_job_output>)
            on_job(from, what);
          else if constexpr (std::is_same_v<request, ack_notices>)
            answer_with(from, acknowledge(*shared, what));
          else if constexpr (std::is_same_v<request, get_status>)
            answer_text(from, status_json(*shared, kernels()));
          else if constexpr (std::is_same_v<request, get_metrics>)
            answer_text(from, metrics_json(*shared, kernels()));
          else if constexpr (std::is_same_v<request, subscribe_events>) {
            auto const made = shared->events.subscribe(from, what);
            answer_text(from, "{\"seq\":" + std::to_string(made.seq) + ",\"missed\":" + std::to_string(made.missed) + "}");
          } else if constexpr (std::is_same_v<request, shut_down>)
            on_shut_down(from, what.kernels);
          else
            static_assert(std::is_same_v<request, await_end>);  // know() did it
        },
        call.what);
  }
  void answer_with(reply_to const& to, result<std::string> outcome) {
    if (outcome)
      answer_text(to, std::move(*outcome));
    else
      answer_error(to, std::move(outcome.error()));
  }
};

}  // namespace

caf::actor spawn_supervisor(caf::actor_system& system, shared_context const& shared, recovery_plan const& plan) {
  return system.middleman().spawn_broker([shared, plan](caf::io::broker* self) -> caf::behavior {
    set_handlers(self, "supervisor");
    shared->supervisor = caf::actor_cast<caf::actor>(self);
    auto state = std::make_shared<supervisor_state>(self, shared);
    state->start(plan);
    return {
        [state](session_call& call) { state->on_session_call(call); },
        [state](supervisor_call& call) { state->on_call(call); },
        [state](connection_closed const& closed) {
          state->shared->events.unsubscribe(closed.front, closed.connection);
          for (auto& [key, entry] : state->shared->sessions)
            if (entry.face) entry.face->forget_connection(closed.front, closed.connection);
        },
        [state](answer const& told) { state->closing.on_answer(told); },
        [state](move_soon) { state->schedule_flush(); },
        [state](move_now) { state->hurry(); },
        [state](look_at_kernels) { state->keeper.look(); },
        [state](memory_measured const& told) { state->keeper.on_measured(told); },
        [state](disk_committed const& committed) { state->on_committed(committed); },
        [state](end_gateway& order) { state->on_end_gateway(std::move(order.why)); },
        [state](session_ended) {
          if (auto const patience = state->waves.go_on()) state->wait_for_end(*patience);
          state->end_if_settled();
        },
        [state](wake_up const& message) {
          if (state->wake.take(message)) state->on_wake();
        },
    };
  });
}

}  // namespace holdfast::core
