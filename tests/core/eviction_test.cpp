#include <catch2/catch.hpp>

#include <algorithm>
#include <random>

#include "actors/base/defaults.hpp"
#include "actors/core/eviction.hpp"

using namespace holdfast;
using namespace holdfast::core;

namespace {

constexpr storage::unix_ms now = 1'000'000;

candidate idle_kernel(std::string_view kernel, storage::unix_ms idle_since, std::string_view owner = "o") {
  candidate made;
  made.kernel = kernel;
  made.owner = owner;
  made.idle_since = idle_since;
  made.memory_bytes = 10 * defaults::mib;
  return made;
}

std::vector<std::string_view> names(std::vector<candidate> const& all, std::vector<victim> const& chosen) {
  std::vector<std::string_view> found;
  for (auto const& each : chosen) found.push_back(all[each.at].kernel);
  return found;
}

using list = std::vector<std::string_view>;

}  // namespace

TEST_CASE("over the cap the kernel idle for longest goes, and only as many as are over") {
  std::vector<candidate> const all{idle_kernel("b", 20), idle_kernel("a", 30), idle_kernel("c", 10)};

  auto const chosen = choose_victims(all, {}, {.kernels = 2}, now);

  REQUIRE(names(all, chosen) == list{"c"});
  CHECK(chosen[0].reason == eviction_reason::cap);
  CHECK_FALSE(chosen[0].even_in_part);
  CHECK(choose_victims(all, {}, {.kernels = 3}, now).empty());
}

TEST_CASE("behind a start none goes before all were looked for: the one idle for longest may be among those") {
  std::vector<candidate> all{idle_kernel("a", 30), idle_kernel("b", 20)};
  all[1].is_starting = all[1].is_sought = true;
  CHECK(choose_victims(all, {}, {.kernels = 1}, now).empty());

  all[1].is_starting = all[1].is_sought = false;

  CHECK(names(all, choose_victims(all, {}, {.kernels = 1}, now)) == list{"b"});
}

TEST_CASE("a cap of zero is none") {
  std::vector<candidate> const all{idle_kernel("a", 1), idle_kernel("b", 2)};

  CHECK(choose_victims(all, {}, {}, now).empty());
  CHECK(shortage_of({1'000'000, 1'000'000, ~std::uint64_t{0} / 2}, {}) == shortage::none);
}

TEST_CASE("of equal ages the lower id goes, in whatever order they are given") {
  std::vector<candidate> all{idle_kernel("k-1", 5), idle_kernel("k-2", 5), idle_kernel("k-3", 5)};
  do {
    CHECK(names(all, choose_victims(all, {}, {.kernels = 1}, now)) == list{"k-1", "k-2"});
  } while (std::next_permutation(all.begin(), all.end(), [](auto const& x, auto const& y) { return x.kernel < y.kernel; }));
}

TEST_CASE("what works, starts, is asked for, pinned or has jobs never makes room, though it is older") {
  std::vector<candidate> all{idle_kernel("a", 1), idle_kernel("young", 100)};
  SECTION("busy") { all[0].is_busy = true; }
  SECTION("starting") { all[0].is_starting = true; }
  SECTION("asked for") { all[0].is_asked_for = true; }
  SECTION("pinned") { all[0].is_pinned = true; }
  SECTION("with a job") { all[0].live_jobs = 1; }
  SECTION("a save failed a moment ago") { all[0].save_again_at = now + 1; }

  CHECK(names(all, choose_victims(all, {}, {.kernels = 1}, now)) == list{"young"});
  all.pop_back();
  std::vector<std::string_view> const waiting{"o"};
  CHECK(choose_victims(all, waiting, {.kernels = 1, .kernels_hard = 1, .memory_bytes = 1}, now).empty());
}

TEST_CASE("all busy, the cap is exceeded; the first that becomes idle is trimmed") {
  std::vector<candidate> all{idle_kernel("a", 1), idle_kernel("b", 2)};
  for (auto& each : all) each.is_busy = true;
  CHECK(choose_victims(all, {}, {.kernels = 1}, now).empty());

  all[1].is_busy = false;

  CHECK(names(all, choose_victims(all, {}, {.kernels = 1}, now)) == list{"b"});
}

TEST_CASE("one that is being ended already counts as gone") {
  std::vector<candidate> all{idle_kernel("a", 1), idle_kernel("b", 2), idle_kernel("c", 3)};
  all[0].is_being_ended = true;

  CHECK(choose_victims(all, {}, {.kernels = 2}, now).empty());
}

TEST_CASE("a kernel that cannot be saved whole goes after all others, and then in part") {
  std::vector<candidate> all{idle_kernel("oldest", 1), idle_kernel("b", 2), idle_kernel("c", 3)};
  all[0].is_wholly_saveable = false;

  CHECK(names(all, choose_victims(all, {}, {.kernels = 2}, now)) == list{"b"});
  auto const chosen = choose_victims(all, {}, {.kernels = 1}, now);
  CHECK(names(all, chosen) == list{"b", "c"});
  auto const rest = choose_victims(std::span(all).first(1), std::vector<std::string_view>{"o"}, {.kernels_hard = 1}, now);
  REQUIRE(rest.size() == 1);
  CHECK(rest[0].even_in_part);
}

TEST_CASE("over its idle limit a kernel goes, in part as well, and so does a pinned one; jobs and cells spare it") {
  std::vector<candidate> all{idle_kernel("exactly", now - 1000), idle_kernel("younger", now - 999),
                             idle_kernel("pinned", now - 1000), idle_kernel("job", 1), idle_kernel("busy", 1)};
  all[2].is_pinned = true;
  all[3].live_jobs = 1;
  all[4].is_busy = true;

  auto const chosen = choose_victims(all, {}, {.idle_ms = 1000}, now);

  CHECK(names(all, chosen) == list{"exactly", "pinned"});
  for (auto const& each : chosen) {
    CHECK(each.reason == eviction_reason::idle);
    CHECK(each.even_in_part);
  }
}

TEST_CASE("a stale kernel goes first once it has been idle for a while, whole or not at all, whatever the caps") {
  std::vector<candidate> all{idle_kernel("old", 1), idle_kernel("stale", now - 500), idle_kernel("fresh", now - 10)};
  all[1].is_stale = true;
  kernel_limits const limits{.kernels = 3, .upgrade_ms = 500};

  auto const chosen = choose_victims(all, {}, limits, now);

  REQUIRE(names(all, chosen) == list{"stale"});
  CHECK(chosen[0].reason == eviction_reason::upgraded);
  CHECK_FALSE(chosen[0].even_in_part);
  CHECK(choose_victims(all, {}, limits, now - 1).empty());
  CHECK(names(all, choose_victims(all, {}, {.kernels = 1, .upgrade_ms = 500}, now)) == list{"stale", "old"});
  CHECK(victim_ranks(all) == std::vector<std::size_t>{2, 1, 3});
}

TEST_CASE("a stale kernel that works, is wanted, pinned, not whole or was not saved a moment ago is left as it is") {
  std::vector<candidate> all{idle_kernel("a", 1)};
  all[0].is_stale = true;
  REQUIRE(choose_victims(all, {}, {}, now).size() == 1);
  SECTION("busy") { all[0].is_busy = true; }
  SECTION("starting") { all[0].is_starting = true; }
  SECTION("asked for") { all[0].is_asked_for = true; }
  SECTION("pinned") { all[0].is_pinned = true; }
  SECTION("with a job") { all[0].live_jobs = 1; }
  SECTION("being ended") { all[0].is_being_ended = true; }
  SECTION("not whole") { all[0].is_wholly_saveable = false; }
  SECTION("a save failed a moment ago") { all[0].save_again_at = now + 1; }

  CHECK(choose_victims(all, {}, {}, now).empty());
}

TEST_CASE("over its idle limit a stale kernel goes for that, in part as well") {
  std::vector<candidate> all{idle_kernel("a", 1)};
  all[0].is_stale = true;

  auto const chosen = choose_victims(all, {}, {.idle_ms = 1000}, now);

  REQUIRE(chosen.size() == 1);
  CHECK(chosen[0].reason == eviction_reason::idle);
  CHECK(chosen[0].even_in_part);
}

TEST_CASE("while one is stale the next look is when it, or one that becomes idle now, is to be upgraded") {
  std::vector<candidate> all{idle_kernel("a", now - 400)};
  kernel_limits const limits{.upgrade_ms = 500};
  CHECK(next_look(all, limits, now) == 0);

  all[0].is_stale = true;

  CHECK(next_look(all, limits, now) == now + 100);
  all[0].is_busy = true;
  CHECK(next_look(all, limits, now) == now + 500);
  all[0].is_busy = false;
  all[0].is_wholly_saveable = false;
  CHECK(next_look(all, limits, now) == now + 500);
  all[0].is_wholly_saveable = true;
  all[0].save_again_at = now + 50;
  CHECK(next_look(all, limits, now) == now + 50);
}

TEST_CASE("what goes for its age makes room: no other one goes for that") {
  std::vector<candidate> const all{idle_kernel("aged", 1), idle_kernel("young", now)};

  auto const chosen = choose_victims(all, {}, {.kernels = 1, .idle_ms = 1000}, now);

  REQUIRE(names(all, chosen) == list{"aged"});
  CHECK(chosen[0].reason == eviction_reason::idle);
}

TEST_CASE("for one that waits at the hard cap the oldest goes, for one at its owner's cap that owner's oldest") {
  std::vector<candidate> const all{idle_kernel("a", 1, "other"), idle_kernel("b", 2, "mine"), idle_kernel("c", 3, "mine")};
  list const waiting{"mine"};

  CHECK(names(all, choose_victims(all, waiting, {.kernels_hard = 3}, now)) == list{"a"});
  CHECK(names(all, choose_victims(all, waiting, {.kernels_per_owner = 2}, now)) == list{"b"});
  CHECK(names(all, choose_victims(all, waiting, {.kernels_hard = 3, .kernels_per_owner = 2}, now)) == list{"b"});
  CHECK(choose_victims(all, {}, {.kernels_hard = 3, .kernels_per_owner = 2}, now).empty());
}

TEST_CASE("for one that its owner's cap keeps waiting nobody else's kernel goes") {
  std::vector<candidate> all{idle_kernel("a", 1, "other"), idle_kernel("b", 2, "mine")};
  all[1].is_busy = true;

  CHECK(choose_victims(all, list{"mine"}, {.kernels_hard = 2, .kernels_per_owner = 1}, now).empty());
}

TEST_CASE("over the memory budget the oldest go until it holds, the only one stays unless somebody waits") {
  std::vector<candidate> const all{idle_kernel("a", 1), idle_kernel("b", 2), idle_kernel("c", 3)};

  auto const chosen = choose_victims(all, {}, {.memory_bytes = 20 * defaults::mib}, now);
  REQUIRE(names(all, chosen) == list{"a"});
  CHECK(chosen[0].reason == eviction_reason::memory);
  CHECK(names(all, choose_victims(all, {}, {.memory_bytes = 1}, now)) == list{"a", "b"});
  CHECK(names(all, choose_victims(all, list{"o"}, {.memory_bytes = 1}, now)) == list{"a", "b", "c"});
}

TEST_CASE("ranks are the order in which they would make room; what would not has none") {
  std::vector<candidate> all{idle_kernel("a", 30), idle_kernel("b", 10), idle_kernel("c", 20), idle_kernel("d", 1),
                             idle_kernel("e", 2)};
  all[2].is_wholly_saveable = false;
  all[3].is_pinned = true;
  all[4].is_busy = true;

  CHECK(victim_ranks(all) == std::vector<std::size_t>{2, 1, 3, 0, 0});
}

TEST_CASE("the next look is when the first idle kernel reaches its limit, or may be saved again") {
  std::vector<candidate> all{idle_kernel("a", now - 400), idle_kernel("b", now - 700), idle_kernel("busy", 1)};
  all[2].is_busy = true;
  kernel_limits const limits{.idle_ms = 1000};

  CHECK(next_look(all, limits, now) == now + 300);
  all[1].save_again_at = now + 50;
  CHECK(next_look(all, limits, now) == now + 50);
  CHECK(next_look({}, limits, now) == now + 1000);
  CHECK(next_look({}, {}, now) == 0);
}

TEST_CASE("another kernel is refused at each hard limit, and never for memory while there is none") {
  CHECK(shortage_of({.kernels = 3}, {.kernels = 1, .kernels_hard = 4}) == shortage::none);
  CHECK(shortage_of({.kernels = 4}, {.kernels_hard = 4}) == shortage::kernels);
  CHECK(shortage_of({.kernels = 2, .of_owner = 2}, {.kernels_hard = 9, .kernels_per_owner = 2}) == shortage::of_owner);
  CHECK(shortage_of({.kernels = 1, .memory_bytes = 100}, {.memory_bytes = 100}) == shortage::memory);
  CHECK(shortage_of({}, {.memory_bytes = 1}) == shortage::none);
}

TEST_CASE("whatever there is, no busy kernel is chosen, none twice, and no more than are over", "[random]") {
  auto const seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  auto const one_of = [&](unsigned number) { return random() % number; };
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::string> ids(one_of(20));
    std::vector<candidate> all;
    for (std::size_t at = 0; at < ids.size(); ++at) {
      ids[at] = "k-" + std::to_string(at);
      auto each = idle_kernel(ids[at], static_cast<storage::unix_ms>(one_of(5)), one_of(2) ? "o" : "p");
      each.is_busy = one_of(4) == 0;
      each.is_starting = one_of(8) == 0;
      each.is_pinned = one_of(5) == 0;
      each.is_being_ended = one_of(8) == 0;
      each.is_wholly_saveable = one_of(4) != 0;
      each.live_jobs = one_of(6) == 0;
      all.push_back(each);
    }
    list const waiting(one_of(3), "o");
    kernel_limits const limits{one_of(10), one_of(10), one_of(6), one_of(20) * 10 * defaults::mib, 0};

    auto const chosen = choose_victims(all, waiting, limits, now);

    std::vector<bool> seen(all.size());
    for (auto const& each : chosen) {
      auto const& it = all[each.at];
      CHECK_FALSE((it.is_busy || it.is_starting || it.is_pinned || it.is_being_ended || it.live_jobs > 0 || seen[each.at]));
      CHECK(each.even_in_part == !it.is_wholly_saveable);
      seen[each.at] = true;
    }
    auto const stays = [](auto const& each) { return !each.is_being_ended; };
    auto const there = static_cast<std::size_t>(std::count_if(all.begin(), all.end(), stays));
    if (limits.kernels_hard == 0 && limits.kernels_per_owner == 0 && limits.memory_bytes == 0) {
      auto const over = limits.kernels > 0 && there > limits.kernels ? there - limits.kernels : 0;
      CHECK(chosen.size() <= over);
    }
  }
}

TEST_CASE("over the memory budget nothing is ended that takes no memory, and the only one that does stays") {
  std::vector<candidate> all{idle_kernel("far", 1), idle_kernel("b", 20), idle_kernel("c", 30)};
  all[0].memory_bytes = 0;

  auto const chosen = choose_victims(all, {}, {.memory_bytes = 5 * defaults::mib}, now);

  CHECK(names(all, chosen) == list{"b"});
}
