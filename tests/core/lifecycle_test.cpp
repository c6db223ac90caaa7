#include <array>

#include <catch2/catch.hpp>

#include "actors/core/lifecycle.hpp"

using namespace holdfast::core;

namespace {

constexpr std::array all_states = {kernel_state::spawning, kernel_state::attaching, kernel_state::attached, kernel_state::dropped,
                                   kernel_state::silent,   kernel_state::dying,     kernel_state::given_up, kernel_state::ended};
constexpr std::array all_events = {kernel_event::spawned,     kernel_event::spawn_refused, kernel_event::hello,
                                   kernel_event::link_lost,   kernel_event::no_hello,      kernel_event::budget_spent,
                                   kernel_event::wrong_token, kernel_event::other_home,    kernel_event::process_gone,
                                   kernel_event::remains_read};

}  // namespace

TEST_CASE("only proof of absence leads to dying") {
  for (auto state : all_states)
    for (auto event : all_events) {
      auto const step = on_event(state, event);
      if (!step || step->next != kernel_state::dying) continue;

      CHECK((event == kernel_event::process_gone || event == kernel_event::wrong_token));
      CHECK(step->action == kernel_action::ask_exit);
    }
}

TEST_CASE("a lost link is retried from every state that had one, and told once") {
  CHECK(on_event(kernel_state::attached, kernel_event::link_lost)->action == kernel_action::tell_unreachable);
  CHECK(on_event(kernel_state::attaching, kernel_event::link_lost)->action == kernel_action::tell_unreachable);

  auto const again = on_event(kernel_state::dropped, kernel_event::link_lost);

  REQUIRE(again);
  CHECK(again->next == kernel_state::dropped);
  CHECK(again->action == kernel_action::retry);
}

TEST_CASE("a dropped kernel that answers is attached again") {
  auto const step = on_event(kernel_state::dropped, kernel_event::hello);

  REQUIRE(step);
  CHECK(step->next == kernel_state::attached);
}

TEST_CASE("a kernel that runs and says nothing is waited for, and one that does not run is sought") {
  for (auto state : {kernel_state::attaching, kernel_state::dropped, kernel_state::silent}) {
    auto const step = on_event(state, kernel_event::no_hello);
    REQUIRE(step);
    CHECK(step->next == kernel_state::silent);
    CHECK(step->action == kernel_action::wait);
  }
  CHECK(on_event(kernel_state::silent, kernel_event::link_lost)->next == kernel_state::dropped);
  CHECK(on_event(kernel_state::silent, kernel_event::link_lost)->action == kernel_action::tell_unreachable);
  CHECK(on_event(kernel_state::silent, kernel_event::hello)->next == kernel_state::attached);
}

TEST_CASE("only a kernel that does not answer is given up, and nothing brings it back") {
  for (auto state : all_states) {
    auto const step = on_event(state, kernel_event::budget_spent);
    CHECK(step.has_value() == (state == kernel_state::dropped || state == kernel_state::silent));
    if (step) CHECK(step->action == kernel_action::give_up);
  }
  for (auto event : all_events) {
    auto const step = on_event(kernel_state::given_up, event);
    CHECK(step.has_value() == (event == kernel_event::remains_read));
    if (step) CHECK(step->next == kernel_state::ended);
  }
}

TEST_CASE("a kernel that is being buried cannot come back") {
  for (auto event : all_events) {
    auto const step = on_event(kernel_state::dying, event);
    if (event == kernel_event::remains_read) {
      REQUIRE(step);
      CHECK(step->next == kernel_state::ended);
    } else {
      CHECK_FALSE(step);
    }
  }
}

TEST_CASE("nothing happens to a kernel that has ended") {
  for (auto event : all_events) CHECK_FALSE(on_event(kernel_state::ended, event));
}

TEST_CASE("another home's kernel is left, not buried") {
  for (auto state : {kernel_state::attaching, kernel_state::attached, kernel_state::dropped}) {
    auto const step = on_event(state, kernel_event::other_home);
    REQUIRE(step);
    CHECK(step->action == kernel_action::leave);
  }
}
