// Spool and journal as files; what may be in them is in the golden vectors.
#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include <sys/stat.h>

#include "actors/link/crc32.hpp"
#include "actors/link/frame.hpp"
#include "actors/link/journal.hpp"
#include "actors/link/spool.hpp"

using namespace holdfast::link;
namespace fs = std::filesystem;

namespace {

/// A directory for one test, gone with it.
struct scratch {
  fs::path path;
  scratch() {
    auto name = (fs::temp_directory_path() / "holdfast-link-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()));
    path = name;
  }
  scratch(scratch const&) = delete;
  scratch& operator=(scratch const&) = delete;
  ~scratch() { fs::remove_all(path); }

  fs::path write(std::string const& name, std::string const& bytes) const {
    std::ofstream{path / name, std::ios::binary} << bytes;
    return path / name;
  }
};

std::string record(std::uint64_t seq, std::string const& payload) {
  std::string out;
  detail::append_big_endian(out, static_cast<std::uint32_t>(payload.size()));
  detail::append_big_endian(out, seq);
  detail::append_big_endian(out, crc32(payload));
  return out + payload;
}

std::string spool_of(std::string const& records) {
  std::string out = "HFSPOOL1";
  detail::append_big_endian(out, std::uint64_t{64} + records.size());
  out.resize(64);
  out += records;
  out.resize(spool_bytes);
  return out;
}

}  // namespace

TEST_CASE("a spool file is read") {
  scratch const here;
  auto const path = here.write("spool", spool_of(record(3, "{}") + record(5, "x")));
  left_out left;

  auto const records = read_spool(path, &left);

  REQUIRE(records);
  REQUIRE(records->size() == 2);
  CHECK((*records)[1].seq == 5);
  CHECK((*records)[1].payload == "x");
  CHECK(left.bytes == 0);
}

TEST_CASE("a damaged spool file gives what is whole and says what it left") {
  scratch const here;
  auto const whole = record(3, "{}");
  auto damaged = record(5, "hello");
  damaged.back() = '?';
  left_out left;

  auto const records = read_spool(here.write("spool", spool_of(whole + damaged)), &left);

  REQUIRE(records);
  CHECK(records->size() == 1);
  CHECK(left.bytes == damaged.size());
  CHECK(left.reason == "the checksum of seq 5 is wrong");
}

TEST_CASE("a full spool is read to its last byte") {
  scratch const here;
  auto const whole = record(1, std::string(spool_bytes - 64 - 16, 'x'));

  auto const records = read_spool(here.write("spool", spool_of(whole)));

  REQUIRE(records);
  CHECK(records->size() == 1);
}

TEST_CASE("a spool that grew beyond its size is read up to there") {
  scratch const here;
  auto image = spool_of(record(1, "x"));
  image += std::string(1 << 20, 'y');

  auto const records = read_spool(here.write("spool", image));

  REQUIRE(records);
  CHECK(records->size() == 1);
}

TEST_CASE("what is no spool file is refused with path and reason") {
  scratch const here;

  SECTION("missing") {
    auto const path = here.path / "spool";
    CHECK(read_spool(path).error() == "cannot read spool " + path.string() + ": No such file or directory");
  }
  SECTION("a directory") {
    CHECK(read_spool(here.path).error() == "cannot read spool " + here.path.string() + ": found no regular file");
  }
  SECTION("a FIFO without a writer does not block") {
    auto const path = here.path / "spool";
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    CHECK(read_spool(path).error() == "cannot read spool " + path.string() + ": found no regular file");
  }
  SECTION("a link to another file") {
    auto const target = here.write("target", spool_of(record(1, "x")));
    fs::create_symlink(target, here.path / "spool");
    CHECK_FALSE(read_spool(here.path / "spool"));
  }
  SECTION("empty") {
    auto const path = here.write("spool", "");
    CHECK(read_spool(path).error() == "cannot read spool " + path.string() + ": found 0 bytes, wanted at least 64");
  }
  SECTION("a journal") {
    auto image = spool_of("");
    image.replace(0, 8, "HFJRNL01");
    auto const path = here.write("spool", image);
    CHECK(read_spool(path).error() == "cannot read spool " + path.string() + ": found no spool, wanted the magic HFSPOOL1");
  }
}

TEST_CASE("a journal file is read, one that is cut short is refused") {
  scratch const here;
  std::string image = "HFJRNL01";
  detail::append_big_endian(image, std::uint64_t{16 + 3 + 2});
  image.resize(24);
  detail::append_big_endian(image, std::uint64_t{9});
  detail::append_big_endian(image, std::uint64_t{1});
  image.resize(64);
  image += std::string("\0\0\0\2\1\0\0\3\0\0\0\0\0\0\0\7c-1hi", 21);
  image.resize(journal_bytes);

  auto const journal = read_journal(here.write("journal", image));
  auto const cut = read_journal(here.write("cut", image.substr(0, 1000)));

  REQUIRE(journal);
  REQUIRE(journal->records.size() == 1);
  CHECK(journal->records[0].cell.text == "c-1");
  CHECK(journal->records[0].stream == output_stream::out);
  CHECK(journal->records[0].offset == 7);
  CHECK(journal->records[0].text == "hi");
  CHECK(journal->out_bytes == 9);
  CHECK(journal->err_bytes == 1);
  CHECK(cut.error() == "cannot read journal " + (here.path / "cut").string() + ": found 1000 bytes, wanted 262144");
}
