#include "storage/remote_rows.hpp"

#include <vector>

#include "storage/apply.hpp"
#include "storage/keys.hpp"
#include "storage/snapshot.hpp"

namespace holdfast::storage {
namespace {

constexpr std::size_t rows_per_transaction = 512;

bool is_elsewhere(std::string const& environment) { return environment != "local"; }

template <class Each>
void each_row(transaction& in, table of, Each visit) {
  cursor walk(in, of);
  for (bool on = walk.first(); on && !in.broken(); on = walk.next()) visit(walk);
}

/// Whether the other store has that very row. Rows of one version have one encoding.
bool has_same(transaction& other, table of, cursor const& row) { return other.get(of, row.key()) == row.value(); }

class comparison {
 public:
  comparison(environment const& boot, environment const& disk) : in_(boot, disk) {}

  result<unmoved_rows> run() {
    links();
    outboxes();
    jobs();
    each_row(in_.boot, table::sessions, [&](cursor& walk) { found_.sessions.insert(session_in(walk.key())); });
    each_row(in_.boot, table::cells, [&](cursor& walk) {
      if (!has_same(in_.disk, table::cells, walk)) found_.cells.insert({session_in(walk.key()), cell_in(walk.key())});
    });
    each_row(in_.boot, table::notices, [&](cursor& walk) {
      auto const row = walk.row<notice_codec>();
      if (row) (row->withdrawn ? found_.told : found_.notices).insert({row->notice.session, row->notice.notice});
    });
    return in_.finish(std::move(found_));
  }

 private:
  void links() {
    each_row(in_.boot, table::links, [&](cursor& walk) {
      auto const row = walk.row<link_codec>();
      if (!row || !is_elsewhere(row->environment)) return;
      kernels_.insert(row->kernel);
      slots_.insert({row->session, row->slot});
      if (!has_same(in_.disk, table::links, walk)) found_.links.insert(row->kernel);
    });
    each_row(in_.disk, table::links, [&](cursor& walk) {
      if (!in_.boot.has(table::links, walk.key())) found_.links.insert(kernel_id(std::string(walk.key())));
    });
  }

  void outboxes() {
    each_row(in_.boot, table::outbox, [&](cursor& walk) {
      auto const row = walk.row<outbox_codec>();
      if (row && is_remote(*row) && !has_same(in_.disk, table::outbox, walk)) found_.outboxes[{row->session, row->number}] = true;
    });
    each_row(in_.disk, table::outbox, [&](cursor& walk) {
      if (!in_.boot.has(table::outbox, walk.key())) found_.outboxes[{session_in(walk.key()), cell_in(walk.key())}] = false;
    });
  }

  /// A slot that is too new for its session's row has its kernel's link.
  bool is_remote(outbox_record const& row) {
    if (slots_.count({row.session, row.slot}) != 0) return true;
    auto const session = in_.find<session_codec>(key_of(row.session));
    if (!session) return false;
    for (auto const& each : session->slots)
      if (each.number == row.slot) return is_elsewhere(each.environment);
    return false;
  }

  void jobs() {
    each_row(in_.boot, table::jobs, [&](cursor& walk) {
      auto const row = walk.row<job_codec>();
      if (!row || has_same(in_.disk, table::jobs, walk)) return;
      auto const is_new = kernels_.count(row->kernel) != 0;
      if (is_new || in_.disk.has(table::jobs, walk.key())) found_.jobs[{row->session, row->job}] = is_new;
    });
  }

  snapshot in_;
  std::set<kernel_id> kernels_;                               // linked in `boot`, elsewhere
  std::set<std::pair<session_number, std::uint32_t>> slots_;  // theirs
  unmoved_rows found_;
};

class restoring {
 public:
  restoring(environment const& disk, environment const& boot) : from_(disk), to_(boot) {}

  result<void> run() {
    each<link_codec>([&](link_record& row) { put(put_link{std::move(row)}); });
    each<outbox_codec>([&](outbox_record& row) {
      auto cell = from_.find<cell_codec>(key_of(row.session, row.number));
      if (!cell || is_final(cell->status) || cell->started_at != 0) return;  // I4
      put(put_cell{*std::move(cell)});
      put(put_outbox{std::move(row)});
    });
    each<open_cell_codec>([&](presence& place) {
      auto cell = from_.find<cell_codec>(key_of(place.session, place.number));
      if (cell && cell->started_at != 0 && from_.has(table::links, cell->kernel.text)) put(put_cell{*std::move(cell)});
    });
    each<job_codec>([&](job_record& row) { put(put_job{std::move(row)}); });
    flush();
    if (failed_) return tl::unexpected(std::move(*failed_));
    auto read = from_.finish(true);
    return read ? result<void>{} : tl::unexpected(std::move(read.error()));
  }

 private:
  template <class Codec, class Each>
  void each(Each visit) {
    each_row(from_, Codec::in, [&](cursor& walk) {
      if (auto row = walk.row<Codec>()) visit(*row);
      if (waiting_.size() >= rows_per_transaction) flush();
    });
  }

  void put(change what) { waiting_.push_back(std::move(what)); }

  void flush() {
    if (failed_ || waiting_.empty()) return;
    write_transaction in(to_);
    apply(in, role::boot, std::exchange(waiting_, {}));
    if (auto done = std::move(in).commit(); !done) failed_ = std::move(done.error());
  }

  read_transaction from_;
  environment const& to_;
  changes waiting_;
  std::optional<failure> failed_;
};

}  // namespace

std::size_t unmoved_rows::count() const {
  return sessions.size() + cells.size() + told.size() + links.size() + outboxes.size() + jobs.size() + notices.size();
}

void unmoved_rows::add(unmoved_rows const& others) {
  sessions.insert(others.sessions.begin(), others.sessions.end());
  cells.insert(others.cells.begin(), others.cells.end());
  told.insert(others.told.begin(), others.told.end());
  links.insert(others.links.begin(), others.links.end());
  for (auto const& [key, is_new] : others.outboxes) outboxes[key] |= is_new;
  for (auto const& [key, is_new] : others.jobs) jobs[key] |= is_new;
  notices.insert(others.notices.begin(), others.notices.end());
}

result<changes> copies_of(unmoved_rows const& which, environment const& boot, environment const& disk) {
  snapshot in(boot, disk);
  changes all;
  for (auto const& [key, is_new] : which.outboxes) {
    auto const place = key_of(key.first, key.second);
    if (!is_new && !in.disk.has(table::outbox, place)) continue;
    if (auto row = in.boot.find<outbox_codec>(place))
      all.emplace_back(put_outbox{*std::move(row)});
    else
      all.emplace_back(erase_outbox{key.first, key.second});
  }
  for (auto const& [key, is_new] : which.jobs) {
    auto const place = key_of(key.first, key.second.text);
    if (!is_new && !in.disk.has(table::jobs, place)) continue;
    if (auto row = in.boot.find<job_codec>(place)) all.emplace_back(put_job{*std::move(row)});
  }
  for (auto const& [session, notice] : which.notices) {
    auto row = in.boot.find<notice_codec>(key_of(session, notice.text));
    if (!row) continue;  // withdrawn, and `disk` knows that already
    if (row->withdrawn)
      all.emplace_back(erase_notice{session, notice});
    else
      all.emplace_back(put_notice{std::move(row->notice)});
  }
  for (auto const& kernel : which.links) {
    if (auto row = in.boot.find<link_codec>(kernel.text))
      all.emplace_back(put_link{*std::move(row)});
    else
      all.emplace_back(erase_link{kernel});
  }
  return in.finish(std::move(all));
}

result<unmoved_rows> rows_out_of_step(environment const& boot, environment const& disk) { return comparison(boot, disk).run(); }

result<void> restore_remote_rows(environment const& disk, environment const& boot) { return restoring(disk, boot).run(); }

}  // namespace holdfast::storage
