#include "tests/storage/raw_stores.hpp"

using namespace holdfast;
using namespace holdfast::storage;

namespace {

void give_everything(stores& store, session_number number, std::string const& name, cell_number cells) {
  changes unit{put_session{session_row(number, name)}, put_notice{notice_row(number, "n-1")}};
  for (cell_number cell = 1; cell <= cells; ++cell) unit.push_back(put_cell{final_cell(number, cell)});
  unit.push_back(expire_cell{number, 1});
  unit.push_back(put_saved{saved_row(number)});
  unit.push_back(put_saved{saved_row(number, "idle", 3)});
  commit_disk(store, unit);
  commit_boot(store, {put_cell{queued_cell(number, cells + 1)}, put_outbox{{number, cells + 1, "x", false, {}, {}}},
                      put_cell{final_cell(number, cells + 2)}, put_notice{notice_row(number, "n-2")},
                      put_job{job_row(number, "j-1-" + name)}, put_job{job_row(number, "j-2-" + name, job_state::finished)}});
}

void check_gone(stores const& store, session_number number, std::string const& name) {
  CHECK_FALSE(taken(store.session(number)));
  CHECK_FALSE(taken(store.find_session({"default", "", name})));
  CHECK(taken(store.sessions("", std::nullopt, 0, 100)).size() == taken(store.count_sessions()));
  CHECK(taken(store.cells(number, 0, 10)).empty());
  CHECK(taken(store.open_cells(0)).empty());
  CHECK(taken(store.notices(number)).empty());
  CHECK(taken(store.saved(number)).empty());
  CHECK(taken(store.jobs_of(number)).empty());
  CHECK_FALSE(taken(store.job(job_id("j-1-" + name))));
}

}  // namespace

TEST_CASE("an erased session leaves nothing, in whichever order the stores forget it") {
  for (bool const boot_first : {true, false}) {
    INFO("boot first: " << boot_first);
    test_home home;
    {
      auto const store = home.open();
      give_everything(*store, 1, "a", 5);
      changes const erase{erase_session{1}};

      if (boot_first) commit_boot(*store, erase);
      if (boot_first) check_gone(*store, 1, "a");
      commit_disk(*store, erase);
      check_gone(*store, 1, "a");
      if (!boot_first) commit_boot(*store, erase);

      check_gone(*store, 1, "a");
      CHECK(taken(store->count_sessions()) == 0);
      CHECK(taken(store->last_session_number()) == 1);
    }
    home.open();
    CHECK(rows_in(*open_raw(home.disk())) == 0);
    CHECK(rows_in(*open_raw(home.boot())) == 0);
  }
}

TEST_CASE("an erasure that reached one store only is finished at the next opening") {
  for (bool const in_boot : {true, false}) {
    INFO("in boot: " << in_boot);
    test_home home;
    {
      auto const store = home.open();
      give_everything(*store, 1, "a", 5);
      if (in_boot)
        commit_boot(*store, {erase_session{1}});
      else
        commit_disk(*store, {erase_session{1}});
    }
    {
      auto const store = home.open();
      check_gone(*store, 1, "a");
      CHECK(taken(store->count_sessions()) == 0);
    }
    CHECK(rows_in(*open_raw(home.disk())) == 0);
    CHECK(rows_in(*open_raw(home.boot())) == 0);
  }
}

TEST_CASE("a large session is erased in bounded transactions, and is gone with the first") {
  test_home home;
  int sweeps = 0;
  int stop_at = 0;
  home.how.failpoint = [&](std::string_view name) {
    if (name == "storage.sweep.before_commit") ++sweeps;
    return stop_at != 0 && sweeps == stop_at;
  };
  {
    auto store = home.open();
    give_everything(*store, 1, "a", 10'000);
    give_everything(*store, 2, "b", 10'000);
    taken(store->commit_boot(changes{erase_session{1}, erase_session{2}}));
    sweeps = 0;

    commit_disk(*store, {erase_session{1}});
    CHECK(sweeps >= 5);

    stop_at = sweeps + 2;
    CHECK_FALSE(store->commit_disk(std::vector<changes>{{erase_session{2}}}).has_value());
    store.reset();
    stop_at = 0;
    CHECK(rows_in(*open_raw(home.disk()), table::cells) > 5'000);

    store = home.open();
    check_gone(*store, 2, "b");
  }
  CHECK(rows_in(*open_raw(home.disk())) == 0);
}

TEST_CASE("a new session may bear the name of an erased one") {
  test_home home;
  auto const store = home.open();
  give_everything(*store, 1, "a", 3);
  commit_boot(*store, {erase_session{1}});

  commit_disk(*store, {put_session{session_row(2, "a")}});  // overtakes the old one's erasure there
  CHECK(taken(store->find_session({"default", "", "a"}))->number == 2);
  commit_disk(*store, {erase_session{1}});

  CHECK(taken(store->find_session({"default", "", "a"}))->number == 2);
  CHECK(taken(store->count_sessions()) == 1);
}

TEST_CASE("rows that come late for an erased session are not written") {
  test_home home;
  {
    auto const store = home.open();
    give_everything(*store, 1, "a", 3);
    commit_boot(*store, {erase_session{1}});
    commit_disk(*store, {erase_session{1}});

    commit_disk(*store, {put_cell{final_cell(1, 9)}, put_outbox{{1, 9, "x", false, {}, {}}}, put_notice{notice_row(1, "n-9")},
                         put_session{session_row(1, "a")}});

    check_gone(*store, 1, "a");
  }
  CHECK(rows_in(*open_raw(home.disk())) == 1);  // the mark
}

TEST_CASE("what disk has is cleared from boot by its next commit") {
  test_home home;
  {
    auto const store = home.open();
    commit_disk(*store, {put_session{session_row(1, "a")}, put_session{session_row(2, "b")}, put_notice{notice_row(1, "n-1")}});
    auto newer = session_row(1, "a");
    newer.restarts = 3;
    commit_boot(*store, {put_session{newer}, erase_notice{1, notice_id("n-1")}, erase_session{2}});

    commit_disk(*store, {put_session{newer}, erase_notice{1, notice_id("n-1")}, erase_session{2}});
    commit_boot(*store, {});

    CHECK(taken(store->session(1))->restarts == 3);
    CHECK(taken(store->notices(1)).empty());
    CHECK_FALSE(taken(store->session(2)));
  }
  CHECK(rows_in(*open_raw(home.boot())) == 0);
}

TEST_CASE("a session row that boot has anew is not cleared from it") {
  test_home home;
  auto const store = home.open();
  auto row = session_row(1, "a");
  commit_boot(*store, {put_session{row}});
  auto newer = row;
  newer.restarts = 1;
  commit_boot(*store, {put_session{newer}});

  commit_disk(*store, {put_session{row}});
  commit_boot(*store, {});

  CHECK(taken(store->session(1))->restarts == 1);
}

TEST_CASE("tombstones beyond the limit are dropped, oldest first") {
  test_home home;
  auto const store = home.open();
  commit_disk(*store, {put_cell{final_cell(1, 1)}, put_cell{final_cell(1, 2)}, put_cell{final_cell(1, 100'001)}});

  commit_disk(*store, {expire_cell{1, 1}, expire_cell{1, 2}, expire_cell{1, 100'001}});

  CHECK_FALSE(taken(store->find_cell(1, cell_id("c-1"))));
  CHECK(taken(store->find_cell(1, cell_id("c-2")))->expired);
  CHECK(taken(store->find_cell(1, cell_id("c-100001")))->expired);
}
