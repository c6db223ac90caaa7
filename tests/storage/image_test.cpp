// What LMDB would follow into SIGBUS or an assertion is found before it looks; what LMDB itself wrote is always sound.
#include "storage/image.hpp"

#include <chrono>
#include <iostream>
#include <random>

#include <lmdb.h>
#include <stdlib.h>

#include "storage/transaction.hpp"
#include "tests/storage/raw_stores.hpp"

using namespace holdfast;
using namespace holdfast::storage;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t page = 4096;

cell_record cell_of(cell_number number, std::size_t bytes) {
  auto row = final_cell(1 + number % 7, number);
  row.result = std::string(bytes, 'r');
  return row;
}

/// A home whose `disk` has rows of all lengths, pages that are free and lists of them, a table deeper than one page.
void fill(stores& into, std::mt19937& random, cell_number rows) {
  for (cell_number number = 1; number <= rows;) {
    changes unit;
    for (int i = 0; i < 50 && number <= rows; ++i, ++number) {
      auto const bytes = random() % 10 == 0 ? random() % 40'000 : random() % 500;
      unit.push_back(put_cell{cell_of(number, bytes)});
      if (number % 3 == 0) unit.push_back(expire_cell{1 + (number - 2) % 7, number - 2});
    }
    commit_disk(into, unit);
  }
}

void write(fs::path const& file, std::string const& bytes) { std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes; }

/// A closed home with rows, and what its two files are then.
struct filled_home {
  filled_home(std::mt19937& random, cell_number rows) {
    fill(*home.open(), random, rows);
    sound = bytes_of(file);
    boot = bytes_of(home.boot() / "data.mdb");
  }
  test_home home;
  fs::path file = home.disk() / "data.mdb";
  std::string sound, boot;  // of `file`, and of the other store's
};

/// Opens, reads and writes what a daemon would. Comes back, or the process ends: that is the test.
bool opens(test_home const& home) {
  auto opened = stores::open(home.how);
  if (!opened) {
    INFO(opened.error().text);
    CHECK(opened.error().code == failure_code::damaged);
    CHECK(opened.error().text.find(home.disk().string()) != std::string::npos);
    CHECK(opened.error().text.find("restore it from a backup, or move it away") != std::string::npos);
    return false;
  }
  for (session_number session = 1; session <= 7; ++session) (void)(*opened)->cells(session, 0, 10'000);
  (void)(*opened)->sessions("", std::nullopt, 0, 1000);
  (void)(*opened)->commit_disk(std::vector<changes>{{put_cell{cell_of(1'000'000, 9000)}}});
  return true;
}

}  // namespace

TEST_CASE("whatever LMDB commits is a sound image") {
  std::uint32_t const seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 20; ++round) {
    temporary_directory directory;
    auto const store = open_raw(directory.path());
    for (int step = 0; step < 60; ++step) {
      write_transaction in(*store);
      for (auto count = random() % 60; count > 0; --count) {
        auto const into = static_cast<table>(random() % table_count);
        if (into == table::meta) continue;
        std::string key(1 + random() % (random() % 5 == 0 ? 500 : 12), '\0');
        for (auto& byte : key) byte = static_cast<char>(random() % 40);
        auto const length = random() % 8 == 0 ? random() % 60'000 : random() % 900;
        switch (random() % 8) {
          case 0:
          case 1: in.erase(into, key); break;
          case 2: {
            cursor walk(in, into);  // erases a run: pages merge and are given up
            for (auto left = random() % 40; left > 0 && walk.at_least(key); --left) walk.erase();
            break;
          }
          case 3:  // a shorter value over a longer one keeps its pages
            in.put_bytes(into, key, std::string(length + 9000, 'a'));
            [[fallthrough]];
          default: in.put_bytes(into, key, std::string(length, 'b'));
        }
      }
      if (random() % 30 == 0) in.clear(static_cast<table>(1 + random() % (table_count - 1)));
      if (random() % 5 != 0) taken(std::move(in).commit());  // else abandoned
      auto const checked = check_image(directory.path() / "data.mdb");
      INFO((checked ? std::string() : checked.error().text));
      REQUIRE(checked.has_value());
    }
  }
}

TEST_CASE("no page overwritten with anything ends the process, and what is refused is left as it is") {
  std::uint32_t const seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  filled_home const filled(random, 600);
  auto const& [home, file, sound, boot] = filled;
  REQUIRE(sound.size() > 60 * page);

  int refused = 0;
  for (std::size_t at = 0; at < sound.size(); at += page) {
    auto bytes = sound;
    switch (random() % 4) {
      case 0: bytes.replace(at, page, page, '\0'); break;
      case 1: bytes.replace(at, page, page, '\xff'); break;
      case 2: bytes.replace(at, page, sound, random() % (sound.size() / page) * page, page); break;  // another page
      default:
        for (std::size_t i = at + random() % 64; i < at + page; i += 1 + random() % 64) bytes[i] = static_cast<char>(random());
    }
    INFO("page " << at / page);
    write(file, bytes);
    if (!opens(home)) {
      ++refused;
      CHECK(bytes_of(file) == bytes);
    }
    write(home.boot() / "data.mdb", boot);
  }
  CHECK(refused > 20);
}

TEST_CASE("no bit flipped in a page's header or entries ends the process") {
  std::uint32_t const seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  filled_home const filled(random, 200);
  auto const& [home, file, sound, boot] = filled;
  for (int round = 0; round < 400; ++round) {
    auto bytes = sound;
    auto const at = random() % (sound.size() / page) * page + random() % 200;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    INFO("byte " << at);
    write(file, bytes);
    (void)opens(home);
    write(home.boot() / "data.mdb", boot);
  }
}

TEST_CASE("a page marked as one that is only in memory does not end the process: LMDB would write it in place") {
  std::mt19937 random(7);
  filled_home const filled(random, 60);
  auto const& [home, file, sound, boot] = filled;
  int refused = 0;
  for (std::size_t at = 2 * page; at < sound.size(); at += page) {
    for (auto const flag : {0x10, 0x4000, 0x8000}) {  // P_DIRTY, P_LOOSE, P_KEEP
      auto bytes = sound;
      auto& byte = bytes[at + (flag > 0xff ? 11 : 10)];
      byte = static_cast<char>(byte | (flag > 0xff ? flag >> 8 : flag));
      INFO("page " << at / page << ", flag " << flag);
      write(file, bytes);
      if (!opens(home)) ++refused;
      write(home.boot() / "data.mdb", boot);
    }
  }
  CHECK(refused > 20);
}

TEST_CASE("a store cut at any page is damaged or whole, never the end of the process; an empty file is no new store") {
  std::mt19937 random(7);
  filled_home const filled(random, 300);
  auto const& [home, file, sound, boot] = filled;
  for (std::size_t size = 0; size < sound.size(); size += size < 3 * page ? 512 : 7 * page) {
    INFO(size << " bytes");
    write(file, sound.substr(0, size));
    if (size < sound.size() / 2) {
      CHECK_FALSE(opens(home));
      CHECK(fs::file_size(file) == size);
    } else {
      (void)opens(home);
    }
  }
}

TEST_CASE("an empty boot is damaged as well") {
  test_home home;
  home.open();
  fs::resize_file(home.boot() / "data.mdb", 0);

  auto const why = home.refused();

  CHECK(why.code == failure_code::damaged);
  CHECK(why.text.find((home.boot() / "data.mdb").string()) != std::string::npos);
}

TEST_CASE("the look at 100,000 rows", "[.cost]") {
  test_home home;
  {
    auto const store = home.open();
    for (cell_number number = 1; number <= 100'000;) {
      changes unit;
      for (int i = 0; i < 5000; ++i, ++number) unit.push_back(put_cell{cell_of(number, 600)});
      commit_disk(*store, unit);
    }
  }
  auto const file = home.disk() / "data.mdb";
  for (int round = 0; round < 5; ++round) {
    auto const began = std::chrono::steady_clock::now();
    taken(check_image(file));
    auto const took = std::chrono::steady_clock::now() - began;
    std::cout << fs::file_size(file) / 1024 << " KiB: " << std::chrono::duration<double, std::milli>(took).count() << " ms\n";
  }
}
