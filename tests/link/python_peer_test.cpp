// The daemon's window against the program's own, in another process, over sockets that are cut and frames that are repeated, lost and
// swapped in both directions: exactly once, in order, both ways. 100,000 frames each way; a million with HOLDFAST_LONG=1.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "actors/link/handshake.hpp"
#include "python_peer.hpp"
#include "random_seed.hpp"
#include "wire_model.hpp"

using namespace holdfast::link;
using namespace holdfast::link::test;

namespace {

constexpr fault_rates rates{300, 5000, 5000, 100, 10};
constexpr std::size_t most_waiting = 64 << 10;

/// The daemon's end. Every REQUIRE is a promise of docs/wire.md.
class daemon_end {
 public:
  daemon_end(std::uint64_t seed, std::uint64_t frames, report& counts, std::string const& defect = {})
      : token_(64, 'a'),
        peer_(frames, token_, defect),
        random_(seed),
        frames_(frames),
        counts_(counts),
        out_faults_(rates, counts) {}
  ~daemon_end() { disconnect(); }
  daemon_end(daemon_end const&) = delete;
  daemon_end& operator=(daemon_end const&) = delete;

  /// Until all is delivered and acked, both ways.
  void run() {
    auto const deadline = std::chrono::steady_clock::now() + std::chrono::minutes{4};
    attach_again();
    while (recorded_ < frames_ || pushed_ < frames_ || window_.unacked_frames() > 0) {
      REQUIRE(std::chrono::steady_clock::now() < deadline);
      send();
      if (!receive() || random_() % rates.cut == 0) attach_again();
    }
  }
  std::string finish() {
    disconnect();
    return peer_.finish();
  }
  std::uint64_t delivered() const { return delivered_; }

 private:
  void disconnect() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }

  void attach_again() {
    ++counts_.cuts;
    if (in_.buffered() > 0 || partly_sent_) ++counts_.mid_frame_cuts;
    disconnect();
    in_ = {};
    waiting_.clear();
    held_back_.reset();
    partly_sent_ = false;
    out_faults_.reset();
    socket_ = peer_.connect();

    bool const restarts = random_() % rates.restart == 0;
    attach wanted{"k-1", token_, "h-1", 1, restarts ? recorded_ : window_.ack(), 1000};
    append(waiting_, 0, wanted.ack, to_json(wanted));
    auto const answer = parse_hello(wait_for_first());
    INFO((answer ? "" : answer.error()));
    REQUIRE(answer);
    INFO((std::holds_alternative<refused>(*answer) ? std::get<refused>(*answer).message : ""));
    REQUIRE(std::holds_alternative<hello>(*answer));
    auto const& greeting = std::get<hello>(*answer);
    if (restarts) {
      ++counts_.restarts;
      delivered_ = recorded_;
      window_ = window::fresh(recorded_, greeting.ack, greeting.first, bounds);
      pushed_ = greeting.ack;
    } else {
      window_.resume_same(greeting.ack, greeting.first);
    }
  }

  /// Sends the attach and waits for the first frame; what follows it in the same read stays in the decoder.
  std::string wait_for_first() {
    for (int round = 0; round < 1000; ++round) {
      write_some(waiting_.size());
      ::pollfd ready{socket_, POLLIN, 0};
      REQUIRE(::poll(&ready, 1, 20'000) == 1);
      REQUIRE(read_some());
      if (auto item = in_.next()) return std::get<frame>(*item).payload;
    }
    FAIL("no answer to attach");
    return {};
  }

  void send() {
    while (pushed_ < frames_ && window_.push(payload_of(pushed_ + 1))) ++pushed_;
    while (waiting_.size() < most_waiting) {
      auto const next = window_.take_unsent();
      if (!next) break;
      out_faults_.write(waiting_, random_, next->seq, window_.ack(), next->payload);
      window_.ack_sent();
    }
    if (window_.ack_due()) {
      out_faults_.write(waiting_, random_, 0, window_.ack(), {});
      window_.ack_sent();
    }
    write_some(random_() % (2 * most_waiting));
  }

  void write_some(std::size_t most) {
    auto const count = ::send(socket_, waiting_.data(), std::min(most, waiting_.size()), MSG_NOSIGNAL);
    if (count > 0) {
      waiting_.erase(0, static_cast<std::size_t>(count));
      partly_sent_ = !waiting_.empty();
    }
  }

  /// False: the connection has ended.
  bool read_some() {
    char buffer[16384];
    auto const count = ::recv(socket_, buffer, 1 + random_() % sizeof(buffer), 0);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    in_.feed({buffer, static_cast<std::size_t>(count)});
    return count > 0;
  }

  /// False: the connection has ended, or must.
  bool receive() {
    ::pollfd ready{socket_, static_cast<short>(POLLIN | (waiting_.empty() ? 0 : POLLOUT)), 0};
    // Silence means that a lost frame has filled a window: a stream would not have lost it, so the connection must go.
    bool const owes_nothing = recorded_ == delivered_ && waiting_.empty();
    if (::poll(&ready, 1, owes_nothing ? 20 : 0) == 0 && owes_nothing) return false;
    if ((ready.revents & ~POLLOUT) != 0 && !read_some()) return false;
    while (auto item = in_.next()) {
      auto& received = std::get<frame>(*item);
      if (!distort(std::move(received))) return false;
    }
    if (random_() % 3 == 0) {
      recorded_ = delivered_;
      window_.record(recorded_);
    }
    REQUIRE(window_.bogus_acks() == 0);
    REQUIRE(window_.unacked_frames() <= bounds.frames);
    REQUIRE(window_.unacked_bytes() <= bounds.bytes);
    return true;
  }

  /// The wire's lies about what the peer sent: lost, held back behind the next one, repeated.
  bool distort(frame received) {
    if (received.seq > 0 && random_() % rates.lose == 0) return ++counts_.losses, true;
    if (received.seq > 0 && !held_back_ && random_() % rates.swap == 0) {
      ++counts_.swaps;
      held_back_ = std::move(received);
      return true;
    }
    if (!take(received)) return false;
    if (random_() % rates.repeat == 0) {
      ++counts_.repeats;
      if (!take(received)) return false;
    }
    auto const late = std::exchange(held_back_, std::nullopt);
    return !late || take(*late);
  }

  bool take(frame const& received) {
    auto const receipt = window_.on_frame(received.seq, received.ack);
    if (receipt == window::receipt::gap) return ++counts_.gaps, false;
    if (receipt == window::receipt::fresh) {
      REQUIRE(received.payload == payload_of(delivered_ + 1));
      ++delivered_;
    } else if (received.seq > 0) {
      ++counts_.duplicates;
    }
    return true;
  }

  static constexpr limits bounds{256, 1 << 20};

  std::string token_;
  python_peer peer_;
  std::mt19937_64 random_;
  std::uint64_t frames_;
  report& counts_;
  lying_writer out_faults_;
  window window_{bounds};
  decoder in_;
  int socket_ = -1;
  std::string waiting_;             // made ready for the socket
  bool partly_sent_ = false;        // of which something went out already
  std::optional<frame> held_back_;  // received, to be handled behind the next one
  std::uint64_t pushed_ = 0;
  std::uint64_t delivered_ = 0;  // handled, in order
  std::uint64_t recorded_ = 0;   // of these: survive a restart of this end
};

}  // namespace

TEST_CASE("the daemon's window and the program's lose nothing and repeat nothing over a broken wire") {
  auto const seed = random_seed();
  CAPTURE(seed);
  std::uint64_t const frames = std::getenv("HOLDFAST_LONG") ? 1'000'000 : 100'000;
  report counts;
  daemon_end ours{seed, frames, counts};

  ours.run();
  auto const printed = ours.finish();

  CHECK(ours.delivered() == frames);
  REQUIRE(printed != "");
  auto const theirs = boost::json::parse(printed);
  CHECK(theirs.at("delivered").to_number<std::uint64_t>() == frames);
  CHECK(theirs.at("violation").as_string() == "");
  CHECK(theirs.at("connections").to_number<std::uint64_t>() == counts.cuts);
  CHECK(theirs.at("duplicates").to_number<std::uint64_t>() > 0);
  CHECK(theirs.at("gaps").to_number<std::uint64_t>() > 0);
  CHECK(counts.cuts > 20);
  CHECK(counts.mid_frame_cuts > 0);
  CHECK(counts.restarts > 0);
  CHECK(counts.gaps > 0);
  CHECK(counts.duplicates > 0);
  WARN("connections " << counts.cuts << " (cut in mid-frame " << counts.mid_frame_cuts << ", daemon anew " << counts.restarts
                      << "), repeats " << counts.repeats << ", swaps " << counts.swaps << ", losses " << counts.losses
                      << "; gaps seen here " << counts.gaps << ", there " << theirs.at("gaps").to_number<std::uint64_t>());
}

TEST_CASE("a program that delivers duplicates is noticed") {
  auto const seed = random_seed();
  CAPTURE(seed);
  report counts;
  daemon_end ours{seed, 20'000, counts, "delivers_duplicates"};

  ours.run();
  auto const theirs = boost::json::parse(ours.finish());

  CHECK(std::string{theirs.at("violation").as_string()}.substr(0, 3) == "got");
}
