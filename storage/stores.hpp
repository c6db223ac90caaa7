// The two stores of a home as one thing to read: where both have a row, `boot` wins.
// `boot` is written in place by its one thread through commit_boot(); `disk` by one store thread through commit_disk(). Reads may come from
// either thread. Opens, checks identity and schema, moves what `boot` still holds; decides nothing about kernels.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "storage/failure.hpp"
#include "storage/records.hpp"
#include "storage/remote_rows.hpp"

namespace holdfast::storage {

/// What the stores are told from outside.
struct options {
  std::filesystem::path home;
  std::string boot_id;  // of the running system
  std::string machine_id;
  std::size_t map_bytes = std::size_t{64} << 30;  // the limit of each store
  /// Called at every step that persists, with its name; true: the step must fail as if the disk had. May never return.
  std::function<bool(std::string_view)> failpoint;
};

/// What opening found.
struct opened {
  home_identity home;
  bool fresh = false;                 // no home was here before
  bool boot_discarded = false;        // the system was booted since: local kernels are gone
  std::uint64_t incarnation = 0;      // this start's number, recorded
  bool copied = false;                // rows of another home were here: it got a new id and forgot that home's kernels
  std::uint64_t links_forgotten = 0;  // of a copied home
  bool boot_kept_rows = false;        // `disk` had no room for all that was to be moved: the rest is read from `boot`
};

/// Thread-safe as far as the two writers go: one thread in commit_boot(), one in commit_disk(), either in the reads.
class stores {
 public:
  /// Answers once what `boot` still held is moved. `newer`, `damaged`, `denied`, `in_use`: nothing was changed.
  static result<std::unique_ptr<stores>> open(options const& options);
  ~stores();
  stores(stores const&) = delete;
  stores& operator=(stores const&) = delete;

  opened const& found() const;

  /// One transaction in `boot`, not synced; survives SIGKILL, not a power loss. `full`: nothing of it is there.
  result<void> commit_boot(std::span<change const> all);
  /// One synced transaction in `disk` for all the given units: a group commit. `full`: nothing of it is there.
  result<void> commit_disk(std::span<changes const> units);

  /// What makes `disk` have those links, outboxes, jobs and notices as `boot` has them now: one unit, for commit_disk().
  result<changes> copies_of(unmoved_rows const& which) const;
  /// What a daemon that was killed has left in `boot` alone, or has erased there alone.
  result<unmoved_rows> out_of_step() const;

  result<std::optional<session_record>> find_session(session_key const& key) const;
  result<std::optional<session_record>> session(session_number number) const;
  /// Newest first; `before` is the number to go on below, 0 for the start. An empty owner means every owner; a null child every child.
  result<std::vector<session_record>> sessions(std::string const& owner, std::optional<std::string> const& child,
                                               session_number before, std::size_t limit) const;
  result<std::uint64_t> count_sessions() const;
  /// The highest number ever given, erased sessions included: one more is free.
  result<session_number> last_session_number() const;

  result<std::optional<cell_index>> find_cell(session_number session, cell_id const& cell) const;
  result<std::optional<cell_record>> cell(session_number session, cell_number number) const;
  /// Newest first, below `before` (0: from the newest).
  result<std::vector<cell_record>> cells(session_number session, cell_number before, std::size_t limit) const;
  /// The highest number in the session, expired cells included; 0 if it has none.
  result<cell_number> last_cell_number(session_number session) const;
  /// Of the oldest record that has not expired; 0 without any.
  result<cell_number> first_cell_number(session_number session) const;
  /// Cells without a final status of one session, oldest first; of all sessions for session 0, by session.
  result<std::vector<cell_record>> open_cells(session_number session) const;
  // Of links, outboxes and jobs `disk` has copies only: these read `boot`.
  result<std::optional<outbox_record>> outbox(session_number session, cell_number number) const;

  result<std::vector<link_record>> links() const;
  result<std::vector<nursery_record>> nurseries() const;
  result<std::optional<job_record>> job(job_id const& job) const;
  /// Of all sessions, newest first, below `before` (empty: from the newest).
  result<std::vector<job_record>> jobs(job_id const& before, std::size_t limit) const;
  /// Oldest first.
  result<std::vector<job_record>> jobs_of(session_number session) const;
  result<std::vector<saved_record>> saved(session_number session) const;
  /// Oldest first.
  result<std::vector<notice_record>> notices(session_number session) const;

 private:
  struct implementation;
  explicit stores(std::unique_ptr<implementation> made);

  std::unique_ptr<implementation> self_;
};

}  // namespace holdfast::storage
