// A core for tests of the fronts: the real interface, answers by script instead of kernels. A cell's code is the script:
//   "stream N SIZE"  N notifications of SIZE bytes, numbered by seq, then the answer
//   "big SIZE"       an answer of SIZE bytes        "hold"  no answer until "release"
//   "refuse"         the error queue_full           else    an answer with the code as its value
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>
#include <caf/send.hpp>

#include "actors/front/core_port.hpp"

namespace holdfast::front {

class fake_core final : public core_port {
 public:
  std::atomic<int> calls{0};
  std::atomic<int> closed_connections{0};

  /// The newest run that came in.
  std::optional<run_cell> last_run() {
    std::lock_guard const lock(mutex_);
    return last_run_;
  }

  void route(session_call call) override {
    ++calls;
    if (auto* run = std::get_if<run_cell>(&call.what)) return on_run(call.from, call.key, *run);
    if (auto* get = std::get_if<get_cell>(&call.what)) return reply(call.from, result_text(call.key, get->cell.text, "known"));
    if (auto* wait = std::get_if<wait_cell>(&call.what)) return reply(call.from, result_text(call.key, wait->cell.text, "waited"));
    if (std::holds_alternative<interrupt_cell>(call.what)) return reply(call.from, result_text(call.key, "c", "interrupted"));
    reply(call.from, "{}");
  }

  void route(supervisor_call call) override {
    if (std::holds_alternative<await_end>(call.what)) return;
    ++calls;
    if (std::holds_alternative<get_status>(call.what)) return reply(call.from, R"({"pid":1})");
    if (std::holds_alternative<get_metrics>(call.what)) return reply(call.from, R"("up 1\n")");
    if (std::holds_alternative<subscribe_events>(call.what)) {
      reply(call.from, R"({"seq":0,"missed":0})");
      std::lock_guard const lock(mutex_);
      subscriber_ = call.from;
      return;
    }
    if (std::holds_alternative<shut_down>(call.what)) {
      reply(call.from, R"({"kernels_left":0,"not_saved":0})");
      caf::anon_send(call.from.front, gateway_ended{});
      return;
    }
    reply(call.from, R"({"items":[],"next":null})");
  }

  void route(connection_closed) override { ++closed_connections; }

 private:
  static void reply(reply_to const& to, tl::expected<std::string, error> outcome) {
    caf::anon_send(to.front, answer{to.connection, to.request, std::move(outcome)});
  }

  static std::string quoted(std::string const& text) { return boost::json::serialize(boost::json::string(text)); }

  static std::string result_text(session_key const& key, std::string const& cell, std::string const& value) {
    return R"({"replayed":false,"cell":)" + quoted(cell) + R"(,"session":)" + quoted(key.session) + R"(,"owner":)" +
           quoted(key.owner) + R"(,"status":"ok","final":true,"stdout":"out","stderr":"","value":)" + quoted(value) +
           R"(,"error":null,"exit_code":null,"duration_ms":3,)" +
           R"("notices":[{"id":"n-1","kind":"state_lost","text":"gone"}],"kernel":{"id":"k-1","pid":7},"text":"[cell ended]"})";
  }

  void on_run(reply_to const& from, session_key const& key, run_cell const& run) {
    {
      std::lock_guard const lock(mutex_);
      last_run_ = run;
    }
    std::istringstream script(run.code);
    std::string word;
    std::size_t count = 0, size = 0;
    script >> word;
    if (word == "stream") {
      script >> count >> size;
      std::size_t offset = 0;
      for (std::size_t seq = 1; seq <= count; ++seq, offset += size)
        caf::anon_send(from.front,
                       notification{from.connection, "cell.stream",
                                    R"({"owner":"default","child":null,"session":"s","cell":"c","seq":)" + std::to_string(seq) +
                                        R"(,"stream":"stdout","offset":)" + std::to_string(offset) + R"(,"text":")" +
                                        std::string(size, 'x') + R"(","dropped_bytes":0})"});
    } else if (word == "big") {
      script >> size;
      return reply(from, "\"" + std::string(size, 'x') + "\"");
    } else if (word == "hold") {
      held_.push_back(from);
      return;
    } else if (word == "release") {
      for (auto const& each : held_) reply(each, "{}");
      held_.clear();
    } else if (word == "refuse") {
      return reply(from, fail(error_code::queue_full, "64 cells wait"));
    } else if (word == "notice") {
      std::lock_guard const lock(mutex_);
      if (subscriber_)
        caf::anon_send(subscriber_->front,
                       notification{subscriber_->connection, "event",
                                    R"({"seq":1,"at":"","kind":"notice","owner":"ada","child":null,"session":"s",)"
                                    R"("details":{"id":"n-1","kind":"state_lost","text":"gone"}})"});
    }
    reply(from, result_text(key, run.cell.empty() ? "c-1" : run.cell.text, run.code));
  }

  std::vector<reply_to> held_;  // multiplexer thread only
  std::mutex mutex_;
  std::optional<run_cell> last_run_;    // guarded by mutex_
  std::optional<reply_to> subscriber_;  // guarded by mutex_
};

}  // namespace holdfast::front
