#include <catch2/catch.hpp>

#include <vector>

#include "actors/env/per_call_places.hpp"

namespace holdfast::env {
namespace {

TEST_CASE("beyond the most who comes waits, and begins in the order of arrival when a place is left") {
  auto const room = std::make_shared<per_call_places>(2);
  std::vector<per_call_places::place> in(5);
  std::vector<int> begun;
  auto const enter = [&](int id) {
    room->enter(&in[static_cast<std::size_t>(id)], [&, id](per_call_places::place taken) {
      begun.push_back(id);
      in[static_cast<std::size_t>(id)] = std::move(taken);
    });
  };

  for (auto id = 0; id < 5; ++id) enter(id);
  CHECK(begun == std::vector{0, 1});
  room->leave(&in[2]);
  in[1].reset();
  CHECK(begun == std::vector{0, 1, 3});
  in[0].reset();
  in[3].reset();

  CHECK(begun == std::vector{0, 1, 3, 4});
  enter(2);
  CHECK(begun == std::vector{0, 1, 3, 4, 2});
}

TEST_CASE("a place that is not wanted when its turn comes goes to the next one") {
  auto const room = std::make_shared<per_call_places>(1);
  per_call_places::place first;
  auto is_last_in = false;
  room->enter(&first, [&](per_call_places::place taken) { first = std::move(taken); });
  for (auto each = 0; each < 1000; ++each) room->enter(&each, [](per_call_places::place) {});
  room->enter(&is_last_in, [&](per_call_places::place) { is_last_in = true; });

  first.reset();

  CHECK(is_last_in);
}

}  // namespace
}  // namespace holdfast::env
