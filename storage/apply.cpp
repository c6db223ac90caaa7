#include "storage/apply.hpp"

#include <algorithm>

#include "storage/keys.hpp"

namespace holdfast::storage {
namespace {

/// A row of a doomed session is not written: it would outlive the session's erasure.
bool is_doomed(write_transaction& in, session_number session) { return in.has(table::doomed, key_of(session)); }

void note_session_number(write_transaction& in, session_number number) {
  auto const last = in.find<last_session_codec>(last_session_codec::name);
  if (last.value_or(0) < number) in.put<last_session_codec>(last_session_codec::name, number);
}

void drop_oldest_tombstones(write_transaction& in, session_number session, cell_number newest) {
  // Cells expire about in order, so the distance of the numbers bounds their count. Two an expiry catch up with any backlog.
  for (int i = 0; i < 2; ++i) {
    cursor walk(in, table::expired_cells);
    if (!walk.at_least(key_of(session)) || session_in(walk.key()) != session) return;
    if (newest - std::min(newest, cell_in(walk.key())) < tombstones_per_session) return;
    if (auto const oldest = walk.row<expired_cell_codec>()) in.erase(table::cell_ids, key_of(session, oldest->cell.text));
    walk.erase();
  }
}

/// A job ended: the oldest ended ones beyond jobs_kept are forgotten.
void drop_oldest_jobs(write_transaction& in, session_number session) {
  std::vector<std::string> ended;  // ids, oldest first
  {
    cursor walk(in, table::jobs);
    for (bool on = walk.at_least(key_of(session)); on && session_in(walk.key()) == session; on = walk.next())
      if (has_ended(peek_job_state(walk.value()))) ended.emplace_back(job_in(walk.key()));
  }
  for (std::size_t i = 0; i + jobs_kept < ended.size(); ++i) {
    in.erase(table::jobs, key_of(session, ended[i]));
    in.erase(table::job_ids, ended[i]);
  }
}

class change_writer {
 public:
  change_writer(write_transaction& in, role store) : in_(in), store_(store) {}

  void operator()(put_session const& what) {
    auto const& row = what.row;
    if (is_doomed(in_, row.number)) return;
    auto const key = key_of(row.number);
    bool const known = in_.has(table::sessions, key);
    in_.put<session_codec>(key, row);
    if (known) return;  // number and names of a session never change
    in_.put<session_key_codec>(key_of(row.key), row.number);
    in_.put<owner_codec>(owner_key(row.key.owner, row.number), owner_entry{row.number, row.key.child});
    note_session_number(in_, row.number);
  }

  void operator()(erase_session const& what) {
    // From this row on the session is gone; what else it has is swept, in this and in later transactions.
    in_.put<doomed_codec>(key_of(what.number), presence{what.number, 0});
    auto const row = in_.find<session_codec>(key_of(what.number));
    if (!row) return;
    in_.erase(table::sessions, key_of(what.number));
    in_.erase(table::owners, owner_key(row->key.owner, what.number));
    // A new session may bear the name already.
    if (in_.find<session_key_codec>(key_of(row->key)) == what.number) in_.erase(table::session_keys, key_of(row->key));
  }

  void operator()(put_cell const& what) {
    auto const& row = what.row;
    auto const key = key_of(row.session, row.number);
    bool const final = is_final(row.status);
    if (auto const existing = in_.get(table::cells, key)) {
      if (is_final(peek_status(*existing))) return;  // I7
      if (final) {
        in_.erase(table::open_cells, key);
        in_.erase(table::outbox, key);
      }
    } else {
      if (is_doomed(in_, row.session) || in_.has(table::expired_cells, key)) return;
      in_.put<cell_index_codec>(key_of(row.session, row.cell.text), cell_index{row.number, row.code, false});
      if (!final) in_.put<open_cell_codec>(key, presence{row.session, row.number});
      note_session_number(in_, row.session);
    }
    in_.put<cell_codec>(key, row);
  }

  void operator()(erase_cell const& what) {
    if (auto const row = take_cell(what.session, what.number)) in_.erase(table::cell_ids, key_of(what.session, row->cell.text));
  }

  void operator()(expire_cell const& what) {
    auto const existing = in_.get(table::cells, key_of(what.session, what.number));
    if (!existing || !is_final(peek_status(*existing))) return;
    if (auto const row = take_cell(what.session, what.number))
      apply_tombstone(in_, expired_cell{row->session, row->number, row->cell}, row->code);
  }

  void operator()(put_outbox const& what) {
    auto const& row = what.row;
    if (!is_doomed(in_, row.session)) in_.put<outbox_codec>(key_of(row.session, row.number), row);
  }

  void operator()(erase_outbox const& what) { in_.erase(table::outbox, key_of(what.session, what.number)); }

  void operator()(put_link const& what) {
    auto const& key = what.row.kernel.text;
    auto const existing = in_.get(table::links, key);
    auto const recorded = existing ? peek_last_seq(*existing) : 0;
    if (recorded <= what.row.last_seq) return in_.put<link_codec>(key, what.row);
    auto row = what.row;
    row.last_seq = recorded;  // I8
    in_.put<link_codec>(key, row);
  }

  void operator()(erase_link const& what) { in_.erase(table::links, what.kernel.text); }
  void operator()(put_job const& what) {
    auto const& row = what.row;
    auto const key = key_of(row.session, row.job.text);
    if (auto const existing = in_.get(table::jobs, key)) {
      if (has_ended(peek_job_state(*existing))) return;
    } else {
      if (is_doomed(in_, row.session) || in_.has(table::job_ids, row.job.text)) return;
      in_.put<job_id_codec>(row.job.text, row.session);
    }
    in_.put<job_codec>(key, row);
    if (has_ended(row.state)) drop_oldest_jobs(in_, row.session);
  }

  void operator()(put_nursery const& what) { in_.put<nursery_codec>(what.row.nursery.text, what.row); }
  void operator()(erase_nursery const& what) { in_.erase(table::nurseries, what.nursery.text); }

  void operator()(put_saved const& what) {
    if (!is_doomed(in_, what.row.session)) in_.put<saved_codec>(key_of(what.row.session, what.row.slot), what.row);
  }
  void operator()(erase_saved const& what) { in_.erase(table::saved, key_of(what.session, what.slot)); }

  void operator()(put_notice const& what) {
    auto const& row = what.row;
    if (!is_doomed(in_, row.session)) in_.put<notice_codec>(key_of(row.session, row.notice.text), stored_notice{false, row});
  }

  void operator()(erase_notice const& what) {
    auto const key = key_of(what.session, what.notice.text);
    if (store_ == role::disk) return in_.erase(table::notices, key);
    // `disk` may have it, now or in a transaction on its way: without a mark it would be told twice.
    stored_notice mark{true, {}};
    mark.notice.session = what.session;
    mark.notice.notice = what.notice;
    if (!is_doomed(in_, what.session)) in_.put<notice_codec>(key, mark);
  }

 private:
  /// Erases a cell but for its id; its row as it was.
  std::optional<cell_record> take_cell(session_number session, cell_number number) {
    auto const key = key_of(session, number);
    auto row = in_.find<cell_codec>(key);
    if (!row) return row;
    in_.erase(table::cells, key);
    in_.erase(table::open_cells, key);
    in_.erase(table::outbox, key);
    return row;
  }

  write_transaction& in_;
  role store_;
};

}  // namespace

void apply(write_transaction& in, role store, change const& what) { std::visit(change_writer(in, store), what); }

void apply(write_transaction& in, role store, std::span<change const> all) {
  for (auto const& what : all) apply(in, store, what);
}

void apply_tombstone(write_transaction& in, expired_cell const& cell, digest const& code) {
  if (is_doomed(in, cell.session)) return;
  auto const key = key_of(cell.session, cell.number);
  in.erase(table::cells, key);
  in.put<expired_cell_codec>(key, cell);
  in.put<cell_index_codec>(key_of(cell.session, cell.cell.text), cell_index{cell.number, code, true});
  drop_oldest_tombstones(in, cell.session, cell.number);
}

}  // namespace holdfast::storage
