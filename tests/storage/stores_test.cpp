#include "tests/storage/fixture.hpp"

using namespace holdfast;
using namespace holdfast::storage;

TEST_CASE("a new home is fresh and has no rows") {
  test_home home;

  auto const store = home.open();

  CHECK(store->found().fresh);
  CHECK_FALSE(store->found().boot_discarded);
  CHECK(store->found().incarnation == 1);
  CHECK(store->found().home.id.size() == 32);
  CHECK(taken(store->count_sessions()) == 0);
  CHECK(taken(store->last_session_number()) == 0);
  CHECK_FALSE(taken(store->find_session({})));
  CHECK(taken(store->open_cells(0)).empty());
  CHECK(taken(store->links()).empty());
}

TEST_CASE("a home keeps its id and counts its starts") {
  test_home home;
  auto const id = home.open()->found().home.id;

  auto const again = home.open();

  CHECK(again->found().home.id == id);
  CHECK_FALSE(again->found().fresh);
  CHECK(again->found().incarnation == 2);
}

TEST_CASE("directories and files are private") {
  test_home home;
  auto const store = home.open();
  using std::filesystem::perms;
  for (auto const& directory : {home.how.home, home.how.home / "store", home.disk(), home.boot()})
    CHECK(std::filesystem::status(directory).permissions() == perms::owner_all);
  for (auto const& directory : {home.disk(), home.boot()}) {
    for (auto const* file : {"data.mdb", "lock.mdb"})
      CHECK(std::filesystem::status(directory / file).permissions() == (perms::owner_read | perms::owner_write));
  }
}

TEST_CASE("a session is found by name and by number, from either store") {
  test_home home;
  auto const store = home.open();

  commit_disk(*store, {put_session{session_row(1, "a")}});
  commit_boot(*store, {put_session{session_row(2, "b")}});

  CHECK(taken(store->find_session({"default", "", "a"}))->number == 1);
  CHECK(taken(store->find_session({"default", "", "b"}))->number == 2);
  CHECK(taken(store->session(2))->key.session == "b");
  CHECK(taken(store->session(2))->slots.back().tools == std::vector<std::string>{"read_file", "web_search"});
  CHECK(taken(store->count_sessions()) == 2);
  CHECK(taken(store->last_session_number()) == 2);
  CHECK_FALSE(taken(store->find_session({"default", "child", "a"})));
}

TEST_CASE("where both stores have a row, boot wins") {
  test_home home;
  auto const store = home.open();
  auto older = session_row(1);
  auto newer = older;
  newer.slots.front().fresh_reason = "died";
  auto link = link_row("k-1", 3);
  commit_disk(*store, {put_session{older}, put_cell{queued_cell(1, 1)}, put_link{link}, put_notice{notice_row(1, "n-1")}});

  link.last_seq = 9;
  auto notice = notice_row(1, "n-1");
  notice.text = "newer";
  commit_boot(*store, {put_session{newer}, put_cell{final_cell(1, 1)}, put_link{link}, put_notice{notice}});

  CHECK(taken(store->session(1))->slots.front().fresh_reason == "died");
  CHECK(taken(store->cell(1, 1))->status == cell_status::ok);
  CHECK(taken(store->cells(1, 0, 10)).size() == 1);
  CHECK(taken(store->cells(1, 0, 10))[0].status == cell_status::ok);
  CHECK(taken(store->open_cells(0)).empty());
  REQUIRE(taken(store->links()).size() == 1);
  CHECK(taken(store->links())[0].last_seq == 9);
  REQUIRE(taken(store->notices(1)).size() == 1);
  CHECK(taken(store->notices(1))[0].text == "newer");
  CHECK(taken(store->count_sessions()) == 1);
}

TEST_CASE("cells are listed newest first across both stores, in pages") {
  test_home home;
  auto const store = home.open();
  for (cell_number number = 1; number <= 9; ++number) {
    changes const put{put_cell{final_cell(1, number)}};
    if (number % 3 == 0)
      commit_boot(*store, put);
    else
      commit_disk(*store, put);
  }
  commit_disk(*store, {put_cell{final_cell(2, 1)}});

  std::vector<cell_number> seen;
  for (cell_number before = 0;;) {
    auto const page = taken(store->cells(1, before, 4));
    for (auto const& row : page) seen.push_back(row.number);
    if (page.size() < 4) break;
    before = page.back().number;
  }

  CHECK(seen == std::vector<cell_number>{9, 8, 7, 6, 5, 4, 3, 2, 1});
  CHECK(taken(store->last_cell_number(1)) == 9);
  CHECK(taken(store->last_cell_number(2)) == 1);
  CHECK(taken(store->last_cell_number(3)) == 0);
  CHECK(taken(store->first_cell_number(3)) == 0);
}

TEST_CASE("sessions are listed newest first, by owner and child") {
  test_home home;
  auto const store = home.open();
  commit_disk(*store, {put_session{session_row(1, "a", "ann")}, put_session{session_row(2, "a", "bob")},
                       put_session{session_row(4, "b", "ann")}});
  commit_boot(*store, {put_session{session_row(3, "a", "ann", "child")}, put_session{session_row(5, "a", "annabel")}});
  auto const numbers = [&](std::string const& owner, std::optional<std::string> const& child, session_number before,
                           std::size_t limit) {
    std::vector<session_number> found;
    for (auto const& row : taken(store->sessions(owner, child, before, limit))) found.push_back(row.number);
    return found;
  };
  using list = std::vector<session_number>;

  CHECK(numbers("", std::nullopt, 0, 10) == list{5, 4, 3, 2, 1});
  CHECK(numbers("", std::nullopt, 4, 2) == list{3, 2});
  CHECK(numbers("ann", std::nullopt, 0, 10) == list{4, 3, 1});
  CHECK(numbers("ann", std::nullopt, 4, 10) == list{3, 1});
  CHECK(numbers("ann", "", 0, 10) == list{4, 1});
  CHECK(numbers("ann", "child", 0, 10) == list{3});
  CHECK(numbers("", "child", 0, 10) == list{3});
  CHECK(numbers("nobody", std::nullopt, 0, 10).empty());
}

TEST_CASE("open cells are those without a final status, oldest first") {
  test_home home;
  auto const store = home.open();
  commit_disk(*store, {put_cell{queued_cell(1, 1)}, put_cell{queued_cell(1, 2)}, put_cell{running_cell(2, 1)}});
  commit_boot(*store, {put_cell{final_cell(1, 1)}, put_cell{running_cell(1, 2)}, put_cell{queued_cell(1, 3)}});

  auto const of_one = taken(store->open_cells(1));
  auto const of_all = taken(store->open_cells(0));

  REQUIRE(of_one.size() == 2);
  CHECK(of_one[0].number == 2);
  CHECK(of_one[0].status == cell_status::running);
  CHECK(of_one[1].number == 3);
  CHECK(of_all.size() == 3);
}

TEST_CASE("a final cell stays as it is") {
  test_home home;
  auto const store = home.open();
  commit_boot(*store, {put_cell{final_cell(1, 1, cell_status::lost)}});

  commit_boot(*store, {put_cell{final_cell(1, 1, cell_status::ok)}, put_cell{running_cell(1, 1)}});

  CHECK(taken(store->cell(1, 1))->status == cell_status::lost);
  CHECK(taken(store->open_cells(0)).empty());
}

TEST_CASE("a result takes its outbox row with it") {
  test_home home;
  auto const store = home.open();
  commit_boot(*store, {put_cell{queued_cell(1, 1)}, put_outbox{{1, 1, "print(1)", true, 3, "k-1"}}});
  REQUIRE(taken(store->outbox(1, 1))->code == "print(1)");

  commit_boot(*store, {put_cell{final_cell(1, 1)}});

  CHECK_FALSE(taken(store->outbox(1, 1)));
}

TEST_CASE("the last seq of a link never falls") {
  test_home home;
  auto const store = home.open();
  commit_boot(*store, {put_link{link_row("k-1", 9)}});

  auto late = link_row("k-1", 4);
  late.epoch = 8;
  commit_boot(*store, {put_link{late}});

  CHECK(taken(store->links())[0].last_seq == 9);
  CHECK(taken(store->links())[0].epoch == 8);
}

TEST_CASE("an expired cell leaves its id and nothing else") {
  test_home home;
  auto const store = home.open();
  commit_disk(*store, {put_cell{final_cell(1, 1)}, put_cell{queued_cell(1, 2)}});

  commit_disk(*store, {expire_cell{1, 1}, expire_cell{1, 2}, put_cell{final_cell(1, 1)}});

  CHECK_FALSE(taken(store->cell(1, 1)));
  auto const index = taken(store->find_cell(1, cell_id("c-1")));
  REQUIRE(index);
  CHECK(index->expired);
  CHECK(index->number == 1);
  CHECK(index->code == digest_of(1));
  CHECK_FALSE(taken(store->find_cell(1, cell_id("c-2")))->expired);  // not final: it stays
  CHECK(taken(store->last_cell_number(1)) == 2);
}

TEST_CASE("the number of the last cell is known even if it expired") {
  test_home home;
  auto const store = home.open();
  commit_disk(*store, {put_cell{final_cell(1, 1)}});

  commit_disk(*store, {expire_cell{1, 1}});

  CHECK(taken(store->last_cell_number(1)) == 1);
}

TEST_CASE("a cell erased from boot is answered from disk") {
  test_home home;
  auto const store = home.open();
  commit_boot(*store, {put_cell{final_cell(1, 1)}});
  commit_disk(*store, {put_cell{final_cell(1, 1)}});

  commit_boot(*store, {erase_cell{1, 1}});

  CHECK(taken(store->cell(1, 1))->status == cell_status::ok);
  CHECK(taken(store->find_cell(1, cell_id("c-1")))->number == 1);
}

TEST_CASE("a notice withdrawn in boot is not told from disk either") {
  test_home home;
  {
    auto const store = home.open();
    commit_disk(*store, {put_notice{notice_row(1, "n-1")}, put_notice{notice_row(1, "n-2")}});

    commit_boot(*store, {erase_notice{1, notice_id("n-1")}});

    REQUIRE(taken(store->notices(1)).size() == 1);
    CHECK(taken(store->notices(1))[0].notice.text == "n-2");
  }

  // A daemon that died before the disk transaction: the next one carries it out.
  auto const store = home.open();
  REQUIRE(taken(store->notices(1)).size() == 1);
  CHECK(taken(store->notices(1))[0].notice.text == "n-2");
}

TEST_CASE("a job is found by its id, and jobs are listed newest first over all sessions") {
  test_home home;
  auto const store = home.open();
  commit_boot(*store, {put_job{job_row(2, "j-1")}, put_job{job_row(1, "j-2")}, put_job{job_row(1, "j-3")}});
  commit_disk(*store, {put_job{job_row(1, "j-4")}});  // a copy: it counts when the system was booted anew

  REQUIRE(taken(store->job(job_id("j-2"))));
  CHECK(taken(store->job(job_id("j-2")))->session == 1);
  CHECK_FALSE(taken(store->job(job_id("j-4"))));
  auto const names = [](std::vector<job_record> const& rows) {
    std::string all;
    for (auto const& row : rows) all += row.job.text + " ";
    return all;
  };
  CHECK(names(taken(store->jobs({}, 2))) == "j-3 j-2 ");
  CHECK(names(taken(store->jobs(job_id("j-2"), 10))) == "j-1 ");
  CHECK(names(taken(store->jobs_of(1))) == "j-2 j-3 ");
}

TEST_CASE("a job that has ended stays as it is, and its id belongs to its session") {
  test_home home;
  auto const store = home.open();
  commit_boot(*store, {put_job{job_row(1, "j-1", job_state::finished)}});

  commit_boot(*store, {put_job{job_row(1, "j-1")}, put_job{job_row(2, "j-1")}});

  CHECK(taken(store->job(job_id("j-1")))->state == job_state::finished);
  CHECK(taken(store->jobs_of(2)).empty());
}

TEST_CASE("of ended jobs the newest 256 are kept, and those that run") {
  test_home home;
  auto const store = home.open();
  commit_boot(*store, {put_job{job_row(1, "j-0")}, put_job{job_row(2, "j-other", job_state::finished)}});
  for (int i = 1000; i < 1300; ++i) commit_boot(*store, {put_job{job_row(1, "j-" + std::to_string(i), job_state::finished)}});

  auto const rows = taken(store->jobs_of(1));

  REQUIRE(rows.size() == 257);
  CHECK(rows[0].job.text == "j-0");
  CHECK(rows[1].job.text == "j-1044");
  CHECK_FALSE(taken(store->job(job_id("j-1043"))));
  CHECK(taken(store->jobs_of(2)).size() == 1);
  CHECK(taken(store->jobs({}, 1000)).size() == 258);
}

TEST_CASE("a session has one saved namespace per slot, the newest, until it is erased") {
  test_home home;
  auto const store = home.open();
  commit_disk(*store, {put_session{session_row(1, "a")}, put_saved{saved_row(1, "grace")}, put_saved{saved_row(1, "idle", 3)}});
  commit_disk(*store, {put_saved{saved_row(1, "stop")}});

  auto const found = taken(store->saved(1));

  REQUIRE(found.size() == 2);
  CHECK(found[0].reason == "stop");
  CHECK(found[1].slot == 3);
  CHECK(found[1].reason == "idle");
  CHECK(taken(store->saved(2)).empty());
  commit_disk(*store, {erase_saved{1, 0}});
  CHECK(taken(store->saved(1)).size() == 1);
  CHECK(taken(store->saved(1)).front().slot == 3);
}

TEST_CASE("nurseries and links are listed and erased") {
  test_home home;
  auto const store = home.open();
  commit_boot(*store, {put_nursery{nursery_row("y-1")}, put_link{link_row("k-1")}, put_link{link_row("k-2")}});
  commit_disk(*store, {put_link{remote_link_row("k-3")}});  // a copy, as above
  CHECK(taken(store->links()).size() == 2);
  REQUIRE(taken(store->nurseries()).size() == 1);
  CHECK(taken(store->nurseries())[0].process == process_identity{"boot-1", 1, 2, 3});

  commit_boot(*store, {erase_link{kernel_id("k-1")}, erase_nursery{nursery_id("y-1")}});

  CHECK(taken(store->links()).size() == 1);
  CHECK(taken(store->nurseries()).empty());
}

TEST_CASE("a group of units is one commit") {
  test_home home;
  int commits = 0;
  home.how.failpoint = [&](std::string_view name) {
    commits += name == "storage.disk.before_commit" ? 1 : 0;
    return false;
  };
  auto const store = home.open();

  std::vector<changes> units;
  for (cell_number number = 1; number <= 16; ++number) units.push_back({put_cell{final_cell(1, number)}});
  taken(store->commit_disk(units));

  CHECK(commits == 1);
  CHECK(taken(store->cells(1, 0, 100)).size() == 16);
}
