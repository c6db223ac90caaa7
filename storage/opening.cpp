#include "storage/opening.hpp"

#include <array>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/failpoint_names.hpp"
#include "storage/home_identity.hpp"
#include "storage/moving.hpp"
#include "storage/remote_rows.hpp"
#include "storage/schema.hpp"
#include "storage/snapshot.hpp"
#include "storage/transaction.hpp"

namespace holdfast::storage {
namespace {

namespace fs = std::filesystem;

result<void> make_private_directory(fs::path const& path) {
  if (::mkdir(path.c_str(), 0700) == 0) {
    // The new name must survive a power loss as the rows in it do.
    int const parent = ::open(path.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0) return tl::unexpected(failure_of(errno, "cannot open", path.parent_path()));
    int const synced = ::fsync(parent);
    int const error = errno;
    ::close(parent);
    if (synced != 0) return tl::unexpected(failure_of(error, "cannot sync", path.parent_path()));
    return {};
  }
  if (errno != EEXIST) return tl::unexpected(failure_of(errno, "cannot create", path));
  return {};
}

result<void> sync_directory(fs::path const& path) {
  int const directory = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return tl::unexpected(failure_of(errno, "cannot open", path));
  int const synced = ::fsync(directory);
  int const error = errno;
  ::close(directory);
  if (synced != 0) return tl::unexpected(failure_of(error, "cannot sync", path));
  return {};
}

result<std::string> random_home_id() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return tl::unexpected(failure_of(errno, "cannot get random bytes for", "a home id"));
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (auto byte : bytes) {
    text.push_back(digits[byte >> 4]);
    text.push_back(digits[byte & 15]);
  }
  return text;
}

result<std::optional<home_row>> recorded_home(environment const& store) {
  read_transaction in(store);
  return in.finish(in.find<home_codec>(home_codec::name));
}

// The steps of one opening. Each needs those before it.
class opening {
 public:
  explicit opening(options const& how) : how_(how) {}

  result<open_home> run() {
    for (auto step : {&opening::make_directories, &opening::open_disk, &opening::open_boot, &opening::judge,
                      &opening::leave_kernels, &opening::restore_remote, &opening::record_identity, &opening::move_rows}) {
      if (auto done = (this->*step)(); !done) return tl::unexpected(std::move(done.error()));
    }
    return std::move(result_);
  }

 private:
  fs::path disk_directory() const { return how_.home / "store" / "disk"; }
  fs::path boot_directory() const { return how_.home / "store" / "boot"; }

  result<void> make_directories() {
    for (auto const& path : {how_.home, how_.home / "store", disk_directory(), boot_directory()}) {
      if (auto made = make_private_directory(path); !made) return made;
    }
    struct ::stat status {};
    if (::stat(how_.home.c_str(), &status) != 0) return tl::unexpected(failure_of(errno, "cannot look at", how_.home));
    now_ = {status.st_dev, status.st_ino, how_.machine_id, how_.boot_id};
    return {};
  }

  result<void> open_disk() {
    auto store = environment::open(disk_directory(), durability::synced, how_.map_bytes);
    if (!store) return tl::unexpected(store.error());
    result_.disk = *std::move(store);
    auto const schema = look_at_schema(*result_.disk);
    if (!schema) return tl::unexpected(schema.error());
    if (!*schema) return {};
    auto row = recorded_home(*result_.disk);
    if (!row) return tl::unexpected(row.error());
    in_disk_ = *std::move(row);
    return {};
  }

  result<void> open_boot() {
    if (is_boot_outdated(in_disk_, now_)) {
      for (auto const* name : {"data.mdb", "lock.mdb"}) {
        auto const path = boot_directory() / name;
        if (::unlink(path.c_str()) == 0)
          result_.found.boot_discarded = true;
        else if (errno != ENOENT)
          return tl::unexpected(failure_of(errno, "cannot remove", path));
      }
    }
    auto store = environment::open(boot_directory(), durability::unsynced, how_.map_bytes);
    if (!store) return tl::unexpected(store.error());
    result_.boot = *std::move(store);
    auto const schema = look_at_schema(*result_.boot);
    if (!schema) return tl::unexpected(schema.error());
    if (!*schema) return {};
    auto row = recorded_home(*result_.boot);
    if (!row) return tl::unexpected(row.error());
    in_boot_ = *std::move(row);
    return {};
  }

  // From here on both stores are known to be ours, and are written.
  result<void> judge() {
    for (auto* store : {result_.disk.get(), result_.boot.get()}) {
      if (auto tables = open_tables(*store); !tables) return tables;
    }
    auto& found = result_.found;
    verdict_ = judge_home(in_disk_, in_boot_, now_);
    found.fresh = verdict_ == home_verdict::fresh;
    found.copied = verdict_ == home_verdict::copied;
    found.incarnation = (in_disk_ ? in_disk_->number : 0) + 1;
    found.home = {in_disk_ ? in_disk_->id : "", now_.device, now_.inode, now_.machine_id};
    if (verdict_ == home_verdict::same) return {};
    auto id = random_home_id();
    if (!id) return tl::unexpected(id.error());
    found.home.id = *std::move(id);
    return {};
  }

  // A copy: what its cells were is kept, the kernels they ran in belong to the home it was copied from.
  result<void> leave_kernels() {
    if (verdict_ != home_verdict::copied) return {};
    if (auto counted = count_links(); !counted) return counted;
    return move_to_disk(*result_.boot, *result_.disk, moved_rows::all_cells, failpoint(failpoint::open_between_move));
  }

  result<void> count_links() {
    snapshot in(*result_.boot, *result_.disk);
    auto& count = result_.found.links_forgotten;
    {
      merged_cursor walk(in, table::links, order::ascending);
      for (bool on = walk.start({}); on; on = walk.next()) ++count;
    }
    if (auto read = in.finish(true); !read) return tl::unexpected(read.error());
    return {};
  }

  // A `boot` that does not say whose it is is new. Before `disk` says that it is this system's: killed in between, the next opening
  // makes it anew.
  result<void> restore_remote() {
    if (verdict_ != home_verdict::same || in_boot_) return {};
    if (auto restored = restore_remote_rows(*result_.disk, *result_.boot); !restored) return restored;
    if (fails(failpoint::open_after_restore)) return stopped();
    return {};
  }

  result<void> record_identity() {
    if (fails(failpoint::open_before_identity)) return stopped();
    auto const& home = result_.found.home;
    write_transaction disk(*result_.disk);
    if (verdict_ == home_verdict::copied) {
      for (auto const forgotten : {table::links, table::nurseries, table::outbox, table::jobs, table::job_ids})
        disk.clear(forgotten);
    }
    disk.put<home_codec>(home_codec::name, home_row{home.id, home.inode, home.machine_id, now_.boot_id, result_.found.incarnation});
    if (auto committed = std::move(disk).commit(); !committed) return committed;
    if (auto synced = sync_directory(disk_directory()); !synced) return synced;
    if (fails(failpoint::open_after_identity)) return stopped();

    // A `boot` with nothing new to say is not written: its file system may be full.
    if (verdict_ == home_verdict::same && in_boot_) return {};
    write_transaction boot(*result_.boot);
    if (verdict_ != home_verdict::same) {
      for (std::size_t i = 0; i < table_count; ++i) {
        if (static_cast<table>(i) != table::meta) boot.clear(static_cast<table>(i));
      }
    }
    boot.put<home_codec>(home_codec::name, home_row{home.id, home.inode, "", now_.boot_id, home.device});
    return std::move(boot).commit();
  }

  result<void> move_rows() {
    if (auto finished = finish_doomed(*result_.boot, *result_.disk); !finished) return finished;
    if (fails(failpoint::open_before_move)) return stopped();
    auto moved = move_to_disk(*result_.boot, *result_.disk, moved_rows::finished, failpoint(failpoint::open_between_move));
    // Without room in `disk` the rest stays in `boot`, where it is read as well; the next opening tries again.
    result_.found.boot_kept_rows = !moved && moved.error().code == failure_code::full;
    if (!moved && !result_.found.boot_kept_rows) return moved;
    if (fails(failpoint::open_after_move)) return stopped();
    return {};
  }

  bool fails(std::string_view name) const { return how_.failpoint && how_.failpoint(name); }
  std::function<bool()> failpoint(std::string_view name) const {
    return [this, name] { return fails(name); };
  }
  result<void> stopped() const {
    return tl::unexpected(
        failure{failure_code::failed, "cannot open the stores of " + how_.home.string() + ": stopped by a failpoint; start again"});
  }

  options const& how_;
  home_facts now_;
  std::optional<home_row> in_disk_;
  std::optional<home_row> in_boot_;
  home_verdict verdict_ = home_verdict::fresh;
  open_home result_;
};

}  // namespace

result<open_home> open_stores(options const& how) { return opening(how).run(); }

}  // namespace holdfast::storage
