#include "wire_model.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace holdfast::link::test {

namespace {

constexpr std::size_t most_in_flight = 64 << 10;

/// One process: its window, what it wants to send, and what a checker knows of what it got.
struct end {
  link::window window;
  decoder in;
  std::string wire;             // bytes on their way to the other end
  std::uint64_t pushed = 0;     // payloads handed to the window so far
  std::uint64_t delivered = 0;  // payloads handled, in order, once each
  std::uint64_t recorded = 0;   // of these: survive the death of this process
};

class model {
 public:
  explicit model(plan const& wanted)
      : plan_(wanted),
        random_(wanted.seed),
        ends_{end{window{wanted.bounds}, {}, {}}, end{window{wanted.bounds}, {}, {}}},
        writers_{lying_writer{wanted.faults, report_}, lying_writer{wanted.faults, report_}} {}

  report run() {
    // Progress is certain in expectation; the bound only turns a stalled window into a failure instead of a hang.
    auto const most_steps = plan_.frames * 40 + 1'000'000;
    std::uint64_t steps = 0;
    while (report_.violation.empty() && !complete()) {
      if (++steps > most_steps) fail("stalled");
      step(random_() % 2);
    }
    report_.delivered[0] = ends_[0].delivered;
    report_.delivered[1] = ends_[1].delivered;
    return report_;
  }

 private:
  bool strikes(std::uint32_t rate) { return rate > 0 && random_() % rate == 0; }
  bool complete() const {
    return ends_[0].recorded == plan_.frames && ends_[1].recorded == plan_.frames && ends_[0].window.unacked_frames() == 0 &&
           ends_[1].window.unacked_frames() == 0;
  }
  void fail(std::string what) {
    if (report_.violation.empty()) report_.violation = std::move(what);
  }

  void step(std::size_t side) {
    auto& self = ends_[side];
    produce(self);
    transmit(self, side);
    if (strikes(plan_.faults.cut)) return reconnect();
    deliver(side);
    if (random_() % 4 == 0 || self.delivered == plan_.frames) record(self);
    check_bounds(self);
  }

  void produce(end& self) {
    for (auto count = random_() % 32; count > 0 && self.pushed < plan_.frames; --count) {
      if (!self.window.push(payload_of(self.pushed + 1))) break;
      ++self.pushed;
    }
  }

  void transmit(end& self, std::size_t side) {
    for (auto count = random_() % 32; count > 0 && self.wire.size() < most_in_flight; --count) {
      auto const next = self.window.take_unsent();
      if (!next) break;
      writers_[side].write(self.wire, random_, next->seq, self.window.ack(), next->payload);
    }
    // Lost frames are found by the gap they make; at the end of the stream only further frames, here bare acks, cannot show it.
    if (self.window.ack_due() || random_() % 8 == 0) writers_[side].write(self.wire, random_, 0, self.window.ack(), {});
    self.window.ack_sent();
    if (self.pushed == plan_.frames && !self.window.has_unsent() && self.window.unacked_frames() > 0 && random_() % 64 == 0)
      reconnect();
  }

  /// A piece of what the other end wrote arrives here.
  void deliver(std::size_t side) {
    auto& self = ends_[side];
    auto& wire = ends_[1 - side].wire;
    auto const size = std::min<std::size_t>(wire.size(), random_() % 4096);
    self.in.feed(std::string_view{wire}.substr(0, size));
    wire.erase(0, size);
    while (auto item = self.in.next()) {
      auto const* whole = std::get_if<frame>(&*item);
      if (!whole) return fail("a frame changed its length");
      if (!handle(self, *whole)) {
        ++report_.gaps;
        return reconnect();
      }
    }
  }

  /// False: a gap, the connection is broken.
  bool handle(end& self, frame const& received) {
    auto const receipt = self.window.on_frame(received.seq, received.ack);
    if (self.window.bogus_acks() > 0) fail("acked what was never sent");
    if (received.seq == 0) return true;
    if (receipt == window::receipt::duplicate) {
      ++report_.duplicates;
      if (plan_.planted != defect::delivers_duplicates) return true;
    }
    if (receipt == window::receipt::gap && plan_.planted != defect::ignores_gaps) return false;
    check_order(self, received);
    return true;
  }

  void check_order(end& self, frame const& received) {
    auto const number = number_in(received.payload);
    if (number != self.delivered + 1 || received.payload != payload_of(number))
      return fail("delivered " + std::to_string(number) + " after " + std::to_string(self.delivered));
    ++self.delivered;
    if (plan_.planted == defect::acks_before_recording) self.window.record(self.delivered);
  }

  void record(end& self) {
    self.recorded = self.delivered;
    self.window.record(self.recorded);
  }

  void check_bounds(end& self) {
    if (self.window.unacked_frames() > plan_.bounds.frames || self.window.unacked_bytes() > plan_.bounds.bytes)
      fail("the window exceeds its limits");
    if (self.in.buffered() > 4096 + 2 * header_bytes) fail("the decoder holds more than was fed");
  }

  /// End 0 is the daemon, end 1 the kernel: docs/wire.md, Attach. What was on the wire is lost.
  void reconnect() {
    ++report_.cuts;
    auto& daemon = ends_[0];
    auto& kernel = ends_[1];
    for (auto* self : {&daemon, &kernel}) {
      if (self->in.buffered() > 0) ++report_.mid_frame_cuts;
      self->in = {};
      self->wire.clear();
    }
    for (auto& writer : writers_) writer.reset();

    record(kernel);  // a kernel's hello.ack is what it has taken, and it survives
    bool const restarts = plan_.faults.restart > 0 && strikes(std::max(1u, plan_.faults.restart / plan_.faults.cut));
    auto const attach_ack = restarts ? daemon.recorded : daemon.window.ack();
    auto const hello_ack = kernel.window.ack();
    kernel.window.resume_same(attach_ack, 0);
    auto const hello_first = kernel.window.next_seq() - kernel.window.unacked_frames();
    if (restarts) {
      ++report_.restarts;
      daemon.delivered = daemon.recorded;
      daemon.window = window::fresh(daemon.recorded, hello_ack, hello_first, plan_.bounds);
      daemon.pushed = hello_ack;
    } else {
      daemon.window.resume_same(hello_ack, hello_first);
    }
    if (plan_.planted == defect::forgets_unacked) {
      for (auto* self : {&daemon, &kernel})
        while (self->window.take_unsent()) {
        }
    }
  }

  plan plan_;
  std::mt19937_64 random_;
  report report_;
  std::array<end, 2> ends_;
  std::array<lying_writer, 2> writers_;
};

}  // namespace

std::string payload_of(std::uint64_t n) {
  auto payload = std::to_string(n);
  payload.append(n * 7 % 41, '.');
  return payload;
}

std::uint64_t number_in(std::string_view payload) {
  std::uint64_t n = 0;
  std::from_chars(payload.data(), payload.data() + payload.size(), n);
  return n;
}

report run_wire(plan const& wanted) { return model{wanted}.run(); }

}  // namespace holdfast::link::test
