#include "actors/base/hash.hpp"

#include <set>

#include <catch2/catch.hpp>

using namespace holdfast;

TEST_CASE("SHA-256 is that of FIPS 180-2") {
  CHECK(hex(sha256("")) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hex(sha256("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hex(sha256(std::string(1'000'000, 'a'))) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("random tokens have the length asked for and differ") {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    auto const token = random_hex(32);
    REQUIRE(token.size() == 64);
    REQUIRE(token.find_first_not_of("0123456789abcdef") == std::string::npos);
    seen.insert(token);
  }
  CHECK(seen.size() == 1000);
  CHECK(random_hex(0).empty());
}

TEST_CASE("secrets are equal when every byte is") {
  CHECK(equal_constant_time("", ""));
  CHECK(equal_constant_time("token", "token"));
  CHECK_FALSE(equal_constant_time("token", "tokem"));
  CHECK_FALSE(equal_constant_time("token", "token "));
  CHECK_FALSE(equal_constant_time("", "t"));
}
