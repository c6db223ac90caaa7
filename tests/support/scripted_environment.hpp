// The run-to-completion contract by script: kernels are records here, and a cell's code says what becomes of it. No process is started.
//   "hang"      never done, by itself or by an interrupt        "wait"   done when release() is called
//   "raise"     ends as an error                                else     ends as ok with the value "2"
// Answers the requests of docs/wire.md, Relay, as bytes; counts them; can fail in the ways in which hosts do.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "actors/link/crc32.hpp"
#include "actors/link/decoder.hpp"
#include "actors/link/spool.hpp"
#include "holdfast/holdfast.hpp"
#include "tests/support/operation_gate.hpp"

namespace holdfast::test {

class scripted_environment : public exec_environment {
 public:
  /// What a host may do instead of its work.
  enum class mood { well, exits_255, prints_garbage, throws, refuses_spawns, holds_spawns, hangs, cuts_answers_short };

  outcome execute(command const& what) override;

  operation_gate gate;

  void set_mood(mood now) {
    std::lock_guard const lock(mutex_);
    mood_ = now;
    changed_.notify_all();
  }
  /// Every cell that waits is done.
  void release() {
    std::lock_guard const lock(mutex_);
    is_released_ = true;
    changed_.notify_all();
  }
  /// Its process is gone from now on.
  void kill_kernels() {
    std::lock_guard const lock(mutex_);
    for (auto& [id, each] : kernels_) each.is_alive = false;
    changed_.notify_all();
  }
  std::size_t count(std::string const& operation = {}) const {
    std::lock_guard const lock(mutex_);
    if (operation.empty()) return operations_.size();
    return static_cast<std::size_t>(std::count(operations_.begin(), operations_.end(), operation));
  }
  /// Codes that ran without a kernel, in their order.
  std::vector<std::string> ran_alone() const {
    std::lock_guard const lock(mutex_);
    return ran_alone_;
  }
  /// Ids of the cells that ran in kernels, in the order of their starts.
  std::vector<std::string> ran() const {
    std::lock_guard const lock(mutex_);
    return ran_;
  }
  /// Cells that are not done, each with a command that waits for it.
  std::size_t open_cells() const {
    std::lock_guard const lock(mutex_);
    std::size_t all = 0;
    for (auto const& [id, each] : kernels_) all += each.open.size();
    return all;
  }
  /// Commands that have not come back.
  std::size_t underway() const { return underway_; }
  std::size_t living() const {
    std::lock_guard const lock(mutex_);
    return static_cast<std::size_t>(
        std::count_if(kernels_.begin(), kernels_.end(), [](auto const& each) { return each.second.is_alive; }));
  }

 private:
  struct kernel {
    std::int64_t pid = 0;
    bool is_alive = true;
    std::uint64_t epoch = 0;
    std::uint64_t taken = 0;                          // highest seq from the daemon
    std::uint64_t last = 0;                           // highest seq to it
    std::int64_t generation = 0;                      // of its newest cell
    std::map<std::uint64_t, std::string> unacked;     // by seq
    std::map<std::string, boost::json::object> open;  // cells that are not done, by id: their execute
  };
  using json = boost::json::object;

  json serve(json const& head, std::string_view frames, std::string& came, std::unique_lock<std::mutex>& lock);
  json carry(json const& head, std::string_view frames, std::string& came, std::unique_lock<std::mutex>& lock);
  json run_alone(json const& head, std::string_view frames, std::string& came, std::unique_lock<std::mutex>& lock);
  void take(kernel& by, link::frame const& frame);
  void settle(kernel& of);
  static std::string spool_of(kernel const& of);
  static void push(kernel& of, json const& message) { of.unacked[++of.last] = boost::json::serialize(message); }
  static void finish(kernel& of, std::string const& cell, std::string const& status);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  mood mood_ = mood::well;
  std::atomic<std::size_t> underway_{0};
  bool is_released_ = false;
  bool is_staged_ = false;
  std::int64_t last_pid_ = 1000;
  std::map<std::string, kernel> kernels_;
  std::vector<std::string> operations_;
  std::vector<std::string> ran_;
  std::vector<std::string> ran_alone_;
  std::map<std::string, std::string> orders_;  // to calls without a kernel
};

inline scripted_environment::outcome scripted_environment::execute(command const& what) {
  struct counted {
    std::atomic<std::size_t>& all;
    explicit counted(std::atomic<std::size_t>& of) : all(of) { ++all; }
    ~counted() { --all; }
  } const is_underway(underway_);
  link::decoder bytes;
  auto const line = what.input.find('\n');
  auto const steps = std::stoul(what.input.substr(0, line));
  auto const request = std::string_view(what.input).substr(line + 1 + steps);
  bytes.feed(request);
  auto const first = bytes.next();
  auto const& opening = std::get<link::frame>(first.value());
  auto const head = boost::json::parse(opening.payload).as_object();
  std::unique_lock lock(mutex_);
  auto const operation = operations_.emplace_back(head.at("operation").as_string());
  lock.unlock();
  gate.pass(operation);
  lock.lock();
  if (mood_ == mood::hangs) {
    changed_.wait(lock, [&] { return mood_ != mood::hangs; });
    return {"", 255};
  }
  switch (mood_) {
    case mood::exits_255: return {"", 255};
    case mood::prints_garbage: return {"motd: welcome\n\x01\x02", 0};
    case mood::throws: throw std::runtime_error("the host is away");
    default: break;
  }
  std::string came;
  auto const answer = boost::json::serialize(serve(head, request.substr(link::header_bytes + opening.payload.size()), came, lock));
  std::string body;
  link::append(body, 0, 0, answer);
  body += came;
  auto output =
      "a banner\n\nholdfast-relay " + std::string(head.at("nonce").as_string()) + " " + std::to_string(body.size()) + "\n" + body;
  if (mood_ == mood::cuts_answers_short) output.resize(output.size() - 1);
  return {std::move(output), 0};
}

inline boost::json::object scripted_environment::serve(json const& head, std::string_view frames, std::string& came,
                                                       std::unique_lock<std::mutex>& lock) {
  auto const operation = head.at("operation").as_string();
  if (operation == "stage") {
    is_staged_ = true;
    return {{"type", "staged"}};
  }
  if (!is_staged_) return {{"type", "missing"}};
  if (operation == "per_call") return run_alone(head, frames, came, lock);
  if (operation == "per_call_order") {
    orders_[std::string(head.at("call").as_string())] = std::string(head.at("order").as_string());
    changed_.notify_all();
    return {{"type", "ordered"}, {"state", "taken"}};
  }
  auto const id = std::string(head.at("kernel").as_string());
  if (operation == "spawn") {
    if (mood_ == mood::refuses_spawns) return {{"type", "refused"}, {"message", "sh: cannot fork"}};
    auto& made = kernels_[id];
    changed_.wait(lock, [&] { return mood_ != mood::holds_spawns; });
    if (made.pid == 0) made.pid = ++last_pid_;
    return {{"type", "spawned"},  {"pid", made.pid},       {"start_time", 1},    {"boot_id", "far"},
            {"pid_namespace", 1}, {"nursery", "y-script"}, {"python", "python"}, {"program", head.at("program")}};
  }
  if (operation == "carry") return carry(head, frames, came, lock);
  auto& of = kernels_[id];
  if (operation == "signal") {
    if (head.at("signal").as_int64() == 9) of.is_alive = false;
    changed_.notify_all();
    return {{"type", "signalled"}, {"state", of.is_alive ? "sent" : "gone"}};
  }
  if (operation == "remains") {
    link::append(came, 1, 0, "");
    link::append(came, 2, 0, spool_of(of));
    link::append(came, 3, 0, "");
    return {{"type", "remains"}, {"ended", 0}, {"state", nullptr}};
  }
  of.is_alive = false;
  return {{"type", "removed"}};
}

inline boost::json::object scripted_environment::carry(json const& head, std::string_view frames, std::string& came,
                                                       std::unique_lock<std::mutex>& lock) {
  auto& of = kernels_[std::string(head.at("kernel").as_string())];
  auto const answer = [&](char const* end) {
    return json{{"type", "carried"}, {"end", end}, {"message", ""}, {"cells", of.open.size()}, {"requests", 0}, {"jobs", 0}};
  };
  if (!of.is_alive || of.pid == 0) return answer("gone");
  auto const epoch = ++of.epoch;
  changed_.notify_all();
  auto const acked = head.at("attach").at("ack").to_number<std::uint64_t>();
  of.unacked.erase(of.unacked.begin(), of.unacked.upper_bound(acked));
  auto const taken_before = of.taken;
  boost::json::array cells;
  for (auto const& [cell, message] : of.open) cells.push_back({{"cell", cell}, {"generation", message.at("generation")}});
  link::decoder bytes;
  bytes.feed(frames);
  while (auto item = bytes.next())
    if (auto const& frame = std::get<link::frame>(*item); frame.seq == of.taken + 1) take(of, frame);
  auto const until = std::chrono::steady_clock::now() + std::chrono::milliseconds(head.at("wait_ms").as_int64());
  settle(of);
  auto const has_news = [&] {
    return std::any_of(of.unacked.begin(), of.unacked.end(), [](auto const& each) {
      return each.second.find("\"done\"") != std::string::npos || each.second.find("\"answer\"") != std::string::npos;
    });
  };
  changed_.wait_until(lock, until, [&] {
    settle(of);
    return of.open.empty() || has_news() || of.epoch != epoch || !of.is_alive;
  });
  if (!of.is_alive) return answer("gone");
  json const hello{{"type", "hello"},
                   {"protocol", 1},
                   {"program", head.at("program")},
                   {"epoch", epoch},
                   {"ack", taken_before},
                   {"first", of.unacked.empty() ? of.last + 1 : of.unacked.begin()->first},
                   {"boot_id", "far"},
                   {"pid_namespace", 1},
                   {"pid", of.pid},
                   {"start_time", 1},
                   {"ready", true},
                   {"cells", cells},
                   {"jobs", boost::json::array{}},
                   {"dropped", 0},
                   {"python", "python"}};
  link::append(came, 0, taken_before, boost::json::serialize(hello));
  for (auto const& [seq, payload] : of.unacked) link::append(came, seq, of.taken, payload);
  if (of.unacked.empty()) link::append(came, 0, of.taken, "");
  return answer(of.epoch == epoch ? "done" : "closed");
}

/// It prints its code.
inline boost::json::object scripted_environment::run_alone(json const& head, std::string_view frames, std::string& came,
                                                           std::unique_lock<std::mutex>& lock) {
  if (frames.empty()) return {{"type", "ready"}};
  link::decoder bytes;
  bytes.feed(frames);
  auto const first = bytes.next();
  auto const code = std::get<link::frame>(first.value()).payload;
  ran_alone_.push_back(code);
  changed_.notify_all();
  auto const& order = orders_[std::string(head.at("call").as_string())];
  auto const until = std::chrono::steady_clock::now() + std::chrono::milliseconds(head.at("timeout_ms").as_int64());
  auto const is_over = changed_.wait_until(
      lock, until, [&] { return order == "kill" || (code == "wait" ? is_released_ || !order.empty() : code != "hang"); });
  link::append(came, 1, 0,
               boost::json::serialize(json{{"type", "output"}, {"cell", ""}, {"stream", "stdout"}, {"offset", 0}, {"text", code}}));
  json ended{{"type", "ended"},  {"exit_code", 0}, {"timed_out", !is_over}, {"reply", nullptr}, {"stdout_bytes", code.size()},
             {"stderr_bytes", 0}};
  if (order == "kill" || (!is_over && code == "hang"))
    ended["exit_code"] = -9;
  else if (code == "raise" || !order.empty() || !is_over)
    ended["reply"] = R"({"status":"error","error":{"name":")" + std::string(code == "raise" ? "ValueError" : "KeyboardInterrupt") +
                     R"(","message":"","traceback":""}})";
  else
    ended["reply"] = R"({"status":"ok","value":"2"})";
  return ended;
}

inline void scripted_environment::take(kernel& by, link::frame const& frame) {
  by.taken = frame.seq;
  auto const message = boost::json::parse(frame.payload).as_object();
  auto const type = message.at("type").as_string();
  if (type == "execute") {
    auto const cell = std::string(message.at("cell").as_string());
    auto const generation = message.at("generation").to_number<std::int64_t>();
    if (generation <= by.generation) return;  // a repeat
    by.generation = generation;
    ran_.push_back(cell);
    push(by, {{"type", "started"}, {"cell", cell}, {"generation", message.at("generation")}, {"at", 1}});
    by.open[cell] = message;
  } else if (type == "interrupt") {
    auto const cell = std::string(message.at("cell").as_string());
    auto const found = by.open.find(cell);
    if (found != by.open.end() && found->second.at("code").as_string() == "wait") finish(by, cell, "interrupted");
  } else if (type == "request") {  // a namespace without names is saved and restored
    push(by, {{"type", "answer"},
              {"id", message.at("id")},
              {"names", boost::json::array{}},
              {"more_names", 0},
              {"skipped", boost::json::array{}},
              {"more_skipped", 0},
              {"bytes", 0}});
  } else if (type == "shutdown") {
    by.is_alive = false;
  }
}

/// What it had said and nobody had acked, as docs/wire.md has it.
inline std::string scripted_environment::spool_of(kernel const& of) {
  constexpr std::size_t header = 64;
  std::string records;
  for (auto const& [seq, payload] : of.unacked) {
    link::detail::append_big_endian(records, static_cast<std::uint32_t>(payload.size()));
    link::detail::append_big_endian(records, seq);
    link::detail::append_big_endian(records, link::crc32(payload));
    records += payload;
  }
  std::string spool = "HFSPOOL1";
  link::detail::append_big_endian(spool, static_cast<std::uint64_t>(header + records.size()));
  spool.resize(header);
  spool += records;
  spool.resize(link::spool_bytes);
  return spool;
}

/// Ends the cells that have nothing to wait for.
inline void scripted_environment::settle(kernel& of) {
  std::vector<std::string> done, failed;
  for (auto const& [cell, message] : of.open) {
    auto const code = message.at("code").as_string();
    if (code == "raise")
      failed.push_back(cell);
    else if (code != "hang" && (code != "wait" || is_released_))
      done.push_back(cell);
  }
  for (auto const& cell : done) finish(of, cell, "ok");
  for (auto const& cell : failed) finish(of, cell, "error");
}

inline void scripted_environment::finish(kernel& of, std::string const& cell, std::string const& status) {
  auto const generation = of.open.at(cell).at("generation");
  of.open.erase(cell);
  json const nothing{{"head", ""}, {"tail", ""}, {"bytes", 0}};
  json message{{"type", "done"},   {"cell", cell},         {"generation", generation}, {"status", status}, {"value", nullptr},
               {"error", nullptr}, {"exit_code", nullptr}, {"started_at", 1},          {"finished_at", 2}, {"duration_ms", 1},
               {"displays", 0},    {"stdout", nothing},    {"stderr", nothing},        {"output_bytes", 0}};
  if (status == "ok") message["value"] = "2";
  if (status == "error") message["error"] = json{{"name", "ValueError"}, {"message", "by script"}, {"traceback", ""}};
  push(of, message);
}

}  // namespace holdfast::test
