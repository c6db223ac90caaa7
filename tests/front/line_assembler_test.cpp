// Bytes to lines, in bounded memory.
#include <catch2/catch.hpp>

#include <random>
#include <vector>

#include "actors/front/line_assembler.hpp"

namespace holdfast::front {
namespace {

using time_point = line_assembler::time_point;
using namespace std::chrono_literals;

struct recorded {
  std::vector<std::string> lines;
  int overlong = 0;

  void feed(line_assembler& assembler, std::string_view bytes, time_point now = {}) {
    assembler.feed(
        bytes, now, [this](std::string_view line) { return lines.emplace_back(line), true; }, [this] { return ++overlong, true; });
  }
};

TEST_CASE("lines come out whole however their bytes come in") {
  auto const seed = Catch::rngSeed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  std::string text;
  std::vector<std::string> wanted;
  for (int i = 0; i < 200; ++i) {
    wanted.emplace_back(random() % 50, static_cast<char>('a' + i % 26));
    text += wanted.back() + "\n";
  }
  line_assembler assembler(100);
  recorded seen;

  for (std::string_view left = text; !left.empty();) {
    auto const count = std::min<std::size_t>(1 + random() % 70, left.size());
    seen.feed(assembler, left.substr(0, count));
    left.remove_prefix(count);
  }

  CHECK(seen.lines == wanted);
  CHECK(seen.overlong == 0);
  CHECK_FALSE(assembler.began_at());
}

TEST_CASE("a line at the limit is taken, one beyond it is told once and skipped unbuffered") {
  line_assembler assembler(10'000);
  recorded seen;

  seen.feed(assembler, std::string(10'000, 'a') + "\n");
  seen.feed(assembler, std::string(8'000, 'b'));
  for (int i = 0; i < 1000; ++i) seen.feed(assembler, std::string(4096, 'b'));
  CHECK(assembler.buffered_bytes() < 100);
  seen.feed(assembler, "b\nnext\n");

  CHECK(seen.lines == std::vector<std::string>{std::string(10'000, 'a'), "next"});
  CHECK(seen.overlong == 1);
}

TEST_CASE("the buffer of a long line is given back") {
  line_assembler assembler(1 << 20);
  recorded seen;

  seen.feed(assembler, std::string(1 << 20, 'a'));
  CHECK(assembler.buffered_bytes() >= 1 << 20);
  seen.feed(assembler, "\n");

  CHECK(seen.lines.size() == 1);
  CHECK(assembler.buffered_bytes() < 5000);
}

TEST_CASE("an incomplete line is as old as its first byte") {
  line_assembler assembler(100);
  recorded seen;

  seen.feed(assembler, "done\n{", time_point(1s));
  seen.feed(assembler, "more", time_point(5s));
  CHECK(assembler.began_at() == time_point(1s));
  seen.feed(assembler, "\n", time_point(6s));
  CHECK_FALSE(assembler.began_at());
}

TEST_CASE("who is closed by a line gets no further one") {
  line_assembler assembler(100);
  int lines = 0;

  assembler.feed(
      "a\nb\n", {}, [&](std::string_view) { return ++lines, false; }, [] { return true; });

  CHECK(lines == 1);
}

}  // namespace
}  // namespace holdfast::front
