// What `disk` keeps of kernels elsewhere, and what becomes of it when the system was booted anew.
#include "storage/remote_rows.hpp"

#include "storage/snapshot.hpp"
#include "tests/storage/invariants.hpp"
#include "tests/storage/raw_stores.hpp"

using namespace holdfast;
using namespace holdfast::storage;

namespace {

/// Brings `disk` up to date, as a gateway does.
void follow(stores& store) {
  auto const which = taken(store.out_of_step());
  changes unit;
  for (auto const& [session, number] : which.cells) unit.push_back(put_cell{*taken(store.cell(session, number))});
  auto copies = taken(store.copies_of(which));
  unit.insert(unit.end(), copies.begin(), copies.end());
  commit_disk(store, unit);
}

/// Session 1 has a kernel elsewhere in its slot 3, a local one in slot 0; of each a running and a waiting cell, and a job.
void fill(stores& store) {
  commit_disk(store, {put_session{session_row(1)}});
  auto local = link_row("k-local");
  local.slot = 0;
  auto remote = remote_link_row("k-remote");
  auto running = [](cell_number number, std::string kernel) {
    auto row = running_cell(1, number);
    row.kernel = kernel_id(std::move(kernel));
    return row;
  };
  auto job = [](std::string id, std::string kernel) {
    auto row = job_row(1, std::move(id));
    row.kernel = kernel_id(std::move(kernel));
    return row;
  };
  commit_boot(store, {put_link{local}, put_link{remote}, put_cell{running(1, "k-remote")}, put_cell{queued_cell(1, 2)},
                      put_outbox{{1, 2, "print(2)", false, 3, {}}}, put_cell{running(3, "k-local")}, put_cell{queued_cell(1, 4)},
                      put_outbox{{1, 4, "print(4)", false, 0, {}}}, put_job{job("j-remote", "k-remote")},
                      put_job{job("j-local", "k-local")}, put_notice{notice_row(1, "n-1")}});
  follow(store);
}

/// Both stores as they lie there keep FORMAT.md's promises.
std::vector<std::string> broken_in(test_home const& home) {
  auto const disk = open_raw(home.disk());
  auto const boot = open_raw(home.boot());
  snapshot in(*boot, *disk);
  return broken_invariants(in);
}

void expect_remote_rows(stores& store) {
  auto const links = taken(store.links());
  REQUIRE(links.size() == 1);
  CHECK(links[0].kernel == kernel_id("k-remote"));
  CHECK(links[0].last_seq == 7);
  CHECK(taken(store.cell(1, 1))->status == cell_status::running);
  CHECK(taken(store.cell(1, 1))->kernel == kernel_id("k-remote"));
  REQUIRE(taken(store.outbox(1, 2)));
  CHECK(taken(store.outbox(1, 2))->code == "print(2)");
  CHECK_FALSE(taken(store.outbox(1, 4)));
  auto const jobs = taken(store.jobs_of(1));
  REQUIRE(jobs.size() == 1);
  CHECK(jobs[0].job == job_id("j-remote"));
  CHECK(taken(store.notices(1)).size() == 1);
  CHECK(taken(store.open_cells(1)).size() == 4);  // somebody has to say what became of the local ones
}

}  // namespace

TEST_CASE("after a reboot all of a kernel elsewhere is there, and nothing of a local one") {
  test_home home;
  fill(*home.open());
  home.how.boot_id = "boot-2";

  auto store = home.open();

  CHECK(store->found().boot_discarded);
  expect_remote_rows(*store);
  CHECK(taken(store->out_of_step()).links.empty());
  store.reset();
  CHECK(broken_in(home) == std::vector<std::string>{});
}

TEST_CASE("the same after a second reboot in which nothing has happened, and after a start in between") {
  test_home home;
  fill(*home.open());
  for (auto const* boot : {"boot-2", "boot-3", "boot-3"}) {
    home.how.boot_id = boot;
    expect_remote_rows(*home.open());
  }
}

TEST_CASE("a first start after a reboot that is killed at any step is done again by the next one") {
  for (std::string const step : {"storage.open.after_restore", "storage.open.before_identity", "storage.open.after_identity",
                                 "storage.open.before_move", "storage.open.after_move"}) {
    INFO(step);
    test_home home;
    fill(*home.open());
    home.how.boot_id = "boot-2";
    auto stopped = home.how;
    stopped.failpoint = [&](std::string_view name) { return name == step; };
    REQUIRE_FALSE(stores::open(stopped).has_value());

    expect_remote_rows(*home.open());

    home.how.boot_id = "boot-3";
    expect_remote_rows(*home.open());
  }
}

TEST_CASE("what boot has no more is erased from disk, what it has is copied") {
  test_home home;
  auto const store = home.open();
  fill(*store);
  auto ended = job_row(1, "j-remote", job_state::finished);
  ended.kernel = kernel_id("k-remote");
  commit_boot(*store, {erase_link{kernel_id("k-remote")}, erase_outbox{1, 2}, put_job{ended},
                       put_link{remote_link_row("k-next", 1)}, erase_notice{1, notice_id("n-1")}});

  auto const which = taken(store->out_of_step());
  CHECK(which.links == std::set<kernel_id>{kernel_id("k-remote"), kernel_id("k-next")});
  CHECK(which.outboxes.size() == 1);
  CHECK(which.jobs.size() == 1);
  CHECK(which.told.size() == 1);
  commit_disk(*store, taken(store->copies_of(which)));

  CHECK(taken(store->out_of_step()).links.empty());
  CHECK(taken(store->out_of_step()).outboxes.empty());
  CHECK(taken(store->out_of_step()).jobs.empty());
}

TEST_CASE("a waiting cell that moves to another slot is followed if disk has it, and is none of disk's if not") {
  test_home home;
  auto const store = home.open();
  fill(*store);
  unmoved_rows which;
  which.outboxes[{1, 2}] = which.outboxes[{1, 4}] = false;
  commit_boot(*store, {put_outbox{{1, 2, "print(2)", false, 7, {}}}, put_outbox{{1, 4, "print(4)", false, 8, {}}}});

  auto const unit = taken(store->copies_of(which));

  REQUIRE(unit.size() == 1);
  REQUIRE(std::holds_alternative<put_outbox>(unit[0]));
  CHECK(std::get<put_outbox>(unit[0]).row.number == 2);
  CHECK(std::get<put_outbox>(unit[0]).row.slot == 7);
}

TEST_CASE("of local kernels nothing is copied, whoever asks") {
  test_home home;
  auto const store = home.open();
  commit_disk(*store, {put_session{session_row(1)}});
  auto local = link_row("k-local");
  local.slot = 0;
  commit_boot(*store, {put_link{local}, put_cell{queued_cell(1, 1)}, put_outbox{{1, 1, "print(1)", false, 0, {}}},
                       put_job{job_row(1, "j-1")}});

  auto const which = taken(store->out_of_step());

  CHECK(which.links.empty());
  CHECK(which.outboxes.empty());
  CHECK(which.jobs.empty());
  CHECK(which.cells.size() == 1);
}

TEST_CASE("a waiting cell is known to be for a kernel elsewhere without that kernel, by its session's slot") {
  test_home home;
  auto const store = home.open();
  commit_disk(*store, {put_session{session_row(1)}});
  commit_boot(*store, {put_cell{queued_cell(1, 1)}, put_outbox{{1, 1, "print(1)", false, 3, {}}}});

  CHECK(taken(store->out_of_step()).outboxes.size() == 1);
}

TEST_CASE("a copy in disk of a source whose cell has started or is final there is not sent again after a reboot") {
  test_home home;
  commit_disk(*home.open(), {put_session{session_row(1)}, put_cell{running_cell(1, 1)}, put_outbox{{1, 1, "x", false, 3, {}}},
                             put_cell{final_cell(1, 2)}, put_outbox{{1, 2, "x", false, 3, {}}}});
  home.how.boot_id = "boot-2";

  auto const store = home.open();

  CHECK_FALSE(taken(store->outbox(1, 1)));
  CHECK_FALSE(taken(store->outbox(1, 2)));
  CHECK(taken(store->open_cells(1)).size() == 1);
}

TEST_CASE("a copied home has no kernels elsewhere either, not even after a reboot, and each is counted once") {
  test_home home;
  fill(*home.open());
  home.how.machine_id = "machine-2";

  auto store = home.open();

  CHECK(store->found().links_forgotten == 2);
  CHECK(taken(store->links()).empty());
  store.reset();
  home.how.boot_id = "boot-2";
  store = home.open();
  CHECK(taken(store->links()).empty());
  CHECK(taken(store->jobs_of(1)).empty());
  CHECK_FALSE(taken(store->outbox(1, 2)));
}
