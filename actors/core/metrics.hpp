// What the gateway counts and how long things take, as Prometheus text. Collaborators: event_hub tells every event, the stores' users
// what a commit took, a session when a cell or a start has ended, the supervisor how things stand when it is asked.
// Label sets are fixed when it is made: no owner, session, kernel or cell is ever named, and a word that is not known counts as `other`.
// Everything but text() may be called on any thread and costs a few atomic operations.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "storage/records.hpp"

namespace holdfast::core {

enum class store : std::uint8_t { boot, disk };

/// How things stand at one moment, as the multiplexer thread sees it.
struct levels {
  std::map<std::string, std::size_t> kernels;  // by state
  std::size_t sessions = 0;                    // loaded
  std::size_t cells_waiting = 0;               // accepted and not with a kernel, or waiting for acceptance
  std::size_t cells_running = 0;
  std::size_t jobs_running = 0;
  std::size_t rows_to_move = 0;  // recorded in boot, not on their way to disk yet
  std::uint64_t resident_bytes = 0;
  std::uint64_t starts = 0;  // of daemons of this home
  storage::unix_ms started_at = 0;
  std::int64_t connections = 0;  // of clients, now
  std::uint64_t connections_accepted = 0, connections_refused = 0, stream_lost = 0;
};

class gateway_metrics {
 public:
  using duration = std::chrono::nanoseconds;

  gateway_metrics();
  ~gateway_metrics();
  gateway_metrics(gateway_metrics const&) = delete;
  gateway_metrics& operator=(gateway_metrics const&) = delete;

  /// Counts it, by the word of its details that tells its kinds apart: a reason, a status, a state.
  void on_event(std::string_view kind, std::string_view details);
  /// A subscriber asked for events that are no longer kept.
  void on_events_lost(std::uint64_t events);
  /// A final cell; `with_kernel`: from its sending to its record, zero when that is not known.
  void on_cell_final(storage::cell_record const& row, duration with_kernel);
  /// From the intention to start a kernel to its first attach.
  void on_kernel_ready(duration took);
  void on_start_failed();
  void on_commit(store where, duration took, bool is_done);
  /// A batch of rows has come from boot to disk.
  void on_moved(duration took);

  /// All of it in Prometheus' text format. On one thread only.
  std::string text(levels const& now);

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

/// The text member `key` of a JSON object that this program wrote, without a parse: escaped quotes inside of other texts cannot look
/// like one. Empty: there is none.
std::string_view word_in(std::string_view details, std::string_view key);

/// Tells a commit's duration when it is over.
class commit_timer {
 public:
  commit_timer(gateway_metrics& told, store where) : told_(told), where_(where), began_(std::chrono::steady_clock::now()) {}
  void done(bool is_done) { told_.on_commit(where_, std::chrono::steady_clock::now() - began_, is_done); }

 private:
  gateway_metrics& told_;
  store where_;
  std::chrono::steady_clock::time_point began_;
};

}  // namespace holdfast::core
