// What lists show of sessions and kernels, asked of a loaded session on the multiplexer thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <caf/actor.hpp>

#include "actors/core/eviction.hpp"
#include "storage/records.hpp"

namespace holdfast::core {

struct kernel_view {
  session_key key;
  kernel_id kernel;
  std::string environment;
  std::string python;
  std::vector<std::string> tools;
  std::int32_t pid = 0;
  bool live = false;  // its process is known
  bool attached = false;
  bool was_tried = false;  // in this incarnation: it was attached, or could not be
  std::string cell;        // running or sent, else empty
  std::size_t queued = 0;
  std::size_t jobs = 0;  // that run in it
  storage::unix_ms started_at = 0;
  storage::unix_ms idle_since = 0;
  bool is_orphan = false;  // given up, not ended yet
  bool is_stale = false;   // core::is_stale of its link

  /// `starting idle busy unreachable orphan`.
  char const* state() const;
  /// The kernel row of docs/protocol.md as JSON text.
  /// `victim_rank`: 0: it would not be ended to make room.
  std::string to_json(std::size_t victim_rank = 0) const;
};

/// A loaded session as the supervisor sees it: for lists only, its actor does the work.
class session_face {
 public:
  virtual ~session_face() = default;
  virtual session_number number() const = 0;
  /// `new starting idle busy hibernated unreachable`.
  virtual char const* state() const = 0;
  /// The session row of docs/protocol.md as JSON text.
  virtual std::string row() const = 0;
  /// One for each kernel key that has one, in the order of their first use.
  virtual std::vector<kernel_view> kernels() const = 0;
  /// Appends its kernels; what they point to is valid until the session handles its next message.
  virtual void add_candidates(std::vector<candidate>& into) const = 0;
  /// Resident bytes, by kernel.
  virtual void on_measured(std::unordered_map<std::string, std::uint64_t> const& bytes) = 0;
  /// Cells that wait, for acceptance or for their kernel.
  virtual std::size_t queued() const = 0;
  /// That client is gone: nothing waits for it any more; its cells go on.
  virtual void forget_connection(caf::actor const& front, std::uint64_t connection) = 0;
  /// They were acked and are in no store any more.
  virtual void forget_notices(std::vector<notice_id> const& ids) = 0;
};

/// The row of a session that is in the stores only; saved_bytes of its saved namespace, 0: it has none. Idle since then.
std::string stored_session_row(storage::session_record const& record, std::size_t notices, std::uint64_t saved_bytes,
                               storage::unix_ms idle_since);
constexpr char const* stored_state(std::uint64_t saved_bytes) { return saved_bytes > 0 ? "hibernated" : "new"; }

/// It runs another version of the program than fresh kernels do.
bool is_stale(storage::link_record const& link);

/// Resident bytes from /proc/PID/statm; 0 when it cannot be read.
std::uint64_t resident_bytes(std::int32_t pid);

}  // namespace holdfast::core
