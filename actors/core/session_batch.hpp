// What a run of frames changes: rows as they are to be recorded, in one transaction. Nothing of the session is touched before that.
// Internal to session_frames.cpp and session_jobs.cpp.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "actors/core/session_state.hpp"

namespace holdfast::core {

struct session_state::batch {
  struct changed_cell {
    storage::cell_record row;
    bool has_start = false;

    bool has_result() const { return storage::is_final(row.status); }
  };
  slot const& at;  // whose kernel said it
  std::vector<changed_cell> cells = {};
  bool kernel_ended = false;
  std::uint64_t last_seq = 0;
  std::vector<storage::job_record> jobs = {};                       // one row each, in its newest state
  std::optional<std::vector<storage::notice_record>> notices = {};  // of the session as they will be; none: as they are
  std::vector<link::answered> answers = {};                         // heard once what came before them is recorded

  bool is_recorded() const { return !cells.empty() || !jobs.empty() || notices; }
  bool has_start() const {
    return std::any_of(cells.begin(), cells.end(), [](auto const& each) { return each.has_start; });
  }
  bool has_result() const {
    return std::any_of(cells.begin(), cells.end(), [](auto const& each) { return each.has_result(); });
  }
  /// When the last of these cells and jobs ended; 0: none did.
  storage::unix_ms last_end() const {
    storage::unix_ms last = 0;
    for (auto const& each : cells)
      if (each.has_result()) last = std::max(last, each.row.finished_at);
    for (auto const& each : jobs)
      if (storage::has_ended(each.state)) last = std::max(last, each.finished_at);
    return last;
  }

  changed_cell& of(live_cell const& cell) {
    for (auto& each : cells)
      if (each.row.number == cell.row.number) return each;
    return cells.emplace_back(changed_cell{cell.row});
  }
  std::vector<storage::notice_record>& notices_of(session_state const& session) {
    if (!notices) notices = session.notices;
    return *notices;
  }
  /// Of an end that nobody has read; job.list and cell.list still have what is not told.
  void add_news(session_state const& session, storage::notice_record notice) {
    auto& waiting = notices_of(session);
    auto const is_news = [](auto const& each) { return each.kind == "job_finished" || each.kind == "cell_finished"; };
    auto const oldest = std::find_if(waiting.begin(), waiting.end(), is_news);
    if (waiting.size() >= defaults::notices_most && oldest != waiting.end()) waiting.erase(oldest);
    waiting.push_back(std::move(notice));
  }
  /// All of them ride on a result.
  std::vector<storage::notice_record> ride(session_state const& session) { return std::exchange(notices_of(session), {}); }
};

}  // namespace holdfast::core
