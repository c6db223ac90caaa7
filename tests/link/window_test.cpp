// The window's rules one by one; million_frames_test.cpp has them all at once.
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "actors/link/window.hpp"

using namespace holdfast::link;
using receipt = window::receipt;

namespace {

std::vector<std::uint64_t> take_all(window& from) {
  std::vector<std::uint64_t> seqs;
  while (auto next = from.take_unsent()) seqs.push_back(next->seq);
  return seqs;
}

using seqs = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("frames are numbered from 1 and taken once, in order") {
  window ours;

  REQUIRE(ours.push("a"));
  REQUIRE(ours.push("b"));

  auto const first = ours.take_unsent();
  REQUIRE(first);
  CHECK(first->seq == 1);
  CHECK(first->payload == "a");
  CHECK(ours.has_unsent());
  CHECK(take_all(ours) == seqs{2});
  CHECK_FALSE(ours.has_unsent());
  CHECK_FALSE(ours.take_unsent());
  CHECK(ours.next_seq() == 3);
}

TEST_CASE("a full window takes no further frame and changes nothing") {
  window ours{limits{3, 10}};
  REQUIRE(ours.push("1234"));
  REQUIRE(ours.push("5678"));

  SECTION("by bytes") {
    CHECK_FALSE(ours.push("abc"));
    CHECK(ours.unacked_bytes() == 8);
    CHECK(ours.next_seq() == 3);
    CHECK(ours.push("ab"));
  }
  SECTION("by frames") {
    REQUIRE(ours.push(""));
    CHECK_FALSE(ours.push(""));
    CHECK(ours.unacked_frames() == 3);
    CHECK(ours.next_seq() == 4);
  }
  SECTION("until acks make room") {
    REQUIRE(ours.push(""));
    take_all(ours);
    ours.on_frame(0, 2);
    CHECK(ours.unacked_frames() == 1);
    CHECK(ours.unacked_bytes() == 0);
    CHECK(ours.push("0123456789"));
  }
}

TEST_CASE("a payload above the byte limit never fits") {
  window ours{limits{3, 10}};

  CHECK_FALSE(ours.push("01234567890"));
  CHECK(ours.next_seq() == 1);
}

TEST_CASE("acks are cumulative and drop what they cover") {
  window ours;
  for (int i = 0; i < 5; ++i) REQUIRE(ours.push("x"));
  take_all(ours);

  ours.on_frame(0, 3);
  ours.on_frame(0, 2);

  CHECK(ours.unacked_frames() == 2);
  CHECK(ours.bogus_acks() == 0);
}

TEST_CASE("an ack above what was ever sent is ignored and counted") {
  window ours;
  REQUIRE(ours.push("a"));
  REQUIRE(ours.push("b"));
  REQUIRE(ours.take_unsent());

  CHECK(ours.on_frame(1, 2) == receipt::fresh);
  ours.on_frame(0, UINT64_MAX);
  ours.resume_same(7, 0);

  CHECK(ours.bogus_acks() == 3);
  CHECK(ours.unacked_frames() == 2);
  CHECK(take_all(ours) == seqs{1, 2});
}

TEST_CASE("the next frame is fresh, earlier ones are duplicates, later ones a gap") {
  window ours;

  CHECK(ours.on_frame(2, 0) == receipt::gap);
  CHECK(ours.on_frame(1, 0) == receipt::fresh);
  CHECK(ours.on_frame(1, 0) == receipt::duplicate);
  CHECK(ours.on_frame(0, 0) == receipt::duplicate);
  CHECK(ours.on_frame(2, 0) == receipt::fresh);
  CHECK(ours.on_frame(4, 0) == receipt::gap);
  CHECK(ours.on_frame(UINT64_MAX, 0) == receipt::gap);
  CHECK(ours.received() == 2);
}

TEST_CASE("only what is recorded is acked, and never more than was received") {
  window ours;
  ours.on_frame(1, 0);
  ours.on_frame(2, 0);

  CHECK(ours.ack() == 0);
  CHECK_FALSE(ours.ack_due());

  ours.record(1);
  CHECK(ours.ack() == 1);
  CHECK(ours.ack_due());

  ours.ack_sent();
  CHECK_FALSE(ours.ack_due());

  ours.record(99);
  CHECK(ours.ack() == 2);
  ours.record(1);
  CHECK(ours.ack() == 2);
}

TEST_CASE("a resumed connection drops what the peer has and sends the rest again") {
  window ours;
  for (int i = 0; i < 5; ++i) REQUIRE(ours.push(std::to_string(i)));
  ours.take_unsent();
  ours.take_unsent();
  ours.take_unsent();

  ours.resume_same(2, 0);

  CHECK(ours.unacked_frames() == 3);
  auto const again = ours.take_unsent();
  REQUIRE(again);
  CHECK(again->seq == 3);
  CHECK(again->payload == "2");
  CHECK(take_all(ours) == seqs{4, 5});
}

TEST_CASE("an ack may overtake a resend, which then does not happen") {
  window ours;
  for (int i = 0; i < 3; ++i) REQUIRE(ours.push("x"));
  take_all(ours);
  ours.resume_same(0, 0);

  // The peer had received 2 frames before the cut and records them only now.
  ours.on_frame(0, 2);

  CHECK(ours.bogus_acks() == 0);
  CHECK(take_all(ours) == seqs{3});
}

TEST_CASE("frames received but not recorded before a cut are duplicates after it") {
  window ours;
  ours.on_frame(1, 0);
  ours.on_frame(2, 0);
  ours.record(1);

  ours.resume_same(0, 2);

  CHECK(ours.on_frame(2, 0) == receipt::duplicate);
  CHECK(ours.on_frame(3, 0) == receipt::fresh);
  ours.record(2);
  CHECK(ours.ack() == 2);
}

TEST_CASE("frames that the peer no longer has are no gap") {
  window ours;
  ours.on_frame(1, 0);
  ours.record(1);

  ours.resume_same(0, 5);

  CHECK(ours.received() == 4);
  CHECK(ours.on_frame(5, 0) == receipt::fresh);
}

TEST_CASE("a new incarnation goes on where the peer and the records are") {
  auto ours = window::fresh(7, 12, 8);

  CHECK(ours.ack() == 7);
  CHECK_FALSE(ours.ack_due());
  CHECK(ours.next_seq() == 13);
  CHECK(ours.on_frame(7, 12) == receipt::duplicate);
  CHECK(ours.on_frame(8, 12) == receipt::fresh);
  CHECK(ours.bogus_acks() == 0);
  REQUIRE(ours.push("x"));
  CHECK(take_all(ours) == seqs{13});
}

TEST_CASE("a new incarnation whose records are older than the peer's frames starts at the first of those") {
  auto ours = window::fresh(3, 0, 6);

  CHECK(ours.on_frame(5, 0) == receipt::duplicate);
  CHECK(ours.on_frame(6, 0) == receipt::fresh);
}

TEST_CASE("a payload stays in place while others are pushed") {
  window ours;
  REQUIRE(ours.push(std::string(100, 'a')));
  auto const taken = ours.take_unsent();

  for (int i = 0; i < 1000; ++i) REQUIRE(ours.push("b"));

  REQUIRE(taken);
  CHECK(taken->payload == std::string(100, 'a'));
}
