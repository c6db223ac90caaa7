#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include "tests/storage/child_process.hpp"
#include "tests/storage/fixture.hpp"
#include "tests/storage/raw_stores.hpp"

using namespace holdfast;
using namespace holdfast::storage;
namespace fs = std::filesystem;

namespace {

constexpr uid_t nobody = 65534;

cell_record big_cell(cell_number number) {
  auto row = final_cell(1, number);
  row.result = std::string(20'000, 'r');
  return row;
}

changes one(change what) { return {std::move(what)}; }

/// Commits big cells to a store until it refuses one. Answers with a complaint, or "" once it refused as `full`.
template <class Commit>
std::string fill(Commit commit, cell_number& number) {
  for (int i = 0; i < 10'000; ++i) {
    auto const done = commit(one(put_cell{big_cell(number + 1)}));
    if (done) {
      ++number;
      continue;
    }
    return done.error().code == failure_code::full ? "" : "wanted full, found " + describe(done.error());
  }
  return "never full";
}

/// What must hold of a store that has become full, in whatever way.
std::string full_claim(options const& how) {
  auto opened = stores::open(how);
  if (!opened) return describe(opened.error());
  auto store = *std::move(opened);
  cell_number number = 0;
  auto const to_disk = [&](changes const& unit) { return store->commit_disk(std::vector<changes>{unit}); };
  auto const to_boot = [&](changes const& all) { return store->commit_boot(all); };

  if (auto wrong = fill(to_disk, number); !wrong.empty()) return "disk: " + wrong;
  auto const in_disk = number;
  if (in_disk == 0) return "nothing fitted at all";
  fill(to_boot, number);  // may be full at once, if both share what is full

  for (cell_number i = 1; i <= number; ++i) {
    auto const row = store->cell(1, i);
    if (!row || !*row || (*row)->result.size() != 20'000) return "row " + std::to_string(i) + " is not there";
  }
  auto const refused = store->cell(1, number + 1);
  if (!refused || *refused) return "a refused row is there";

  // Room again: the same store goes on. LMDB needs some pages to free others, so it frees what is biggest first.
  changes erased;
  for (cell_number i = 1; i <= in_disk; ++i) erased.push_back(erase_cell{1, i});
  for (int attempt = 0;; ++attempt) {
    if (to_disk({erased[static_cast<std::size_t>(attempt)]})) break;
    if (attempt > 20) return "no row can be erased any more";
  }
  if (auto done = to_disk(erased); !done) return "cannot erase: " + describe(done.error());
  if (auto done = to_disk(one(put_cell{big_cell(100'000)})); !done) return "cannot go on: " + describe(done.error());

  store.reset();
  auto again = stores::open(how);
  if (!again) return "cannot open again: " + describe(again.error());
  auto const last = (*again)->cell(1, 100'000);
  return last && *last ? "" : "the row after the fullness is not there";
}

std::string become_root_of_new_mounts() {
  auto const uid = ::getuid();
  auto const gid = ::getgid();
  if (::unshare(CLONE_NEWNS) != 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return "skip: no new mount namespace here";
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << "0 " << uid << " 1";
    std::ofstream("/proc/self/gid_map") << "0 " << gid << " 1";
  }
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return "skip: mounts cannot be made private here";
  return "";
}

std::string mount_small(fs::path const& at, char const* how) {
  fs::create_directories(at);
  return ::mount("none", at.c_str(), "tmpfs", 0, how) == 0 ? "" : "skip: no tmpfs can be mounted here";
}

void check_or_skip(std::string const& answer) {
  if (answer.rfind("skip: ", 0) == 0) {
    WARN(answer);
    return;
  }
  CHECK(answer == "");
}

}  // namespace

TEST_CASE("a full map refuses the change and the store goes on") {
  test_home home;
  home.how.map_bytes = std::size_t{2} << 20;
  CHECK(full_claim(home.how) == "");
}

TEST_CASE("a full file system refuses the change and the store goes on") {
  test_home home;
  check_or_skip(in_child([&]() -> std::string {
    if (auto wrong = become_root_of_new_mounts(); !wrong.empty()) return wrong;
    if (auto wrong = mount_small(home.directory.path() / "small", "size=2m,mode=0700"); !wrong.empty()) return wrong;
    home.how.home = home.directory.path() / "small" / "home";
    return full_claim(home.how);
  }));
}

TEST_CASE("a file system with no room for a store at all answers full") {
  test_home home;
  check_or_skip(in_child([&]() -> std::string {
    if (auto wrong = become_root_of_new_mounts(); !wrong.empty()) return wrong;
    if (auto wrong = mount_small(home.directory.path() / "small", "size=16k,mode=0700"); !wrong.empty()) return wrong;
    home.how.home = home.directory.path() / "small" / "home";
    auto const opened = stores::open(home.how);
    if (opened) return "it opened";
    return opened.error().code == failure_code::full ? "" : describe(opened.error());
  }));
}

TEST_CASE("a read-only file system is denied") {
  test_home home;
  check_or_skip(in_child([&]() -> std::string {
    if (auto wrong = become_root_of_new_mounts(); !wrong.empty()) return wrong;
    auto const at = home.directory.path() / "mounted";
    if (auto wrong = mount_small(at, "size=8m,mode=0700"); !wrong.empty()) return wrong;
    home.how.home = at / "home";
    if (auto opened = stores::open(home.how); !opened) return describe(opened.error());
    if (::mount("none", at.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) return "skip: cannot remount read-only";
    auto const opened = stores::open(home.how);
    if (opened) return "it opened";
    return opened.error().code == failure_code::denied ? "" : describe(opened.error());
  }));
}

TEST_CASE("a home that its user may not write is denied, and left as it is") {
  test_home home;
  if (::getuid() != 0) {
    WARN("skip: needs root to become another user");
    return;
  }
  home.open();
  fs::permissions(home.directory.path(), fs::perms(0755));
  for (auto const& path : {home.how.home, home.how.home / "store", home.disk(), home.boot()})
    fs::permissions(path, fs::perms(0555));
  for (auto const& path : {home.disk(), home.boot()}) {
    for (auto const* file : {"data.mdb", "lock.mdb"}) fs::permissions(path / file, fs::perms(0444));
  }
  auto const before = bytes_of(home.disk() / "data.mdb");
  auto const as_nobody = [&](fs::path const& where) {
    return in_child([&, where]() -> std::string {
      if (::setgroups(0, nullptr) != 0 || ::setgid(nobody) != 0 || ::setuid(nobody) != 0) return "cannot become nobody";
      auto how = home.how;
      how.home = where;
      auto const opened = stores::open(how);
      if (opened) return "it opened";
      return opened.error().code == failure_code::denied ? "" : describe(opened.error());
    });
  };

  CHECK(as_nobody(home.how.home) == "");
  CHECK(as_nobody(home.how.home / "new") == "");
  CHECK(bytes_of(home.disk() / "data.mdb") == before);
}

TEST_CASE("a failed commit poisons: every later call answers failed") {
  for (std::string const step :
       {"storage.boot.before_commit", "storage.boot.after_commit", "storage.disk.before_commit", "storage.disk.after_commit"}) {
    INFO(step);
    test_home home;
    bool armed = false;
    home.how.failpoint = [&](std::string_view name) { return armed && name == step; };
    auto store = home.open();
    armed = true;

    auto const into_boot = step.find("boot") != std::string::npos;
    auto const row = one(put_session{session_row(1)});
    auto const failed = into_boot ? store->commit_boot(row) : store->commit_disk(std::vector<changes>{row});
    armed = false;

    REQUIRE_FALSE(failed.has_value());
    CHECK(failed.error().code == failure_code::failed);
    CHECK(store->commit_boot(row).error().code == failure_code::failed);
    CHECK(store->commit_disk(std::vector<changes>{row}).error().code == failure_code::failed);
    CHECK(store->session(1).error().code == failure_code::failed);
    CHECK(store->open_cells(0).error().code == failure_code::failed);

    store.reset();
    bool const committed = step.find("after") != std::string::npos;
    CHECK(taken(home.open()->session(1)).has_value() == committed);
  }
}

TEST_CASE("a commit for which there is no room leaves nothing, and the next one is taken") {
  for (std::string const step : {"storage.boot.without_room", "storage.disk.without_room"}) {
    INFO(step);
    test_home home;
    auto refusals = 0;
    home.how.failpoint = [&](std::string_view name) { return name == step && refusals > 0 && refusals-- > 0; };
    auto store = home.open();
    auto const into_boot = step.find("boot") != std::string::npos;
    auto const row = one(put_session{session_row(1)});
    auto const commit = [&] { return into_boot ? store->commit_boot(row) : store->commit_disk(std::vector<changes>{row}); };

    refusals = 2;
    for (auto attempt = 0; attempt < 2; ++attempt) {
      auto const refused = commit();
      REQUIRE_FALSE(refused.has_value());
      CHECK(refused.error().code == failure_code::full);
    }

    CHECK_FALSE(taken(store->session(1)).has_value());
    CHECK(commit().has_value());
    CHECK(taken(store->session(1)).has_value());
  }
}

TEST_CASE("what a disk commit has made superfluous in boot goes with the first commit that boot takes") {
  test_home home;
  auto is_full = false;
  home.how.failpoint = [&](std::string_view name) { return is_full && name == "storage.boot.without_room"; };
  {
    auto store = home.open();
    taken(store->commit_boot(one(put_session{session_row(1)})));
    taken(store->commit_disk(std::vector<changes>{one(put_session{session_row(1)})}));
    is_full = true;
    CHECK_FALSE(store->commit_boot(one(put_link{link_row("k-1")})).has_value());
    is_full = false;
    taken(store->commit_boot(one(put_link{link_row("k-1")})));
  }

  CHECK(rows_in(*open_raw(home.boot()), table::sessions) == 0);
}
