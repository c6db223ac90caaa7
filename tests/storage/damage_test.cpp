#include <algorithm>
#include <random>

#include <unistd.h>

#include "storage/codecs.hpp"
#include "storage/keys.hpp"
#include "tests/storage/raw_stores.hpp"

using namespace holdfast;
using namespace holdfast::storage;
namespace fs = std::filesystem;

namespace {

void scribble(fs::path const& file, std::streamoff from, std::size_t size) {
  std::mt19937 random(99);
  std::string garbage(size, '\0');
  std::generate(garbage.begin(), garbage.end(), [&] { return static_cast<char>(random()); });
  std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
  out.seekp(from);
  out << garbage;
}

bool names(failure const& why, std::string const& part) { return why.text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a store whose first page is garbage is damaged, and left as it is") {
  for (std::string const which : {"disk", "boot"}) {
    INFO(which);
    test_home home;
    commit_disk(*home.open(), {put_session{session_row(1)}});
    auto const file = home.how.home / "store" / which / "data.mdb";
    scribble(file, 0, 4096);
    auto const before = bytes_of(file);
    auto const disk_before = bytes_of(home.disk() / "data.mdb");

    auto const why = home.refused();

    CHECK(why.code == failure_code::damaged);
    CHECK(names(why, (home.how.home / "store" / which).string()));
    CHECK(bytes_of(file) == before);
    CHECK(bytes_of(home.disk() / "data.mdb") == disk_before);
  }
}

TEST_CASE("a file that is no store at all is damaged, and left as it is") {
  test_home home;
  home.open();
  std::ofstream(home.disk() / "data.mdb", std::ios::trunc) << std::string(100'000, 'x');
  auto const before = bytes_of(home.disk() / "data.mdb");

  CHECK(home.refused().code == failure_code::damaged);
  CHECK(bytes_of(home.disk() / "data.mdb") == before);
}

TEST_CASE("a store cut short is damaged, and left as it is") {
  test_home home;
  {
    auto const store = home.open();
    changes unit;
    for (cell_number number = 1; number <= 1000; ++number) unit.push_back(put_cell{final_cell(1, number)});
    commit_disk(*store, unit);
  }
  auto const file = home.disk() / "data.mdb";
  fs::resize_file(file, fs::file_size(file) / 2);
  auto const before = bytes_of(file);

  auto const why = home.refused();

  CHECK(why.code == failure_code::damaged);
  CHECK(names(why, "is missing: the file ends at byte"));
  CHECK(bytes_of(file) == before);
}

TEST_CASE("a store of a newer schema is refused and left as it is") {
  for (std::string const which : {"disk", "boot"}) {
    INFO(which);
    test_home home;
    home.open();
    auto const file = home.how.home / "store" / which / "data.mdb";
    {
      auto const store = open_raw(home.how.home / "store" / which);
      write_transaction in(*store);
      in.put<schema_codec>(schema_codec::name, schema_version + 1);
      taken(std::move(in).commit());
    }
    auto const before = bytes_of(file);
    auto const disk_before = bytes_of(home.disk() / "data.mdb");

    auto const why = home.refused();

    CHECK(why.code == failure_code::newer);
    CHECK(names(why, "found schema 2, wanted at most 1"));
    CHECK(bytes_of(file) == before);
    CHECK(bytes_of(home.disk() / "data.mdb") == disk_before);
  }
}

TEST_CASE("a row that does not decode is damaged, named, and the others are read") {
  test_home home;
  commit_disk(*home.open(), {put_session{session_row(1)}, put_cell{final_cell(1, 1)}, put_cell{final_cell(1, 2)}});
  {
    auto const store = open_raw(home.disk());
    write_transaction in(*store);
    auto value = std::string(*in.get(table::cells, key_of(1, cell_number{2})));
    value[40] = static_cast<char>(value[40] ^ 1);
    in.put_bytes(table::cells, key_of(1, cell_number{2}), value);
    taken(std::move(in).commit());
  }
  auto const store = home.open();

  auto const damaged = store->cell(1, 2);

  REQUIRE_FALSE(damaged.has_value());
  CHECK(damaged.error().code == failure_code::damaged);
  CHECK(names(damaged.error(), "table cells, key 00000000000000010000000000000002"));
  CHECK_FALSE(store->cells(1, 0, 10).has_value());
  CHECK(taken(store->cell(1, 1))->status == cell_status::ok);
  commit_disk(*store, {put_cell{final_cell(1, 3)}});
  CHECK(taken(store->cell(1, 3)).has_value());
}

TEST_CASE("damage in boot does not bring an older row of disk to light") {
  test_home home;
  {
    auto const store = home.open();
    commit_disk(*store, {put_cell{queued_cell(1, 1)}});
    commit_boot(*store, {put_cell{running_cell(1, 1)}});
  }
  {
    auto const boot = open_raw(home.boot());
    write_transaction in(*boot);
    in.put_bytes(table::cells, key_of(1, cell_number{1}), std::string("\x01\x01 not a cell", 13));
    taken(std::move(in).commit());
  }

  auto const store = home.open();

  auto const row = store->cell(1, 1);
  REQUIRE_FALSE(row.has_value());
  CHECK(row.error().code == failure_code::damaged);
}
