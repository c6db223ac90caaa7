#include "actors/base/clock.hpp"

#include <algorithm>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace holdfast;

TEST_CASE("instants are written in UTC with milliseconds") {
  CHECK(rfc3339(0) == "1970-01-01T00:00:00.000Z");
  CHECK(rfc3339(1'709'164'799'007) == "2024-02-28T23:59:59.007Z");
  CHECK(rfc3339(1'709'164'800'000) == "2024-02-29T00:00:00.000Z");
  CHECK(rfc3339(-1) == "1969-12-31T23:59:59.999Z");
}

TEST_CASE("a later ULID compares greater, also within one millisecond") {
  auto last = make_ulid();
  for (int i = 0; i < 100'000; ++i) {
    auto next = make_ulid();
    REQUIRE(last < next);
    last = std::move(next);
  }
}

TEST_CASE("a ULID is 26 digits of Crockford's base 32 and begins with its time") {
  auto const before = make_ulid();

  CHECK(before.size() == 26);
  CHECK(before.find_first_not_of("0123456789ABCDEFGHJKMNPQRSTVWXYZ") == std::string::npos);
  std::int64_t time = 0;
  for (std::size_t i = 0; i < 10; ++i)
    time = time * 32 + static_cast<std::int64_t>(std::string("0123456789ABCDEFGHJKMNPQRSTVWXYZ").find(before[i]));
  CHECK(time <= now_ms());
  CHECK(time > now_ms() - 60'000);
}

TEST_CASE("ULIDs made by several threads are all different") {
  std::mutex mutex;
  std::set<std::string> seen;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      std::vector<std::string> made(5000);
      std::generate(made.begin(), made.end(), make_ulid);
      std::lock_guard const lock(mutex);
      seen.insert(made.begin(), made.end());
    });
  for (auto& thread : threads) thread.join();

  CHECK(seen.size() == 20'000);
}
