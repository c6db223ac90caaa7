#include "bin/holdfast/follow.hpp"

#include <poll.h>

#include <algorithm>
#include <deque>
#include <optional>

#include <spdlog/fmt/fmt.h>
#include <boost/json/serialize.hpp>

#include "bin/holdfast/catch_up.hpp"
#include "bin/holdfast/exit_codes.hpp"
#include "bin/holdfast/failure.hpp"
#include "bin/holdfast/fields.hpp"
#include "bin/holdfast/format.hpp"
#include "bin/holdfast/interrupts.hpp"
#include "bin/holdfast/service.hpp"
#include "bin/holdfast/streams.hpp"

namespace holdfast::cli {

namespace {

using front::client;
using std::chrono::milliseconds;

constexpr milliseconds silence{1'000};       // so long nobody wonders what a cell waits for
constexpr milliseconds ask_timeout{30'000};  // a small question to a daemon that may be busy attaching its kernels

class follower {
 public:
  explicit follower(follow_request request)
      : request_(std::move(request)), view_(request_.shows, request_.home_flag), output_(view_, scoped({{"cell", request_.cell}})) {
    is_silence_explained_ = request_.shows != cell_view::mode::everything || request_.state.detaches;
  }

  int follow() {
    step(happened::begun{});
    while (!exit_code_) {
      if (todo_.empty()) {
        listen();
      } else {
        auto const next = todo_.front();
        todo_.pop_front();
        carry_out(next);
      }
    }
    return *exit_code_;
  }

 private:
  boost::json::object scoped(boost::json::object params) const {
    request_.where.add_to(params);
    return params;
  }

  void step(follow_event const& event) {
    for (auto const next : next_step(request_.state, event)) todo_.push_back(next);
  }

  void carry_out(action next) {
    switch (next) {
      case action::connect: return connect();
      case action::send_run: return send_run();
      case action::send_wait: return send(cell_request_, "cell.wait", wait_params());
      case action::send_interrupt: return send(interrupt_request_, "cell.interrupt", scoped({{"cell", request_.cell}}));
      case action::finish: return finish();
      case action::detach: return detach();
      case action::refuse:
        if (!request_.state.may_run) problem_ = with_hint(problem_, scoped({{"cell", request_.cell}}));
        exit_code_ = show_failure(problem_, request_.json);
        return;
      case action::abandon:
        problem_ = error{error_code::not_found, "interrupted before the cell was accepted: nothing ran", {}};
        show_failure(problem_, request_.json);
        exit_code_ = exit_interrupted;
        return;
      case action::fail_start:
        show_failure(problem_, request_.json);
        exit_code_ = exit_no_service;
        return;
      case action::fail_restarts:
        problem_ = error{error_code::unreachable,
                         fmt::format("the daemon was lost {} times within {} s: giving up; see {}, then: {}", restarts_limit + 1,
                                     restarts_window.count(), log_of(request_.home).string(), come_back()),
                         {}};
        show_failure(problem_, request_.json);
        exit_code_ = exit_no_service;
        return;
    }
  }

  // ---- talking ----------------------------------------------------------------------------------------------------------

  void connect() {
    connection_.reset();
    held_back_.clear();
    cell_request_.reset();
    interrupt_request_.reset();
    auto connected = connect_or_start(request_.home, [this] { return interrupts_.is_pending(); });
    if (connected) {
      connection_.emplace(std::move(*connected));
      return step(happened::connected{});
    }
    problem_ = connected.error();
    if (!interrupts_.is_pending()) return step(happened::no_service{});
    on_signal();
    if (todo_.empty() && !exit_code_) todo_.push_back(action::connect);  // noted: the cell may exist and has to be told
  }

  void send_run() {
    auto params = request_.run_params;
    if (request_.python_for_new_session) {
      auto const known = connection_->call("session.get", scoped({}), ask_timeout, hold_back());
      if (!known && is_lost(known.error())) return on_connection_lost();
      if (known) params.erase("python");
    }
    send(cell_request_, "run", std::move(params));
  }

  boost::json::object wait_params() const {
    auto params = scoped({{"cell", request_.cell}});
    if (request_.state.detaches) params["wait_ms"] = 0;
    if (view_.shows_output() && !request_.state.detaches) {
      params["stream"] = true;
      params["offset"] = output_.shown();
    }
    return params;
  }

  void send(std::optional<std::uint64_t>& id, std::string_view method, boost::json::object params) {
    auto const sent = connection_->send(method, std::move(params));
    if (sent) {
      id = *sent;
      sent_at_ = std::chrono::steady_clock::now();
    } else if (is_lost(sent.error())) {
      on_connection_lost();
    } else {
      problem_ = sent.error();
      step(happened::refused{problem_.code});
    }
  }

  /// Waits for the daemon or for ^C, whichever comes first.
  void listen() {
    if (!held_back_.empty()) {
      auto const next = std::move(held_back_.front());
      held_back_.pop_front();
      return on_notification(next.method, next.params);
    }
    if (interrupts_.is_pending()) return on_signal();
    auto const received = connection_->receive(milliseconds{0});  // what has been read already is not seen by poll()
    if (received) return on_message(*received);
    if (!flag(received.error().data, "timeout")) return on_connection_lost();
    pollfd waiting[] = {{connection_->fd(), POLLIN, 0}, {interrupts_.fd(), POLLIN, 0}};
    if (cell_request_ && !is_silence_explained_) {
      auto const silent = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - sent_at_);
      if (::poll(waiting, 2, static_cast<int>(std::max(silence - silent, milliseconds{0}).count())) == 0) explain_silence();
      return;
    }
    // Without an open request this daemon is ending and closes the connection soon; a cell may take any time.
    auto const limit = cell_request_ ? -1 : static_cast<int>(ask_timeout.count());
    if (::poll(waiting, 2, limit) == 0) on_connection_lost();
  }

  /// Says what a cell that shows nothing waits for. Asked in this order, so that the one that runs was before ours if ours is queued still.
  void explain_silence() {
    is_silence_explained_ = true;
    auto const session = connection_->call("session.get", scoped({}), ask_timeout, hold_back());
    if (!session && is_lost(session.error())) return on_connection_lost();
    auto const cell = connection_->call("cell.get", scoped({{"cell", request_.cell}}), ask_timeout, hold_back());
    if (!cell && is_lost(cell.error())) return on_connection_lost();
    if (!session || !cell || !session->is_object() || !cell->is_object()) return;
    auto const ahead = text(session->get_object(), "cell");
    if (ahead.empty() || ahead == request_.cell || text(cell->get_object(), "status") != "queued") return;
    view_.begin_line();
    write_err(fmt::format("[queued behind cell {}; ^C takes it back]\n", ahead));
  }

  // ---- what came --------------------------------------------------------------------------------------------------------

  void on_message(client::incoming const& message) {
    if (!message.id) return on_notification(message.method, message.params);
    if (message.id == interrupt_request_) {
      if (message.problem) step(happened::interrupt_refused{message.problem->code});
      return;
    }
    if (message.id != cell_request_) return;
    cell_request_.reset();
    if (message.problem) {
      problem_ = *message.problem;
      return step(happened::refused{problem_.code});
    }
    if (auto const* result = message.result.if_object()) result_ = *result;
    step(happened::answered{flag(result_, "final")});
  }

  void on_notification(std::string_view method, boost::json::object const& params) {
    if (text(params, "cell") != request_.cell) return;
    if (method == "cell.accepted") return step(happened::accepted{});
    if (method == "cell.stream") on_output(output_.add(params, *connection_, hold_back()));
  }

  void on_output(catch_up::outcome came) {
    is_silence_explained_ = true;
    if (came == catch_up::outcome::connection_lost) on_connection_lost();
    if (came == catch_up::outcome::reader_gone) step(happened::reader_gone{});
  }

  void on_connection_lost() {
    todo_.clear();  // they were for this connection
    step(happened::connection_lost{std::chrono::steady_clock::now()});
  }

  void on_signal() {
    if (interrupts_.take() == SIGINT) return step(happened::user_interrupt{});
    todo_ = {action::detach};  // SIGTERM, SIGHUP: this command is to end, not the cell
  }

  /// Notifications that come while a small question is asked wait for their turn.
  client::on_notification hold_back() {
    return [this](std::string_view method, boost::json::object const& params) {
      held_back_.push_back({.id = {}, .result = {}, .problem = {}, .method = std::string(method), .params = params});
    };
  }

  static bool is_lost(error const& problem) { return flag(problem.data, "closed") || flag(problem.data, "timeout"); }

  // ---- the ends ---------------------------------------------------------------------------------------------------------

  void finish() {
    if (request_.state.detaches) {
      write_out(request_.json ? boost::json::serialize(result_) + "\n" : request_.cell + "\n");
      exit_code_ = exit_ok;
      return;
    }
    // A replay is not streamed, and a slow reader loses notifications: what is recorded is shown all the same.
    auto const total = number(result_, "stdout_bytes") + number(result_, "stderr_bytes");
    output_.to(static_cast<std::uint64_t>(total), *connection_);
    view_.result(result_);
    exit_code_ = request_.shows == cell_view::mode::output_only ? static_cast<int>(exit_ok) : code_of_result(result_);
  }

  void detach() {
    if (request_.json) {
      if (result_.empty()) result_ = scoped({{"cell", request_.cell}, {"final", false}});
      view_.result(result_);
    } else {
      view_.begin_line();
      // Its own sentence: a cell in the queue has no kernel in which it could go on.
      if (text(result_, "status") == "queued")
        write_err("[the daemon has ended; the cell is queued and starts when a daemon runs again]\n");
      auto const* kernel = object_in(result_, "kernel");
      if (kernel && !text(*kernel, "note").empty()) write_err(fmt::format("[{}]\n", one_line(text(*kernel, "note"))));
    }
    // Sent, and no word yet whether it was recorded: it may run, or be unknown to whoever asks.
    auto const is_known = request_.state.is_accepted || !request_.state.may_run;
    write_err(fmt::format("[cell {}: not waited for any longer{}; {}: {}]\n", request_.cell,
                          is_known ? "" : ", nor accepted so far", is_known ? "come back with" : "whether it runs says",
                          come_back()));
    exit_code_ = request_.state.interrupts_cell ? exit_running : exit_interrupted;
  }

  std::string come_back() const { return come_back_command(request_.home_flag, request_.where, request_.cell); }

  follow_request request_;
  cell_view view_;
  catch_up output_;
  interrupts interrupts_;
  std::deque<action> todo_;                    // decided, not carried out yet; empty: listen
  std::optional<client> connection_;           // none only before the first connect
  std::deque<client::incoming> held_back_;     // notifications of this connection, not looked at yet
  std::optional<std::uint64_t> cell_request_;  // run or cell.wait, unanswered on this connection
  std::optional<std::uint64_t> interrupt_request_;
  std::chrono::steady_clock::time_point sent_at_;  // the newest request of this connection
  bool is_silence_explained_ = false;              // or need not be: at most one line, and none once there is output
  boost::json::object result_;                     // the last one that a daemon answered
  error problem_;                                  // the last one
  std::optional<int> exit_code_;                   // set: it is over
};

}  // namespace

int follow(follow_request request) { return follower(std::move(request)).follow(); }

}  // namespace holdfast::cli
