#include <catch2/catch.hpp>

#include "actors/core/metrics.hpp"

using namespace holdfast;
using namespace holdfast::core;
using namespace std::chrono_literals;

namespace {

bool has_line(std::string const& text, std::string const& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

storage::cell_record ran(storage::unix_ms queued, storage::unix_ms started, storage::unix_ms finished) {
  storage::cell_record row;
  row.queued_at = queued;
  row.started_at = started;
  row.finished_at = finished;
  return row;
}

}  // namespace

TEST_CASE("the word of a detail is found without a parse, and no text inside another one is taken for it") {
  CHECK(word_in(R"({"kernel":"k-1","reason":"reset"})", "reason") == "reset");
  CHECK(word_in(R"({"text":"he said \"reason\":\"none\"","reason":"died"})", "reason") == "died");
  CHECK(word_in(R"({"text":"\"reason\":\"none\""})", "reason").empty());
  CHECK(word_in("{}", "reason").empty());
  CHECK(word_in(R"({"reason":")", "reason").empty());
}

TEST_CASE("every event is counted by its kind, and by the word that tells its kinds apart") {
  gateway_metrics metrics;

  metrics.on_event("cell_finished", R"({"cell":"c-1","status":"ok"})");
  metrics.on_event("cell_finished", R"({"cell":"c-2","status":"lost"})");
  metrics.on_event("kernel_ended", R"({"kernel":"k-1","reason":"oom"})");
  metrics.on_event("kernel_hibernated", R"({"kernel":"k-1","reason":"stop"})");
  metrics.on_event("notice", R"({"id":"n-1","kind":"restarted","text":"\"kind\":\"restored\""})");
  auto const text = metrics.text({});

  CHECK(has_line(text, R"(holdfast_events_total{kind="cell_finished"} 2)"));
  CHECK(has_line(text, R"(holdfast_cells_total{status="ok"} 1)"));
  CHECK(has_line(text, R"(holdfast_cells_total{status="lost"} 1)"));
  CHECK(has_line(text, R"(holdfast_cells_total{status="timeout"} 0)"));
  CHECK(has_line(text, R"(holdfast_kernels_ended_total{reason="oom"} 1)"));
  CHECK(has_line(text, R"(holdfast_kernels_hibernated_total{reason="stop"} 1)"));
  CHECK(has_line(text, R"(holdfast_notices_total{kind="restarted"} 1)"));
}

TEST_CASE("a word that no list knows counts as other: what a user writes makes no label") {
  gateway_metrics metrics;

  metrics.on_event("kernel_ended", R"({"kernel":"k-1","reason":"ada's secret"})");
  metrics.on_event("no_such_kind", "{}");
  auto const text = metrics.text({});

  CHECK(has_line(text, R"(holdfast_kernels_ended_total{reason="other"} 1)"));
  CHECK(has_line(text, R"(holdfast_events_total{kind="other"} 1)"));
  CHECK(text.find("secret") == std::string::npos);
}

TEST_CASE("a final cell is told apart into its queue, its own time and what was added to it") {
  gateway_metrics metrics;

  metrics.on_cell_final(ran(1000, 3000, 3400), 402ms);
  auto const text = metrics.text({});

  CHECK(has_line(text, "holdfast_cell_queue_seconds_sum 2"));
  CHECK(has_line(text, R"(holdfast_cell_queue_seconds_bucket{le="1"} 0)"));
  CHECK(has_line(text, R"(holdfast_cell_queue_seconds_bucket{le="5"} 1)"));
  CHECK(has_line(text, "holdfast_cell_duration_seconds_sum 0.4"));
  CHECK(has_line(text, R"(holdfast_cell_overhead_seconds_bucket{le="0.0025"} 1)"));
  CHECK(has_line(text, R"(holdfast_cell_overhead_seconds_bucket{le="0.001"} 0)"));
}

TEST_CASE("a cell that never ran, or was sent by an earlier daemon, puts nothing false into a histogram") {
  gateway_metrics metrics;

  metrics.on_cell_final(ran(1000, 0, 2000), 0ms);
  metrics.on_cell_final(ran(1000, 1500, 1400), 0ms);  // clocks that do not agree
  auto const text = metrics.text({});

  CHECK(has_line(text, "holdfast_cell_queue_seconds_count 1"));
  CHECK(has_line(text, "holdfast_cell_duration_seconds_sum 0"));
  CHECK(has_line(text, "holdfast_cell_overhead_seconds_count 0"));
}

TEST_CASE("levels are told as they are at that moment, and what the fronts counted never falls") {
  gateway_metrics metrics;
  levels now;
  now.kernels = {{"idle", 3}, {"busy", 1}};
  now.connections_accepted = 7;
  (void)metrics.text(now);
  now.kernels = {{"idle", 1}};
  now.cells_waiting = 5;

  auto const text = metrics.text(now);

  CHECK(has_line(text, R"(holdfast_kernels{state="idle"} 1)"));
  CHECK(has_line(text, R"(holdfast_kernels{state="busy"} 0)"));
  CHECK(has_line(text, "holdfast_cells_queued 5"));
  CHECK(has_line(text, "holdfast_connections_accepted_total 7"));
}

TEST_CASE("commits are told by store, and a refused one is a failure and no duration") {
  gateway_metrics metrics;

  metrics.on_commit(store::boot, 8us, true);
  metrics.on_commit(store::disk, 300us, false);
  auto const text = metrics.text({});

  CHECK(has_line(text, R"(holdfast_store_commit_seconds_bucket{store="boot",le="1e-05"} 1)"));
  CHECK(has_line(text, R"(holdfast_store_commit_seconds_count{store="disk"} 0)"));
  CHECK(has_line(text, R"(holdfast_store_failures_total{store="disk"} 1)"));
}
