#include "tests/storage/invariants.hpp"

#include <functional>

namespace holdfast::storage {
namespace {

class checker {
 public:
  explicit checker(snapshot& in) : in_(in) {}

  std::vector<std::string> run() {
    for (auto* store : {&in_.boot, &in_.disk}) {
      cells_have_ids(*store);
      ids_have_cells(*store);
      open_cells_are_open(*store);
      names_have_sessions(*store);
      jobs_have_ids(*store);
      numbers_are_spent(*store);
    }
    outboxes();
    copies();
    saved_namespaces();
    both_stores_agree();
    for (auto* store : {&in_.boot, &in_.disk})
      if (auto read = store->finish(true); !read) say(read.error().text);
    return std::move(broken_);
  }

 private:
  void say(std::string what) { broken_.push_back(std::move(what)); }
  void expect(bool holds, std::string const& what, std::string_view key) {
    if (!holds) say(what + " (session " + std::to_string(session_in(key)) + ", cell " + std::to_string(cell_in(key)) + ")");
  }

  template <class Codec, class Each>
  void each(read_transaction& store, Each visit) {
    cursor walk(store, Codec::in);
    for (bool on = walk.first(); on; on = walk.next()) {
      if (auto const row = walk.row<Codec>()) visit(walk.key(), *row);
    }
  }

  /// A doomed session's rows are garbage on their way out: I11.
  bool garbage(std::string_view key) { return in_.is_doomed(session_in(key)); }

  void cells_have_ids(read_transaction& store) {
    each<cell_codec>(store, [&](std::string_view key, cell_record const& row) {
      if (garbage(key)) return;
      auto const index = store.find<cell_index_codec>(key_of(row.session, row.cell.text));
      expect(index && index->number == row.number && index->code == row.code && !index->expired, "I2: a cell without its id", key);
      expect(is_final(row.status) != store.has(table::open_cells, key), "I3: open and final at once, or neither", key);
    });
  }

  void ids_have_cells(read_transaction& store) {
    each<cell_index_codec>(store, [&](std::string_view key, cell_index const& row) {
      auto const place = key_of(session_in(key), row.number);
      if (!garbage(key))
        expect(store.has(row.expired ? table::expired_cells : table::cells, place), "I2: an id without its cell", place);
    });
    each<expired_cell_codec>(store, [&](std::string_view key, expired_cell const& row) {
      if (garbage(key)) return;
      auto const index = store.find<cell_index_codec>(key_of(row.session, row.cell.text));
      expect(index && index->expired, "I2: a tombstone without its id", key);
    });
  }

  void open_cells_are_open(read_transaction& store) {
    each<open_cell_codec>(store, [&](std::string_view key, presence const&) {
      if (!garbage(key)) expect(store.has(table::cells, key), "I3: open, but there is no such cell", key);
    });
  }

  void names_have_sessions(read_transaction& store) {
    each<session_codec>(store, [&](std::string_view key, session_record const& row) {
      expect(store.find<session_key_codec>(key_of(row.key)) == row.number, "I12: a session without its name", key);
      expect(store.has(table::owners, owner_key(row.key.owner, row.number)), "I12: a session without its owner", key);
    });
    each<session_key_codec>(store, [&](std::string_view, session_number row) {
      auto const key = key_of(row);
      expect(store.has(table::sessions, key), "I12: a name without its session", key);
    });
    each<owner_codec>(store, [&](std::string_view, owner_entry const& row) {
      auto const key = key_of(row.session);
      expect(store.has(table::sessions, key), "I12: an owner's session that is not there", key);
    });
  }

  void jobs_have_ids(read_transaction& store) {
    each<job_codec>(store, [&](std::string_view key, job_record const& row) {
      expect(store.find<job_id_codec>(row.job.text) == row.session, "I13: a job without its id", key);
    });
    each<job_id_codec>(store, [&](std::string_view job, session_number row) {
      auto const key = key_of(row, job);
      expect(store.has(table::jobs, key), "I13: an id without its job", key);
    });
  }

  void numbers_are_spent(read_transaction& store) {
    auto const last = std::max(in_.boot.find<last_session_codec>(last_session_codec::name).value_or(0),
                               in_.disk.find<last_session_codec>(last_session_codec::name).value_or(0));
    for (auto const of : {table::sessions, table::cells, table::doomed}) {
      cursor walk(store, of);
      if (walk.last()) expect(session_in(walk.key()) <= last, "I10: a number above the last one", walk.key());
    }
  }

  void outboxes() {
    each<cell_codec>(in_.boot, [&](std::string_view key, cell_record const& row) {
      if (garbage(key)) return;
      bool const wanted = !is_final(row.status) && row.started_at == 0;
      expect(in_.boot.has(table::outbox, key) == wanted, "I4: an outbox row too many or too few", key);
    });
    each<outbox_codec>(in_.boot, [&](std::string_view key, outbox_record const&) {
      if (!garbage(key)) expect(in_.boot.has(table::cells, key), "I4: an outbox row without its cell", key);
    });
  }

  void copies() {
    each<outbox_codec>(in_.disk, [&](std::string_view key, outbox_record const&) {
      if (garbage(key)) return;
      auto const cell = in_.disk.find<cell_codec>(key);
      expect(cell && !is_final(cell->status) && cell->started_at == 0, "I16: a copy of a source without its waiting cell", key);
    });
  }

  void saved_namespaces() {
    each<saved_codec>(in_.disk, [&](std::string_view key, saved_record const& row) {
      if (!garbage(key))
        expect(in_.disk.has(table::sessions, key_of(row.session)), "I15: saved, but there is no such session", key);
      for (auto* store : {&in_.boot, &in_.disk})
        each<cell_codec>(*store, [&](std::string_view place, cell_record const& cell) {
          if (cell.session != row.session || is_final(cell.status) || garbage(place)) return;
          auto const newest = in_.find<cell_codec>(place);
          if (!newest || newest->generation == 0 || is_final(newest->status)) return;
          auto const link = in_.find<link_codec>(newest->kernel.text);
          expect(link && link->slot != row.slot, "I15: sent to a kernel while its slot is saved", place);
        });
    });
    expect(in_.boot.count(table::saved) == 0, "I15: saved in boot", {});
  }

  void both_stores_agree() {
    each<cell_codec>(in_.boot, [&](std::string_view key, cell_record const& row) {
      auto const other = in_.disk.find<cell_codec>(key);
      if (!other || garbage(key)) return;
      expect(other->cell == row.cell && other->code == row.code, "I6: two cells under one number", key);
      expect(other->status <= row.status, "I6: boot has the older row", key);
      if (is_final(other->status)) expect(other->status == row.status && other->result == row.result, "I7: two results", key);
    });
  }

  snapshot& in_;
  std::vector<std::string> broken_;
};

}  // namespace

std::vector<std::string> broken_invariants(snapshot& in) { return checker(in).run(); }

}  // namespace holdfast::storage
