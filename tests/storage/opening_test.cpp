#include <fcntl.h>
#include <unistd.h>

#include "storage/home_identity.hpp"
#include "tests/storage/raw_stores.hpp"

using namespace holdfast;
using namespace holdfast::storage;
namespace fs = std::filesystem;

namespace {

/// One of each kind in each store, as a daemon that died might leave it.
void fill(stores& store) {
  commit_disk(store, {put_session{session_row(1, "a")}, put_cell{queued_cell(1, 1)}, put_cell{queued_cell(1, 2)},
                      put_link{remote_link_row("k-remote")}, put_notice{notice_row(1, "n-1")}});
  commit_boot(store, {put_cell{final_cell(1, 1)}, put_cell{running_cell(1, 2)}, put_cell{queued_cell(1, 3)},
                      put_outbox{{1, 3, "print(3)", false, {}, {}}}, put_link{link_row("k-local")},
                      put_link{remote_link_row("k-remote")}, put_nursery{nursery_row("y-1")}, put_session{session_row(2, "b")}});
}

}  // namespace

TEST_CASE("what is final in boot is moved to disk before anything is read") {
  test_home home;
  fill(*home.open());

  home.open();

  auto const disk = open_raw(home.disk());
  auto const boot = open_raw(home.boot());
  CHECK(rows_in(*boot, table::cells) == 2);  // the open ones
  CHECK(rows_in(*boot, table::open_cells) == 2);
  CHECK(rows_in(*boot, table::sessions) == 0);
  CHECK(rows_in(*boot, table::outbox) == 1);
  CHECK(rows_in(*boot, table::links) == 2);
  CHECK(rows_in(*disk, table::sessions) == 2);
  CHECK(rows_in(*disk, table::cells) == 3);  // the one that disk did not know is copied
  CHECK(rows_in(*disk, table::open_cells) == 2);
}

TEST_CASE("opening again and again changes no row") {
  test_home home;
  fill(*home.open());
  home.open();
  auto const store = home.open();

  CHECK(taken(store->cell(1, 1))->status == cell_status::ok);
  CHECK(taken(store->cell(1, 2))->status == cell_status::running);
  CHECK(taken(store->cell(1, 3))->status == cell_status::queued);
  CHECK(taken(store->outbox(1, 3))->code == "print(3)");
  CHECK(taken(store->open_cells(0)).size() == 2);
  CHECK(taken(store->links()).size() == 2);
  CHECK(taken(store->count_sessions()) == 2);
}

TEST_CASE("a move stopped at any step is finished by the next opening") {
  for (std::string const step : {"storage.open.before_identity", "storage.open.after_identity", "storage.open.before_move",
                                 "storage.open.between_move", "storage.open.after_move"}) {
    INFO(step);
    test_home home;
    fill(*home.open());
    auto stopped = home.how;
    stopped.failpoint = [&](std::string_view name) { return name == step; };

    auto const failed = stores::open(stopped);
    REQUIRE_FALSE(failed.has_value());
    CHECK(failed.error().code == failure_code::failed);

    auto const store = home.open();
    CHECK(taken(store->cell(1, 1))->status == cell_status::ok);
    CHECK(taken(store->open_cells(0)).size() == 2);
    CHECK(taken(store->count_sessions()) == 2);
    CHECK_FALSE(store->found().copied);
  }
}

TEST_CASE("boot is discarded, unopened, when the system was booted since") {
  test_home home;
  fill(*home.open());
  std::ofstream(home.boot() / "data.mdb", std::ios::binary | std::ios::trunc) << "what a power loss may leave";
  home.how.boot_id = "boot-2";

  auto const store = home.open();

  CHECK(store->found().boot_discarded);
  CHECK_FALSE(store->found().copied);
  REQUIRE(taken(store->links()).size() == 1);
  CHECK(taken(store->links())[0].kernel == kernel_id("k-remote"));
  CHECK(taken(store->nurseries()).empty());
  auto const open = taken(store->open_cells(0));  // accepted in disk: somebody has to say what became of them
  REQUIRE(open.size() == 2);
  CHECK(open[0].number == 1);
  CHECK(open[1].number == 2);
  CHECK(taken(store->find_cell(1, cell_id("c-1"))).has_value());
}

TEST_CASE("the same boot id keeps boot") {
  test_home home;
  fill(*home.open());
  CHECK_FALSE(home.open()->found().boot_discarded);
}

TEST_CASE("a copied home gets a new id, forgets the kernels and keeps the rest") {
  test_home home;
  fill(*home.open());
  auto const id = home.open()->found().home.id;
  auto copy = home.how;
  copy.home = home.directory.path() / "copy";
  fs::copy(home.how.home, copy.home, fs::copy_options::recursive);

  auto store = taken(stores::open(copy));

  CHECK(store->found().copied);
  CHECK(store->found().links_forgotten == 2);
  CHECK(store->found().home.id != id);
  CHECK(taken(store->links()).empty());
  CHECK(taken(store->nurseries()).empty());
  CHECK(taken(store->count_sessions()) == 2);
  CHECK(taken(store->cell(1, 1))->status == cell_status::ok);
  CHECK(taken(store->open_cells(0)).size() == 2);
  CHECK_FALSE(taken(store->outbox(1, 3)));  // it must not be sent by two homes

  auto const copied_id = store->found().home.id;
  store.reset();
  store = taken(stores::open(copy));
  CHECK_FALSE(store->found().copied);
  CHECK(store->found().home.id == copied_id);

  auto const original = home.open();
  CHECK(original->found().home.id == id);
  CHECK(taken(original->links()).size() == 2);
}

TEST_CASE("a copy whose opening was stopped is still a copy") {
  for (std::string const step : {"storage.open.between_move", "storage.open.before_identity", "storage.open.after_identity"}) {
    INFO(step);
    test_home home;
    fill(*home.open());
    home.how.machine_id = "machine-2";  // the very same directory on another machine: a restored image
    auto stopped = home.how;
    stopped.failpoint = [&](std::string_view name) { return name == step; };
    REQUIRE_FALSE(stores::open(stopped).has_value());

    auto const store = home.open();

    CHECK(store->found().copied);
    CHECK(taken(store->links()).empty());
    CHECK_FALSE(taken(store->outbox(1, 3)));
    CHECK(taken(store->open_cells(0)).size() == 2);
  }
}

TEST_CASE("a home that was moved is the same home") {
  test_home home;
  auto const id = home.open()->found().home.id;
  auto const there = home.directory.path() / "elsewhere";
  fs::rename(home.how.home, there);
  home.how.home = there;

  auto const store = home.open();

  CHECK(store->found().home.id == id);
  CHECK_FALSE(store->found().copied);
}

TEST_CASE("a home is judged by what is recorded of it") {
  home_facts const now{10, 20, "machine", "boot"};
  home_row const disk{"id", 20, "machine", "boot", 4};
  home_row const boot{"id", 20, "", "boot", 10};
  auto const with = [](home_row row, auto change) {
    change(row);
    return row;
  };

  CHECK(judge_home(std::nullopt, std::nullopt, now) == home_verdict::fresh);
  CHECK(judge_home(disk, boot, now) == home_verdict::same);
  CHECK(judge_home(disk, std::nullopt, now) == home_verdict::same);
  CHECK(judge_home(with(disk, [](auto& r) { r.inode = 21; }), boot, now) == home_verdict::copied);
  CHECK(judge_home(with(disk, [](auto& r) { r.machine_id = "other"; }), boot, now) == home_verdict::copied);
  CHECK(judge_home(disk, with(boot, [](auto& r) { r.number = 11; }), now) == home_verdict::copied);
  CHECK(judge_home(disk, with(boot, [](auto& r) { r.id = "other"; }), now) == home_verdict::copied);
  CHECK(is_boot_outdated(std::nullopt, now));
  CHECK(is_boot_outdated(with(disk, [](auto& r) { r.boot_id = "earlier"; }), now));
  CHECK_FALSE(is_boot_outdated(disk, now));
}

TEST_CASE("the same store is not opened twice in a process, by whatever path") {
  test_home home;
  auto store = home.open();
  CHECK(home.refused().code == failure_code::in_use);

  auto through_link = home.how;
  through_link.home = home.directory.path() / "link";
  fs::create_directory_symlink(home.how.home, through_link.home);
  auto const second = stores::open(through_link);
  REQUIRE_FALSE(second.has_value());
  CHECK(second.error().code == failure_code::in_use);

  commit_disk(*store, {put_session{session_row(1)}});  // and the first one is none the worse
  store.reset();
  CHECK(taken(home.open()->count_sessions()) == 1);
}

TEST_CASE("no descriptor of a store is inherited by a child") {
  test_home home;
  auto const store = home.open();
  int seen = 0;
  for (auto const& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    auto const target = fs::read_symlink(entry.path(), gone).string();
    if (target.rfind(home.how.home.string(), 0) != 0) continue;
    INFO(target);
    CHECK((::fcntl(std::stoi(entry.path().filename().string()), F_GETFD) & FD_CLOEXEC) != 0);
    ++seen;
  }
  CHECK(seen >= 4);
}
