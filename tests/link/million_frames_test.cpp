// A million frames each way over a wire that cuts, repeats, loses and swaps: each arrives exactly once, in order, within the bounds.
// And the proof that this is tested: each planted defect is noticed.
#include <catch2/catch.hpp>

#include "random_seed.hpp"
#include "wire_model.hpp"

using namespace holdfast::link::test;

namespace {

plan with_defect(defect planted) {
  plan wanted;
  wanted.seed = random_seed();
  wanted.frames = 50'000;
  wanted.planted = planted;
  return wanted;
}

}  // namespace

TEST_CASE("a million frames each way arrive exactly once, in order and within the bounds") {
  plan wanted;
  wanted.seed = random_seed();
  CAPTURE(wanted.seed);

  auto const found = run_wire(wanted);

  CHECK(found.violation == "");
  CHECK(found.delivered[0] == wanted.frames);
  CHECK(found.delivered[1] == wanted.frames);
  // The wire did what it was meant to do.
  CHECK(found.repeats > 1000);
  CHECK(found.swaps > 100);
  CHECK(found.losses > 100);
  CHECK(found.cuts > 500);
  CHECK(found.mid_frame_cuts > 300);
  CHECK(found.restarts > 20);
  CHECK(found.gaps > 100);
  CHECK(found.duplicates > 1000);
  WARN("cuts " << found.cuts << " (in mid-frame " << found.mid_frame_cuts << ", daemon anew " << found.restarts << "), repeats "
               << found.repeats << ", swaps " << found.swaps << ", losses " << found.losses << ", gaps " << found.gaps
               << ", duplicates dropped " << found.duplicates);
}

TEST_CASE("a window of one frame loses nothing either") {
  plan wanted;
  wanted.seed = random_seed();
  wanted.frames = 20'000;
  wanted.bounds = {1, 4096};
  CAPTURE(wanted.seed);

  CHECK(run_wire(wanted).violation == "");
}

TEST_CASE("the checker notices a receiver that delivers duplicates") {
  auto const wanted = with_defect(defect::delivers_duplicates);
  CAPTURE(wanted.seed);

  CHECK(run_wire(wanted).violation.substr(0, 9) == "delivered");
}

TEST_CASE("the checker notices a receiver that ignores gaps") {
  auto const wanted = with_defect(defect::ignores_gaps);
  CAPTURE(wanted.seed);

  CHECK(run_wire(wanted).violation.substr(0, 9) == "delivered");
}

TEST_CASE("the checker notices a receiver that acks before it has recorded") {
  auto wanted = with_defect(defect::acks_before_recording);
  wanted.faults.restart = 200;
  CAPTURE(wanted.seed);

  CHECK(run_wire(wanted).violation != "");
}

TEST_CASE("the checker notices a sender that does not resend") {
  auto const wanted = with_defect(defect::forgets_unacked);
  CAPTURE(wanted.seed);

  CHECK(run_wire(wanted).violation != "");
}
