// The one door to both stores: commits with their failpoints, reads over a snapshot, and the poison that a failed write leaves.
#include "storage/stores.hpp"

#include <algorithm>
#include <cerrno>
#include <mutex>

#include "storage/apply.hpp"
#include "storage/failpoint_names.hpp"
#include "storage/opening.hpp"
#include "storage/reads.hpp"
#include "storage/settling.hpp"
#include "storage/sweep.hpp"

namespace holdfast::storage {
namespace {

failure stopped_by_failpoint(std::string_view name) {
  return {failure_code::failed, "cannot commit: stopped by failpoint " + std::string(name) + "; start again"};
}

}  // namespace

struct stores::implementation {
  open_home home;
  std::function<bool(std::string_view)> failpoint;
  settling settled{};

  // Once a write failed for a reason that is not want of space, nothing is known of what is on the disk.
  std::atomic<bool> poisoned{false};
  std::mutex poison_mutex{};
  std::string poison_text{};  // why, guarded by poison_mutex

  result<void> check() {
    if (!poisoned) return {};
    std::lock_guard lock(poison_mutex);
    return tl::unexpected(failure{failure_code::failed, poison_text});
  }

  template <class T>
  result<T> noting_poison(result<T> outcome) {
    if (!outcome && outcome.error().code == failure_code::failed) {
      std::lock_guard lock(poison_mutex);
      if (!poisoned) poison_text = outcome.error().text;
      poisoned = true;
    }
    return outcome;
  }

  result<void> at(std::string_view name) {
    if (failpoint && failpoint(name)) return tl::unexpected(stopped_by_failpoint(name));
    return {};
  }

  /// The names of the steps of a commit.
  struct steps {
    std::string_view without_room, before, after;
  };

  result<void> commit(environment const& store, write_transaction&& in, steps const& named) {
    if (failpoint && failpoint(named.without_room))
      return tl::unexpected(failure_of(ENOSPC, "cannot commit to", store.directory()));
    if (auto stopped = at(named.before); !stopped) return stopped;
    if (auto committed = std::move(in).commit(); !committed) return committed;
    return at(named.after);
  }

  /// Goes on erasing a session that a commit has doomed. A failure leaves it to the next opening: the commit itself stands.
  result<void> sweep(environment const& store, change const& what) {
    auto const* erased = std::get_if<erase_session>(&what);
    if (erased == nullptr) return {};
    for (bool done = false; !done;) {
      auto budget = rows_per_sweep;
      write_transaction in(store);
      done = sweep_session(in, erased->number, budget);
      if (auto stopped = at(failpoint::sweep_before_commit); !stopped) return stopped;
      if (auto committed = std::move(in).commit(); !committed)
        return committed.error().code == failure_code::full ? result<void>{} : committed;
    }
    return {};
  }

  result<void> commit_boot(std::span<change const> all) {
    write_transaction in(*home.boot);
    auto const carried = settled.carry_out(in);
    apply(in, role::boot, all);
    steps const named{failpoint::boot_without_room, failpoint::boot_before_commit, failpoint::boot_after_commit};
    if (auto done = commit(*home.boot, std::move(in), named); !done) return done;
    settled.forget(carried);
    for (auto const& what : all) {
      if (auto swept = sweep(*home.boot, what); !swept) return swept;
    }
    return {};
  }

  result<void> commit_disk(std::span<changes const> units) {
    write_transaction in(*home.disk);
    for (auto const& unit : units) apply(in, role::disk, unit);
    steps const named{failpoint::disk_without_room, failpoint::disk_before_commit, failpoint::disk_after_commit};
    if (auto done = commit(*home.disk, std::move(in), named); !done) return done;
    for (auto const& unit : units) {
      for (auto const& what : unit) {
        if (auto swept = sweep(*home.disk, what); !swept) return swept;
      }
      settled.add(unit);
    }
    return {};
  }

  template <class Read>
  auto reading(Read read) -> result<decltype(read(std::declval<snapshot&>()))> {
    if (auto healthy = check(); !healthy) return tl::unexpected(std::move(healthy.error()));
    snapshot in(*home.boot, *home.disk);
    auto value = read(in);
    return noting_poison(in.finish(std::move(value)));
  }
};

result<std::unique_ptr<stores>> stores::open(options const& how) {
  auto home = open_stores(how);
  if (!home) return tl::unexpected(std::move(home.error()));
  return std::unique_ptr<stores>(new stores(std::unique_ptr<implementation>(new implementation{*std::move(home), how.failpoint})));
}

stores::stores(std::unique_ptr<implementation> made) : self_(std::move(made)) {}
stores::~stores() = default;

opened const& stores::found() const { return self_->home.found; }

result<void> stores::commit_boot(std::span<change const> all) {
  if (auto healthy = self_->check(); !healthy) return healthy;
  return self_->noting_poison(self_->commit_boot(all));
}

result<void> stores::commit_disk(std::span<changes const> units) {
  if (auto healthy = self_->check(); !healthy) return healthy;
  return self_->noting_poison(self_->commit_disk(units));
}

result<changes> stores::copies_of(unmoved_rows const& which) const {
  if (auto healthy = self_->check(); !healthy) return tl::unexpected(std::move(healthy.error()));
  return self_->noting_poison(storage::copies_of(which, *self_->home.boot, *self_->home.disk));
}

result<unmoved_rows> stores::out_of_step() const {
  if (auto healthy = self_->check(); !healthy) return tl::unexpected(std::move(healthy.error()));
  return self_->noting_poison(rows_out_of_step(*self_->home.boot, *self_->home.disk));
}

result<std::optional<session_record>> stores::find_session(session_key const& key) const {
  return self_->reading([&](snapshot& in) { return reads::find_session(in, key); });
}

result<std::optional<session_record>> stores::session(session_number number) const {
  return self_->reading([&](snapshot& in) { return reads::session(in, number); });
}

result<std::vector<session_record>> stores::sessions(std::string const& owner, std::optional<std::string> const& child,
                                                     session_number before, std::size_t limit) const {
  return self_->reading([&](snapshot& in) { return reads::sessions(in, owner, child, before, limit); });
}

result<std::uint64_t> stores::count_sessions() const {
  return self_->reading([](snapshot& in) { return reads::count_sessions(in); });
}

result<session_number> stores::last_session_number() const {
  return self_->reading([](snapshot& in) { return reads::last_session_number(in); });
}

result<std::optional<cell_index>> stores::find_cell(session_number session, cell_id const& cell) const {
  return self_->reading([&](snapshot& in) { return in.find<cell_index_codec>(key_of(session, cell.text)); });
}

result<std::optional<cell_record>> stores::cell(session_number session, cell_number number) const {
  return self_->reading([&](snapshot& in) { return in.find<cell_codec>(key_of(session, number)); });
}

result<std::vector<cell_record>> stores::cells(session_number session, cell_number before, std::size_t limit) const {
  return self_->reading([&](snapshot& in) { return reads::cells(in, session, before, limit); });
}

result<cell_number> stores::last_cell_number(session_number session) const {
  return self_->reading([&](snapshot& in) { return reads::last_cell_number(in, session); });
}

result<cell_number> stores::first_cell_number(session_number session) const {
  return self_->reading([&](snapshot& in) { return reads::first_cell_number(in, session); });
}

result<std::vector<cell_record>> stores::open_cells(session_number session) const {
  return self_->reading([&](snapshot& in) { return reads::open_cells(in, session); });
}

result<std::optional<outbox_record>> stores::outbox(session_number session, cell_number number) const {
  return self_->reading([&](snapshot& in) { return in.boot.find<outbox_codec>(key_of(session, number)); });
}

result<std::vector<link_record>> stores::links() const {
  return self_->reading([](snapshot& in) { return reads::links(in); });
}

result<std::vector<nursery_record>> stores::nurseries() const {
  return self_->reading([](snapshot& in) { return reads::nurseries(in); });
}

result<std::optional<job_record>> stores::job(job_id const& job) const {
  return self_->reading([&](snapshot& in) { return reads::job(in, job); });
}

result<std::vector<job_record>> stores::jobs(job_id const& before, std::size_t limit) const {
  return self_->reading([&](snapshot& in) { return reads::jobs(in, before, limit); });
}

result<std::vector<job_record>> stores::jobs_of(session_number session) const {
  return self_->reading([&](snapshot& in) { return reads::jobs_of(in, session); });
}

result<std::vector<saved_record>> stores::saved(session_number session) const {
  return self_->reading([&](snapshot& in) { return reads::saved(in, session); });
}

result<std::vector<notice_record>> stores::notices(session_number session) const {
  return self_->reading([&](snapshot& in) { return reads::notices(in, session); });
}

}  // namespace holdfast::storage
