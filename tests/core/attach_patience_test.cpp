#include <chrono>

#include <catch2/catch.hpp>

#include "actors/core/attach_patience.hpp"

using namespace holdfast;
using namespace holdfast::core;
using namespace std::chrono_literals;

namespace {

constexpr auto budget = 71s;
constexpr auto silence = 1800s;
steady_time at(std::chrono::steady_clock::duration since) { return steady_time{} + 1h + since; }

}  // namespace

TEST_CASE("unreachable time runs from its first moment, however often it is seen") {
  attach_patience patience;
  patience.on_unreachable(at(0s), budget);
  patience.on_unreachable(at(30s), budget);

  CHECK(patience.give_up_at == at(71s));
  CHECK_FALSE(patience.tell_silence_at);
}

TEST_CASE("silence costs nothing of the budget, and what was spent before stays spent") {
  attach_patience patience;
  patience.on_unreachable(at(0s), budget);
  patience.on_silent(at(20s), at(19s), silence);
  CHECK(patience.give_up_at == at(19s) + silence);

  patience.on_unreachable(at(500s), budget);

  CHECK(patience.give_up_at == at(500s + 51s));
}

TEST_CASE("silence is told once, two seconds after it was asked, until it answers") {
  attach_patience patience;
  patience.on_silent(at(1s), at(0s), silence);
  CHECK(patience.tell_silence_at == at(2s));
  patience.tell_silence_at.reset();  // it has come
  patience.on_silence_told();
  patience.on_silent(at(4s), at(3s), silence);
  patience.on_unreachable(at(5s), budget);
  patience.on_silent(at(6s), at(6s), silence);
  CHECK_FALSE(patience.tell_silence_at);

  patience.on_answer();
  patience.on_silent(at(11s), at(10s), silence);

  CHECK(patience.tell_silence_at == at(12s));
}

TEST_CASE("an answer gives the whole budget back") {
  attach_patience patience;
  patience.on_unreachable(at(0s), budget);
  patience.on_answer();
  CHECK_FALSE(patience.give_up_at);

  patience.on_unreachable(at(100s), budget);

  CHECK(patience.give_up_at == at(171s));
}
