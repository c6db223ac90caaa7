#include <catch2/catch.hpp>

#include "actors/core/outcome.hpp"

using holdfast::core::evidence;
using holdfast::core::fate;
using holdfast::core::fate_of;

namespace {

/// A cell whose execute was handed to a kernel that is now proven dead, with a readable spool.
constexpr evidence sent() { return {true, false, true, 0}; }

}  // namespace

TEST_CASE("a cell that was never sent to the dead kernel moves to a fresh one") {
  auto known = sent();
  known.sent = false;
  known.spool_readable = false;

  CHECK(fate_of(known) == fate::requeue);
}

TEST_CASE("a sent cell without a start in the spool or the record moves to a fresh kernel") {
  CHECK(fate_of(sent()) == fate::requeue);
}

TEST_CASE("a sent cell is lost when the spool cannot be read, as it may have started") {
  auto known = sent();
  known.spool_readable = false;

  CHECK(fate_of(known) == fate::lost);
}

TEST_CASE("a started cell without a result is lost, never rerun") {
  auto known = sent();
  known.started = true;

  CHECK(fate_of(known) == fate::lost);
}

TEST_CASE("a cell moves three times at most") {
  auto known = sent();
  known.requeues = 2;
  CHECK(fate_of(known) == fate::requeue);

  known.requeues = 3;
  CHECK(fate_of(known) == fate::lost);
}
