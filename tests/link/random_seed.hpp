// The seed of a random test: another one each run, shown when the test fails, repeated by HOLDFAST_TEST_RANDOM=<seed>.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>

namespace holdfast::link::test {

inline std::uint64_t random_seed() {
  if (auto const* given = std::getenv("HOLDFAST_TEST_RANDOM")) return std::strtoull(given, nullptr, 10);
  return std::random_device{}();
}

}  // namespace holdfast::link::test
