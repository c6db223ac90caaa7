#include "actors/core/metrics.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "actors/base/version.hpp"

namespace holdfast::core {

namespace {

using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Registry;
using words = std::vector<std::string>;

/// Counters of one name, one per word of a label; all are there from the start, so that a rate over them begins at zero.
class word_counters {
 public:
  word_counters(Registry& registry, std::string const& name, std::string const& help, std::string const& label,
                words const& known) {
    auto& family = prometheus::BuildCounter().Name(name).Help(help).Register(registry);
    for (auto const& word : known) by_word_[word] = &family.Add({{label, word}});
    other_ = &family.Add({{label, "other"}});
  }
  void count(std::string_view word) {
    auto const found = by_word_.find(word);
    (found == by_word_.end() ? other_ : found->second)->Increment();
  }

 private:
  std::unordered_map<std::string_view, Counter*> by_word_;  // of the lists below
  Counter* other_;
};

Counter& counter(Registry& registry, std::string const& name, std::string const& help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}
Gauge& gauge(Registry& registry, std::string const& name, std::string const& help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}
void raise(Counter& to, std::uint64_t value) { to.Increment(std::max(0.0, static_cast<double>(value) - to.Value())); }

// Seconds. The first bounds stand around what the thing takes when all is well, the last at what is looked into.
Histogram::BucketBoundaries const commit_bounds{0.000005, 0.00001, 0.000025, 0.0001, 0.00025, 0.001, 0.005, 0.025, 0.1, 1};
Histogram::BucketBoundaries const path_bounds{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1, 10};
Histogram::BucketBoundaries const start_bounds{0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30};
Histogram::BucketBoundaries const cell_bounds{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1800};

double seconds(gateway_metrics::duration took) { return std::chrono::duration<double>(took).count(); }
double seconds_between(storage::unix_ms from, storage::unix_ms to) {
  return static_cast<double>(std::max<std::int64_t>(0, to - from)) / 1000;
}

words const event_kinds{"session_created", "session_closed",    "kernel_started",  "kernel_attached", "kernel_dropped",
                        "kernel_ended",    "kernel_hibernated", "kernel_orphaned", "orphan_ended",    "cell_accepted",
                        "cell_started",    "cell_finished",     "job_started",     "job_finished",    "call",
                        "fallback",        "refused",           "notice"};
words const start_reasons{"first", "restored", "restore_failed", "forked", "reset", "died", "tools_changed", "environment_changed"};
words const end_reasons{"start_failed", "hibernated", "reset",    "environment_changed",
                        "stop",         "close",      "deadline", "shutdown",
                        "unrecorded",   "idle",       "cap",      "memory",
                        "exit",         "signal",     "oom",      "unresponsive",
                        "upgraded",     "unknown"};
words const hibernation_reasons{"stop", "grace", "idle", "cap", "memory", "upgraded"};
words const refusal_reasons{"at_capacity",  "queue_full", "start_failed", "kernel_changed",
                            "store_failed", "store_full", "shutting_down"};
words const notice_kinds{"reattached", "restarted", "state_lost",   "restored",      "unreachable", "silent",
                         "upgraded",   "evicted",   "job_finished", "cell_finished", "fallback"};
words const job_ends{"finished", "stopped", "lost"};
words const cell_ends{"ok", "error", "exit", "timeout", "interrupted", "lost"};
words const kernel_states{"starting", "idle", "busy", "unreachable", "orphan"};

}  // namespace

struct gateway_metrics::parts {
  Registry registry;

  word_counters events{registry, "holdfast_events_total", "Events by kind.", "kind", event_kinds};
  word_counters cells{registry, "holdfast_cells_total", "Final cells by status.", "status", cell_ends};
  word_counters starts{registry, "holdfast_kernels_started_total", "Fresh kernels by why they were needed.", "reason",
                       start_reasons};
  word_counters ends{registry, "holdfast_kernels_ended_total", "Ended kernels by order or cause of death.", "reason", end_reasons};
  word_counters hibernations{registry, "holdfast_kernels_hibernated_total", "Evictions: kernels whose namespace was saved, by why.",
                             "reason", hibernation_reasons};
  word_counters refusals{registry, "holdfast_refusals_total", "Refused cells and failed starts by the error's kind.", "reason",
                         refusal_reasons};
  word_counters notices{registry, "holdfast_notices_total", "Notices by kind.", "kind", notice_kinds};
  word_counters jobs{registry, "holdfast_jobs_total", "Ended jobs by state.", "state", job_ends};
  /// By the kind of event: what tells its kinds apart, and where that is counted.
  struct told_by {
    std::string_view key;
    word_counters* counters;
  };
  std::unordered_map<std::string_view, told_by> const followed{
      {"cell_finished", {"status", &cells}}, {"kernel_started", {"reason", &starts}},
      {"kernel_ended", {"reason", &ends}},   {"kernel_hibernated", {"reason", &hibernations}},
      {"refused", {"reason", &refusals}},    {"notice", {"kind", &notices}},
      {"job_finished", {"state", &jobs}},
  };

  Counter& starts_failed = counter(registry, "holdfast_kernel_start_failures_total", "Kernels that did not start.");
  Counter& events_lost = counter(registry, "holdfast_events_lost_total", "Events that a subscriber asked for too late.");
  Counter& stream_lost =
      counter(registry, "holdfast_stream_notifications_lost_total", "Stream notifications dropped for clients that did not read.");
  Counter& connections_accepted = counter(registry, "holdfast_connections_accepted_total", "Connections of clients.");
  Counter& connections_refused = counter(registry, "holdfast_connections_refused_total", "Connections refused or closed for room.");

  prometheus::Family<Histogram>& commit_family = prometheus::BuildHistogram()
                                                     .Name("holdfast_store_commit_seconds")
                                                     .Help("Commits by store; those of disk are synced.")
                                                     .Register(registry);
  std::array<Histogram*, 2> commits{&commit_family.Add({{"store", "boot"}}, commit_bounds),
                                    &commit_family.Add({{"store", "disk"}}, commit_bounds)};
  prometheus::Family<Counter>& failure_family =
      prometheus::BuildCounter().Name("holdfast_store_failures_total").Help("Commits that a store refused.").Register(registry);
  std::array<Counter*, 2> commit_failures{&failure_family.Add({{"store", "boot"}}), &failure_family.Add({{"store", "disk"}})};
  Histogram& moves = histogram("holdfast_disk_flush_seconds", "From the flush of rows to their synced copy in disk.", path_bounds);
  Histogram& queue = histogram("holdfast_cell_queue_seconds", "From a cell's acceptance to its start.", cell_bounds);
  Histogram& cell_time = histogram("holdfast_cell_duration_seconds", "From a cell's start to its end.", cell_bounds);
  Histogram& overhead =
      histogram("holdfast_cell_overhead_seconds",
                "From a cell's sending to its recorded result, without its duration (known to a millisecond).", path_bounds);
  Histogram& kernel_start =
      histogram("holdfast_kernel_start_seconds", "From the need of a kernel to its first hello.", start_bounds);

  prometheus::Family<Gauge>& kernel_family =
      prometheus::BuildGauge().Name("holdfast_kernels").Help("Kernels by state.").Register(registry);
  Gauge& sessions = gauge(registry, "holdfast_sessions_loaded", "Sessions in memory; others cost disk only.");
  Gauge& waiting = gauge(registry, "holdfast_cells_queued", "Cells that wait.");
  Gauge& running = gauge(registry, "holdfast_cells_running", "Kernels with a running cell.");
  Gauge& running_jobs = gauge(registry, "holdfast_jobs_running", "Jobs that run in kernels.");
  Gauge& to_move = gauge(registry, "holdfast_disk_rows_waiting", "Rows that wait for the next flush to disk.");
  Gauge& connections = gauge(registry, "holdfast_connections", "Connections of clients now.");
  Gauge& daemon_starts = gauge(registry, "holdfast_starts", "Starts of a gateway on this home so far.");
  Gauge& start_time = gauge(registry, "process_start_time_seconds", "Start of the gateway, since the epoch.");
  Gauge& resident = gauge(registry, "process_resident_memory_bytes", "Resident memory of the gateway's process.");

  parts() {
    prometheus::BuildGauge()
        .Name("holdfast_info")
        .Help("Version of the gateway.")
        .Register(registry)
        .Add({{"version", std::string(version)}, {"protocol", std::string(client_protocol)}})
        .Set(1);
  }

  Histogram& histogram(std::string const& name, std::string const& help, Histogram::BucketBoundaries const& bounds) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, bounds);
  }
};

std::string_view word_in(std::string_view details, std::string_view key) {
  std::string wanted;
  wanted.append("\"").append(key).append("\":\"");
  auto const at = details.find(wanted);
  if (at == std::string_view::npos) return {};
  auto const rest = details.substr(at + wanted.size());
  return rest.substr(0, std::min(rest.find('"'), rest.size()));
}

gateway_metrics::gateway_metrics() : parts_(std::make_unique<parts>()) {}
gateway_metrics::~gateway_metrics() = default;

void gateway_metrics::on_event(std::string_view kind, std::string_view details) {
  parts_->events.count(kind);
  if (auto const told = parts_->followed.find(kind); told != parts_->followed.end())
    told->second.counters->count(word_in(details, told->second.key));
}

void gateway_metrics::on_events_lost(std::uint64_t events) { parts_->events_lost.Increment(static_cast<double>(events)); }

void gateway_metrics::on_cell_final(storage::cell_record const& row, duration with_kernel) {
  if (row.started_at == 0) return;  // it never ran
  auto const ran = seconds_between(row.started_at, row.finished_at);
  parts_->queue.Observe(seconds_between(row.queued_at, row.started_at));
  parts_->cell_time.Observe(ran);
  if (with_kernel > duration::zero()) parts_->overhead.Observe(std::max(0.0, seconds(with_kernel) - ran));
}

void gateway_metrics::on_kernel_ready(duration took) { parts_->kernel_start.Observe(seconds(took)); }
void gateway_metrics::on_start_failed() { parts_->starts_failed.Increment(); }

void gateway_metrics::on_commit(store where, duration took, bool is_done) {
  auto const which = static_cast<std::size_t>(where);
  if (is_done)
    parts_->commits[which]->Observe(seconds(took));
  else
    parts_->commit_failures[which]->Increment();
}

void gateway_metrics::on_moved(duration took) { parts_->moves.Observe(seconds(took)); }

std::string gateway_metrics::text(levels const& now) {
  for (auto const& state : kernel_states) {
    auto const found = now.kernels.find(state);
    parts_->kernel_family.Add({{"state", state}}).Set(found == now.kernels.end() ? 0 : static_cast<double>(found->second));
  }
  parts_->sessions.Set(static_cast<double>(now.sessions));
  parts_->waiting.Set(static_cast<double>(now.cells_waiting));
  parts_->running.Set(static_cast<double>(now.cells_running));
  parts_->running_jobs.Set(static_cast<double>(now.jobs_running));
  parts_->to_move.Set(static_cast<double>(now.rows_to_move));
  parts_->connections.Set(static_cast<double>(now.connections));
  parts_->daemon_starts.Set(static_cast<double>(now.starts));
  parts_->start_time.Set(static_cast<double>(now.started_at) / 1000);
  parts_->resident.Set(static_cast<double>(now.resident_bytes));
  raise(parts_->stream_lost, now.stream_lost);
  raise(parts_->connections_accepted, now.connections_accepted);
  raise(parts_->connections_refused, now.connections_refused);
  return prometheus::TextSerializer().Serialize(parts_->registry.Collect());
}

}  // namespace holdfast::core
