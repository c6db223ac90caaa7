#include <catch2/catch.hpp>

#include "actors/base/defaults.hpp"
#include "actors/core/kernel_roll.hpp"

using namespace holdfast;
using namespace holdfast::core;

namespace {

struct rolled {
  explicit rolled(kernel_limits limits) : roll(limits, [this] { ++looks; }) {}
  int looks = 0;
  kernel_roll roll;
};

}  // namespace

TEST_CASE("a kernel is counted for its owner from the moment it is entered until its place is given up") {
  rolled there({.kernels_hard = 2, .kernels_per_owner = 1});
  {
    auto const first = there.roll.enter("a");
    CHECK(there.roll.shortage_for("a", {}) == shortage::of_owner);
    CHECK(there.roll.shortage_for("b", {}) == shortage::none);
    auto moved = there.roll.enter("b");
    auto const second = std::move(moved);
    CHECK(there.roll.kernels() == 2);
    CHECK(there.roll.shortage_for("c", {}) == shortage::kernels);
  }
  CHECK(there.roll.kernels() == 0);
  CHECK(there.roll.of("a") == 0);
  CHECK(there.roll.memory_bytes() == 0);
}

TEST_CASE("who came later does not overtake who waits and could start as well") {
  rolled there({.kernels_hard = 2});
  auto const running = there.roll.enter("a");
  auto freed = there.roll.enter("a");
  auto const first = there.roll.wait("a", {});
  auto const second = there.roll.wait("b", {});

  freed = {};

  CHECK(there.roll.shortage_for("a", first) == shortage::none);
  CHECK(there.roll.shortage_for("b", second) == shortage::kernels);
  CHECK(there.roll.shortage_for("c", {}) == shortage::kernels);
  CHECK(there.roll.admitted().size() == 1);
}

TEST_CASE("who waits for its owner's cap alone holds nobody else up") {
  rolled there({.kernels_hard = 3, .kernels_per_owner = 1});
  auto const running = there.roll.enter("a");
  auto const first = there.roll.wait("a", {});
  auto const second = there.roll.wait("b", {});

  CHECK(there.roll.shortage_for("a", first) == shortage::of_owner);
  CHECK(there.roll.shortage_for("b", second) == shortage::none);
  CHECK(there.roll.admitted().size() == 1);
}

TEST_CASE("somebody is to look at one kernel too many, at one that waits, and at an end or a turn given up while others wait") {
  rolled there({.kernels = 1});
  auto const first = there.roll.enter("a");
  CHECK(there.looks == 0);
  auto second = there.roll.enter("a");
  CHECK(there.looks == 1);
  second = {};
  CHECK(there.looks == 1);

  auto turn = there.roll.wait("a", {});
  CHECK(there.looks == 2);
  second = there.roll.enter("a");
  auto const other = there.roll.wait("b", {});
  second = {};
  CHECK(there.looks == 5);
  turn = {};
  CHECK(there.looks == 6);
}

TEST_CASE("memory is what was measured, and assumed until then") {
  rolled there({.memory_bytes = 100 * defaults::mib});
  auto place = there.roll.enter("a");
  CHECK(there.roll.memory_bytes() == defaults::kernel_memory_assumed);
  CHECK(there.roll.shortage_for("a", {}) == shortage::none);

  place.measured(90 * defaults::mib);

  CHECK(there.roll.memory_bytes() == 90 * defaults::mib);
  CHECK(place.memory_bytes() == 90 * defaults::mib);
  CHECK(there.roll.shortage_for("a", {}) == shortage::memory);
  CHECK_FALSE(there.roll.is_short());
  place.measured(0);  // could not be read
  place.measured(101 * defaults::mib);
  CHECK(there.roll.is_short());
}

TEST_CASE("of those who wait as many are admitted as there is room for, in their order") {
  rolled there({.kernels_hard = 2});
  auto const a = there.roll.wait("a", {});
  auto const b = there.roll.wait("b", {});
  auto const c = there.roll.wait("c", {});

  CHECK(there.roll.admitted().size() == 2);
  CHECK(there.roll.shortage_for("b", b) == shortage::none);
  CHECK(there.roll.shortage_for("c", c) == shortage::kernels);
}

TEST_CASE("a kernel elsewhere takes no memory of this machine, and waits for none") {
  rolled there({.memory_bytes = defaults::kernel_memory_assumed});
  auto const far = there.roll.enter("a", false);
  CHECK(there.roll.memory_bytes() == 0);
  CHECK(there.roll.shortage_for("a", {}) == shortage::none);

  auto const here = there.roll.enter("a");

  CHECK(there.roll.shortage_for("a", {}) == shortage::memory);
  CHECK(there.roll.shortage_for("a", {}, false) == shortage::none);
}

TEST_CASE("who waits for memory keeps nobody waiting whose kernel runs elsewhere") {
  rolled there({.kernels_hard = 3, .memory_bytes = defaults::kernel_memory_assumed});
  auto const here = there.roll.enter("a");
  auto const first = there.roll.wait("a", {});
  auto const elsewhere = there.roll.wait("b", {}, false);

  CHECK(there.roll.shortage_for("b", elsewhere, false) == shortage::none);
  CHECK(there.roll.shortage_for("c", {}) == shortage::memory);
  CHECK(there.roll.admitted().size() == 1);
}
