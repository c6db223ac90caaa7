#include "storage/moving.hpp"

#include <set>
#include <vector>

#include "storage/apply.hpp"
#include "storage/keys.hpp"
#include "storage/sweep.hpp"

namespace holdfast::storage {
namespace {

constexpr std::size_t rows_per_transaction = 512;
constexpr std::size_t bytes_per_transaction = std::size_t{1} << 20;

class mover {
 public:
  mover(environment const& boot, environment const& disk, moved_rows which, std::function<bool()> const& between_steps)
      : boot_(boot), disk_(disk), which_(which), between_steps_(between_steps), seen_(boot), known_(disk) {}

  result<void> run() {
    // The snapshots stay as they were while rows leave: every row is met once.
    each(table::sessions, [this](cursor& walk) { move_session(walk); });
    each(table::cells, [this](cursor& walk) { move_cell(walk); });
    each(table::expired_cells, [this](cursor& walk) { move_tombstone(walk); });
    each(table::notices, [this](cursor& walk) { move_notice(walk); });
    flush();
    if (failed_) return tl::unexpected(std::move(*failed_));
    if (auto read = seen_.finish(true); !read) return tl::unexpected(read.error());
    if (auto read = known_.finish(true); !read) return tl::unexpected(read.error());
    return {};
  }

 private:
  using step = std::function<void(write_transaction&)>;

  template <class Move>
  void each(table of, Move move) {
    cursor walk(seen_, of);
    for (bool on = walk.first(); on && !failed_ && !seen_.broken(); on = walk.next()) {
      move(walk);
      bytes_ += walk.value().size();
      if (into_disk_.size() >= rows_per_transaction || bytes_ >= bytes_per_transaction) flush();
    }
  }

  void move_session(cursor& walk) {
    auto row = walk.row<session_codec>();
    if (!row) return;
    out_of_boot_.push_back([row = *row](write_transaction& in) {
      in.erase(table::sessions, key_of(row.number));
      in.erase(table::session_keys, key_of(row.key));
      in.erase(table::owners, owner_key(row.key.owner, row.number));
    });
    into_disk_.push_back([row = *std::move(row)](write_transaction& in) { apply(in, role::disk, put_session{row}); });
  }

  void move_cell(cursor& walk) {
    bool const leaves = which_ == moved_rows::all_cells || is_final(peek_status(walk.value()));
    if (!leaves && known_.has(table::cells, walk.key())) return;
    auto row = walk.row<cell_codec>();
    if (!row) return;
    if (leaves)
      out_of_boot_.push_back(
          [place = erase_cell{row->session, row->number}](write_transaction& in) { apply(in, role::boot, place); });
    into_disk_.push_back([row = *std::move(row)](write_transaction& in) { apply(in, role::disk, put_cell{row}); });
  }

  void move_tombstone(cursor& walk) {
    auto row = walk.row<expired_cell_codec>();
    if (!row) return;
    auto const id_key = key_of(row->session, row->cell.text);
    auto const index = seen_.find<cell_index_codec>(id_key);
    if (!index) return;
    out_of_boot_.push_back([row = *row](write_transaction& in) {
      in.erase(table::expired_cells, key_of(row.session, row.number));
      in.erase(table::cell_ids, key_of(row.session, row.cell.text));
    });
    into_disk_.push_back([row = *std::move(row), code = index->code](write_transaction& in) { apply_tombstone(in, row, code); });
  }

  void move_notice(cursor& walk) {
    auto row = walk.row<notice_codec>();
    if (!row) return;
    auto const session = row->notice.session;
    auto const notice = row->notice.notice;
    out_of_boot_.push_back([session, notice](write_transaction& in) { in.erase(table::notices, key_of(session, notice.text)); });
    into_disk_.push_back([row = *std::move(row)](write_transaction& in) {
      if (row.withdrawn)
        apply(in, role::disk, erase_notice{row.notice.session, row.notice.notice});
      else
        apply(in, role::disk, put_notice{row.notice});
    });
  }

  void flush() {
    bytes_ = 0;
    if (failed_ || into_disk_.empty()) return;
    if (!commit(disk_, into_disk_)) return;
    if (between_steps_()) {
      failed_ = failure{failure_code::failed,
                        "cannot move rows out of " + boot_.directory().string() + ": stopped by a failpoint; start again"};
      return;
    }
    if (!out_of_boot_.empty()) commit(boot_, out_of_boot_);
  }

  bool commit(environment const& to, std::vector<step>& steps) {
    write_transaction in(to);
    for (auto const& write : steps) write(in);
    steps.clear();
    auto done = std::move(in).commit();
    if (!done) failed_ = std::move(done.error());
    return done.has_value();
  }

  environment const& boot_;
  environment const& disk_;
  moved_rows which_;
  std::function<bool()> const& between_steps_;
  read_transaction seen_;   // of `boot`
  read_transaction known_;  // of `disk`
  std::vector<step> into_disk_;
  std::vector<step> out_of_boot_;  // applied once into_disk_ is committed
  std::size_t bytes_ = 0;          // of the rows met since the last commit
  std::optional<failure> failed_;
};

result<void> collect_doomed(environment const& store, std::set<session_number>& into) {
  read_transaction in(store);
  cursor walk(in, table::doomed);
  for (bool on = walk.first(); on; on = walk.next()) {
    if (auto const row = walk.row<doomed_codec>()) into.insert(row->session);
  }
  if (auto read = in.finish(true); !read) return tl::unexpected(read.error());
  return {};
}

result<void> erase_whole(environment const& store, std::set<session_number> const& sessions) {
  for (auto next = sessions.begin(); next != sessions.end();) {
    write_transaction in(store);
    auto budget = rows_per_sweep;
    for (; next != sessions.end() && budget > 0; ++next) {
      if (in.has(table::sessions, key_of(*next))) apply(in, role::disk, erase_session{*next});
      if (!sweep_session(in, *next, budget)) break;
    }
    if (auto committed = std::move(in).commit(); !committed) return committed;
  }
  return {};
}

result<void> forget_doomed(environment const& store) {
  write_transaction in(store);
  in.clear(table::doomed);
  return std::move(in).commit();
}

}  // namespace

result<void> move_to_disk(environment const& boot, environment const& disk, moved_rows which,
                          std::function<bool()> const& between_steps) {
  return mover(boot, disk, which, between_steps).run();
}

result<void> finish_doomed(environment const& boot, environment const& disk) {
  std::set<session_number> doomed;
  if (auto read = collect_doomed(boot, doomed); !read) return read;
  if (auto read = collect_doomed(disk, doomed); !read) return read;
  if (doomed.empty()) return {};
  if (auto erased = erase_whole(disk, doomed); !erased) return erased;
  if (auto erased = erase_whole(boot, doomed); !erased) return erased;
  // Only when neither store has a row of them may the marks go, and `disk`, which outlives `boot`, last.
  if (auto forgotten = forget_doomed(boot); !forgotten) return forgotten;
  return forget_doomed(disk);
}

}  // namespace holdfast::storage
