#include "actors/env/per_call.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>

#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

#include "actors/base/attended_process.hpp"
#include "actors/base/caf.hpp"
#include "actors/base/defaults.hpp"
#include "actors/env/interpreter.hpp"
#include "actors/env/per_call_output.hpp"
#include "actors/link/json_reader.hpp"
#include "bin/kernel/program.hpp"

namespace holdfast::env {

namespace {

using std::chrono::steady_clock;

/// From the owner's thread to the attending one.
struct thread_orders final : per_call::orders {
  unique_fd wake;  // an eventfd
  std::mutex guard;
  std::optional<std::string> source;
  bool is_interrupted = false, is_killed = false;
  std::weak_ptr<per_call_places> places;  // where it may still wait for its turn

  void go(std::string given) override {
    give([&] { source = std::move(given); });
  }
  void interrupt() override {
    give([&] { is_interrupted = true; });
  }
  void kill() override {
    if (auto const there = places.lock()) there->leave(this);
    give([&] { is_killed = true; });
  }

 private:
  template <class Change>
  void give(Change change) {
    {
      std::lock_guard const lock(guard);
      change();
    }
    std::uint64_t const one = 1;
    (void)!::write(wake.get(), &one, sizeof one);
  }
};

/// From a session to its environment.
class sent_orders final : public per_call::orders {
 public:
  sent_orders(caf::actor to, caf::actor asker, std::uint64_t number)
      : to_(std::move(to)), asker_(std::move(asker)), number_(number) {}

  void go(std::string source) override { give(order_per_call::what::go, std::move(source)); }
  void interrupt() override { give(order_per_call::what::interrupt); }
  void kill() override { give(order_per_call::what::kill); }

 private:
  void give(order_per_call::what order, std::string source = {}) {
    caf::anon_send(to_, order_per_call{asker_, number_, order, std::move(source)});
  }

  caf::actor to_, asker_;
  std::uint64_t number_;
};

std::string_view program_text() {
  for (auto const& file : program_files())
    if (file.path == "per_call.py") return file.content;
  return {};
}

/// The source behind its length, as four bytes.
std::string framed(std::string const& source) {
  auto const size = static_cast<std::uint32_t>(source.size());
  std::string frame;
  for (auto const shift : {24, 16, 8, 0}) frame += static_cast<char>((size >> shift) & 0xff);
  return frame + source;
}

/// One interpreter, from its `ready` to its end. Lives on the attending thread.
class attendant {
 public:
  attendant(caf::actor asker, per_call_plan const& plan, std::shared_ptr<thread_orders> from, attended_process process)
      : asker_(std::move(asker)), plan_(plan), orders_(std::move(from)), process_(std::move(process)) {}

  void attend() {
    kill_at_ = steady_clock::now() + defaults::per_call_start;
    while (!process_.has_ended()) {
      wait();
      take_orders();
      read_all();
      keep_time();
    }
    read_all();
    auto const exit_code = process_.reap();
    read_all();  // what its children wrote until they were killed
    if (!has_begun_)
      return refuse(was_killed_ ? "it was not ready in time, or not wanted any more" : "it ended before it was ready");
    tell_said(output_.finish());
    per_call_ended told{plan_.number,
                        {},
                        exit_code,
                        timed_out_,
                        {},
                        output_.bytes(link::output_stream::out),
                        output_.bytes(link::output_stream::err)};
    if (has_replied()) told.reply = read_per_call_reply(std::string_view(reply_).substr(0, reply_.find('\n')));
    caf::anon_send(asker_, std::move(told));
  }

 private:
  void wait() {
    short const wanted = unsent_.empty() ? POLLIN : POLLIN | POLLOUT;
    std::array<pollfd, 5> watched{{{process_.end(), POLLIN, 0},
                                   {orders_->wake.get(), POLLIN, 0},
                                   {channel_is_open_ ? process_.channel() : -1, wanted, 0},
                                   {out_is_open_ ? process_.output() : -1, POLLIN, 0},
                                   {err_is_open_ ? process_.errors() : -1, POLLIN, 0}}};
    auto next = send_at_;
    for (auto const& each : {kill_at_, deadline_})
      if (each && (!next || *each < *next)) next = each;
    auto const left = next ? std::chrono::ceil<milliseconds>(*next - steady_clock::now()).count() : -1;
    auto const patience = next ? static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000)) : -1;
    (void)::poll(watched.data(), watched.size(), patience);
  }

  void take_orders() {
    std::uint64_t count = 0;
    (void)!::read(orders_->wake.get(), &count, sizeof count);
    std::optional<std::string> source;
    auto interrupt = false, kill = false;
    {
      std::lock_guard const lock(orders_->guard);
      source.swap(orders_->source);
      interrupt = std::exchange(orders_->is_interrupted, false);
      kill = orders_->is_killed;
    }
    if (kill) return end_it();
    if (source) begin(*source);
    if (interrupt && has_begun_) this->interrupt();
  }

  void begin(std::string const& source) {
    has_begun_ = true;
    kill_at_.reset();
    unsent_ = framed(source);
    if (plan_.timeout.count() > 0) deadline_ = steady_clock::now() + plan_.timeout;
    send();
  }

  void send() {
    while (!unsent_.empty()) {
      auto const sent = ::send(process_.channel(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
      if (sent == -1 && errno == EINTR) continue;
      if (sent == -1 && errno == EAGAIN) return;
      if (sent == -1) return unsent_.clear();  // its end tells
      unsent_.erase(0, static_cast<std::size_t>(sent));
    }
  }

  void interrupt() {
    if (has_replied()) return;  // its end is near
    process_.send_signal(SIGINT);
    kill_after_grace();
  }

  /// A second interrupt does not put it off.
  void kill_after_grace() {
    if (!kill_at_) kill_at_ = steady_clock::now() + plan_.settings.interrupt_grace;
  }

  void end_it() {
    if (!process_.has_ended()) was_killed_ = true;
    process_.kill_group();
  }

  void keep_time() {
    auto const now = steady_clock::now();
    if (deadline_ && *deadline_ <= now) {
      deadline_.reset();
      timed_out_ = !has_replied();
      interrupt();
    }
    if (kill_at_ && *kill_at_ <= now) {
      kill_at_.reset();
      end_it();
    }
  }

  bool has_replied() const { return has_begun_ && reply_.find('\n') != std::string::npos; }

  /// Whatever is there; what was written before the begin is not the cell's.
  void read_all() {
    auto const is_before = !has_begun_;
    send();
    read_channel();
    auto rounds = 16;  // more than a pipe holds; a flood does not keep from orders and clocks, nor what has escaped from the end
    for (auto more = true; more && rounds > 0; --rounds) {
      more = read_some(link::output_stream::out, process_.output(), out_is_open_);
      more = read_some(link::output_stream::err, process_.errors(), err_is_open_) || more;
      if (output_.waiting() >= defaults::output_frame_text) tell_said(output_.take());
    }
    if (is_before && !is_ready_ && reply_ == "ready\n") {
      is_ready_ = true;
      reply_.clear();
      kill_at_.reset();
      caf::anon_send(asker_, per_call_ready{plan_.number});
    }
    auto const now = steady_clock::now();
    if (output_.waiting() == 0) {
      send_at_.reset();
    } else if (!send_at_) {
      send_at_ = now + defaults::per_call_gather;
    } else if (*send_at_ <= now) {
      send_at_.reset();
      tell_said(output_.take());
    }
  }

  bool read_some(link::output_stream which, int fd, bool& is_open) {
    if (!is_open) return false;
    auto const got = ::read(fd, buffer_.data(), buffer_.size());
    if (got > 0) {
      if (has_begun_) output_.add(which, {buffer_.data(), static_cast<std::size_t>(got)});
      return true;
    }
    if (got == -1 && (errno == EAGAIN || errno == EINTR)) return false;
    is_open = false;
    return false;
  }

  void read_channel() {
    while (channel_is_open_) {
      auto const got = ::recv(process_.channel(), buffer_.data(), buffer_.size(), 0);
      if (got == -1 && errno == EINTR) continue;
      if (got == -1 && errno == EAGAIN) return;
      if (got <= 0) {
        channel_is_open_ = false;
        return;
      }
      auto const had_replied = has_replied();
      reply_.append(buffer_.data(), std::min(static_cast<std::size_t>(got), defaults::per_call_reply_limit - reply_.size()));
      if (had_replied || !has_replied()) continue;
      // The outcome is known: what it does at its end has as long as an interrupted cell.
      deadline_.reset();
      kill_after_grace();
    }
  }

  void tell_said(per_call_output::pieces pieces) {
    if (!pieces.empty()) caf::anon_send(asker_, per_call_said{plan_.number, std::move(pieces)});
  }
  void refuse(std::string why) { caf::anon_send(asker_, per_call_refused{plan_.number, std::move(why)}); }

  caf::actor asker_;
  per_call_plan const& plan_;
  std::shared_ptr<thread_orders> orders_;
  attended_process process_;
  bool is_ready_ = false, has_begun_ = false, timed_out_ = false, was_killed_ = false;
  bool channel_is_open_ = true, out_is_open_ = true, err_is_open_ = true;
  std::string unsent_;
  std::string reply_;  // what it said on the channel: before the begin `ready`
  per_call_output output_;
  std::optional<steady_time> kill_at_, deadline_, send_at_;
  std::array<char, 64 * defaults::kib> buffer_{};
};

void start_and_attend(caf::actor const& asker, per_call_plan const& plan, std::shared_ptr<thread_orders> const& from) {
  auto const refuse = [&](std::string why) { caf::anon_send(asker, per_call_refused{plan.number, std::move(why)}); };
  auto const python = find_interpreter(plan.python, plan.settings, plan.gateway, plan.session);
  if (!python) return refuse(python.error().message);
  spawn_plan how{{python->string(), "-c", std::string(program_text())},
                 kernel_variables(plan.gateway, plan.settings.pass_env, plan.session),
                 plan.cwd};
  if (plan.cwd.empty()) how.cwd = how.env.contains("HOME") ? how.env.at("HOME") : "/";
  auto process = attended_process::start(how);
  if (!process) return refuse(process.error().message);
  auto attending = std::make_unique<attendant>(asker, plan, from, std::move(*process));
  attending->attend();
}

}  // namespace

per_call::~per_call() {
  if (orders_) kill();
}

void per_call::go(std::string source) { orders_->go(std::move(source)); }
void per_call::interrupt() { orders_->interrupt(); }
void per_call::kill() { orders_->kill(); }

result<per_call> start_per_call(caf::actor_system& system, std::shared_ptr<per_call_places> const& places, caf::actor const& asker,
                                per_call_plan plan) {
  auto orders = std::make_shared<thread_orders>();
  orders->wake = unique_fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!orders->wake) return fail(error_code::start_failed, "no descriptor is left");
  orders->places = places;
  auto const number = plan.number;
  places->enter(orders.get(), [&system, asker, orders, plan = std::move(plan)](per_call_places::place taken) {
    system.spawn<caf::detached>([asker, orders, plan, taken = std::move(taken)]() mutable {
      start_and_attend(asker, plan, orders);
      taken.reset();  // while the actor system is there: the next one begins in it
    });
  });
  return per_call(number, std::move(orders));
}

result<per_call> start_per_call_there(caf::actor const& environment, caf::actor const& asker, per_call_plan plan) {
  if (!environment) return fail(error_code::start_failed, "nobody has registered its environment");
  auto const number = plan.number;
  caf::anon_send(environment, run_per_call{asker, std::move(plan)});
  return per_call(number, std::make_shared<sent_orders>(environment, asker, number));
}

std::optional<per_call_reply> read_per_call_reply(std::string_view line) {
  link::json_document const document(line);
  if (document.object() == nullptr) return std::nullopt;
  std::string problem;
  link::json_fields fields(*document.object(), "outcome", problem);
  per_call_reply reply;
  auto const status = fields.text("status");
  if (status == "error")
    reply.status = storage::cell_status::error;
  else if (status == "exit")
    reply.status = storage::cell_status::exit;
  else if (status != "ok")
    return std::nullopt;
  reply.value = fields.optional_text("value");
  reply.exit_code = fields.optional_integer("exit_code");
  if (auto const* error = fields.optional_object("error")) {
    link::json_fields of_error(*error, "error", problem);
    reply.error = link::cell_error{of_error.text("name"), of_error.text("message"), of_error.text("traceback")};
  }
  if (!problem.empty()) return std::nullopt;
  return reply;
}

}  // namespace holdfast::env
