#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

#include "actors/core/output_log.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace holdfast;
using core::output_log;
using holdfast::test::temporary_directory;
using link::output_stream;

TEST_CASE("a replayed output frame changes nothing") {
  temporary_directory home;
  output_log log(home.path() / "1" / "1", 1024);

  CHECK(log.append(output_stream::out, 0, "hello "));
  CHECK(log.append(output_stream::err, 6, "world"));
  CHECK(log.append(output_stream::out, 0, "hello "));
  CHECK(log.append(output_stream::err, 6, "world"));

  auto const page = log.read(0, 100);
  REQUIRE(page.chunks.size() == 2);
  CHECK(page.chunks[0].text == "hello ");
  CHECK(page.chunks[1].text == "world");
  CHECK(page.chunks[1].which == output_stream::err);
  CHECK(page.next_offset == 11);
}

TEST_CASE("a frame that overlaps what is there adds only its new part") {
  temporary_directory home;
  output_log log(home.path() / "cell", 1024);

  CHECK(log.append(output_stream::out, 0, "abc"));
  CHECK(log.append(output_stream::out, 1, "bcde"));

  CHECK(log.read(0, 100).chunks.at(0).text == "abcde");
}

TEST_CASE("a gap is told as dropped") {
  temporary_directory home;
  output_log log(home.path() / "cell", 1024);

  CHECK(log.append(output_stream::out, 0, "ab"));
  CHECK(log.append(output_stream::out, 10, "cd"));

  auto const page = log.read(0, 100);
  REQUIRE(page.dropped.size() == 1);
  CHECK(page.dropped[0].from == 2);
  CHECK(page.dropped[0].to == 10);
  CHECK(page.next_offset == 12);
}

TEST_CASE("text beyond what is kept is counted, and no character is split at the edge") {
  temporary_directory home;
  output_log log(home.path() / "cell", 4);

  CHECK(log.append(output_stream::out, 0,
                   "abc\xc3\xa9"
                   "f"));

  CHECK(log.read(0, 100).chunks.at(0).text == "abc");
  CHECK(log.end() == 6);
}

TEST_CASE("a page never splits a character and goes on where it ended") {
  temporary_directory home;
  output_log log(home.path() / "cell", 1024);
  CHECK(log.append(output_stream::out, 0,
                   "a\xe2\x82\xac"
                   "b"));

  auto const first = log.read(0, 2);
  auto const second = log.read(first.next_offset, 3);

  CHECK(first.chunks.at(0).text == "a");
  CHECK(second.chunks.at(0).text == "\xe2\x82\xac");
  CHECK(second.next_offset == 4);
}

TEST_CASE("a page has a whole character, however little is asked for") {
  temporary_directory home;
  output_log log(home.path() / "cell", 1024);
  CHECK(log.append(output_stream::out, 0,
                   "\xf0\x9f\x98\x80"
                   "b"));

  auto const first = log.read(0, 1);
  auto const second = log.read(first.next_offset, 1);

  REQUIRE(first.chunks.size() == 1);
  CHECK(first.chunks.at(0).text == "\xf0\x9f\x98\x80");
  CHECK(first.dropped.empty());
  CHECK(second.chunks.at(0).text == "b");
}

TEST_CASE("a page that ends before a character of one record takes nothing of the next one") {
  temporary_directory home;
  output_log log(home.path() / "cell", 1024);
  CHECK(log.append(output_stream::out, 0, "a\xe2\x82\xac"));
  CHECK(log.append(output_stream::out, 4, "b"));

  auto const first = log.read(0, 3);
  auto const second = log.read(first.next_offset, 100);

  CHECK(first.dropped.empty());
  CHECK(first.next_offset == 1);
  CHECK(second.dropped.empty());
  CHECK(second.chunks.at(0).text ==
        "\xe2\x82\xac"
        "b");
}

TEST_CASE("a torn last record is cut off when the log is opened again") {
  temporary_directory home;
  auto const file = home.path() / "cell";
  CHECK(output_log(file, 1024).append(output_stream::out, 0, "whole"));
  auto const whole = std::filesystem::file_size(file);
  std::ofstream(file, std::ios::app | std::ios::binary) << "torn record";

  output_log log(file, 1024);
  CHECK(log.end() == 5);
  CHECK(log.append(output_stream::out, 5, "!"));

  CHECK(log.read(0, 100).chunks.at(0).text == "whole!");
  CHECK(std::filesystem::file_size(file) == whole + 16 + 1);
}

TEST_CASE("a long stream is summarized as its head and its tail, with the exact total") {
  temporary_directory home;
  output_log log(home.path() / "cell", std::size_t{1} << 20);
  std::string const line(1000, 'x');
  for (std::uint64_t i = 0; i < 100; ++i) CHECK(log.append(output_stream::out, i * 1000, line));

  auto const summary = log.summarize(output_stream::out);

  CHECK(summary.bytes == 100'000);
  CHECK(summary.head.size() == 48 * 1024);
  CHECK(summary.tail.size() == 16 * 1024);
  CHECK(log.summarize(output_stream::err).bytes == 0);
}

TEST_CASE("many small records and large ones between them are all read back") {
  temporary_directory home;
  output_log log(home.path() / "cell", std::size_t{1} << 20);
  std::string all;
  for (std::size_t number = 0; number < 3000; ++number) {
    auto const text = number % 500 == 0 ? std::string(40'000, 'x') : std::to_string(number) + "\n";
    CHECK(log.append(number % 2 ? output_stream::out : output_stream::err, all.size(), text));
    all += text;
  }

  output_log reader(home.path() / "cell", std::size_t{1} << 20);
  CHECK(reader.end() == all.size());
  std::string read;
  for (auto const& each : reader.read(0, all.size()).chunks) read += each.text;
  CHECK(read == all);
  CHECK(reader.bytes(output_stream::out) + reader.bytes(output_stream::err) == all.size());
}
