#include <catch2/catch.hpp>

#include <random>

#include "actors/core/plain_text.hpp"
#include "actors/link/utf8.hpp"

using namespace holdfast;
using namespace holdfast::core;

TEST_CASE("colours, cursor moves, titles and hyperlinks are taken out") {
  CHECK(plain("\x1b[1;31mred\x1b[0m") == "red");
  CHECK(plain("a\x1b[2K\x1b[3Ab") == "ab");
  CHECK(plain("\x1b]0;a title\adone") == "done");
  CHECK(plain("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\") == "link");
  CHECK(plain("\x1b(Bplain\x1b=") == "plain");
  CHECK(plain("\xc2\x9b"
              "31mred") == "red");
}

TEST_CASE("control characters are taken out, tabs and line ends stay") {
  CHECK(plain(std::string_view("a\0b\x07\tc\nd\x7f", 9)) == "ab\tc\nd");
}

TEST_CASE("an escape sequence that is never ended takes no other line with it") {
  CHECK(plain("\x1b]0;endless\nnext") == "\nnext");
  CHECK(plain("\x1b[31") == "");
  CHECK(plain("\x1b") == "");
}

TEST_CASE("a line that was written over is its last state") {
  CHECK(plain("  1%\r 50%\r100%\ndone\n") == "100%\ndone\n");
  CHECK(plain("  1%\r 50%\r") == " 50%");
  CHECK(plain("one\r\ntwo\r\n") == "one\ntwo\n");
  CHECK(plain("1%\r\x1b[K2%\x1b[K\r") == "2%");
  CHECK(plain("1%\b\b2%") == "2%");
  CHECK(plain("x\xc3\xa9\b!") == "x!");
}

TEST_CASE("bytes that are no UTF-8 are replaced") {
  CHECK(plain("a\xff"
              "b") ==
        "a\xef\xbf\xbd"
        "b");
}

TEST_CASE("the front consists of whole lines when they use most of the limit") {
  auto const part = plain_head("one\ntwo\nthree\n", 9);

  CHECK(part.text == "one\ntwo\n");
  CHECK(part.raw_bytes == 8);
}

TEST_CASE("a long line is split between characters, and its raw bytes are counted with their escapes") {
  auto const head = plain_head("\x1b[1m\xc3\xa9\xc3\xa9\xc3\xa9", 5);
  auto const tail = plain_tail("\xc3\xa9\xc3\xa9\xc3\xa9\x1b[0m", 5);

  CHECK(head.text == "\xc3\xa9\xc3\xa9");
  CHECK(head.raw_bytes == 8);
  CHECK(tail.text == "\xc3\xa9\xc3\xa9");
  CHECK(tail.raw_bytes == 8);
}

TEST_CASE("a progress bar costs what its last state needs") {
  std::string bar;
  for (auto percent = 0; percent <= 100; ++percent) bar += "\r" + std::to_string(percent) + "%";

  CHECK(plain_head(bar + "\n", 5).text == "100%\n");
  CHECK(plain_tail("before\n" + bar, 4).text == "100%");
  CHECK(plain_tail("before\n" + bar, 4).raw_bytes == bar.size());
}

TEST_CASE("the end is whole lines when they use most of the limit") {
  auto const part = plain_tail("one\ntwo\nthree\n", 11);

  CHECK(part.text == "two\nthree\n");
  CHECK(part.raw_bytes == 10);
}

TEST_CASE("a shortened line keeps its front and its end and stays one line") {
  CHECK(shortened_line("short", 10) == "short");
  CHECK(shortened_line("a\nb", 10) == "a b");
  auto const line = shortened_line("[state lost: " + std::string(200, 'x') + ". define them again.]", 60);

  CHECK(line.size() <= 60);
  CHECK(line.starts_with("[state lost: "));
  CHECK(line.ends_with("again.]"));
}

TEST_CASE("whatever the text and the limit, both ends fit, are UTF-8 and never overlap") {
  auto const seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  std::vector<std::string> const pieces{"a",
                                        "\xc3\xa9",
                                        "\xe2\x82\xac",
                                        "\xf0\x9f\x98\x80",
                                        "\n",
                                        "\r",
                                        "\b",
                                        "\x1b[31m",
                                        "\x1b]0;t\a",
                                        "\x1b",
                                        "\xff",
                                        "\xc2\x9b"
                                        "1m",
                                        std::string(1, '\0'),
                                        "word word "};
  for (auto round = 0; round < 3000; ++round) {
    std::string raw;
    for (auto count = random() % 60; count > 0; --count) raw += pieces[random() % pieces.size()];
    auto const limit = random() % 40;

    auto const head = plain_head(raw, limit);
    REQUIRE(head.raw_bytes <= raw.size());
    auto const tail = plain_tail(std::string_view(raw).substr(head.raw_bytes), limit);

    REQUIRE(head.text.size() <= limit);
    REQUIRE(tail.text.size() <= limit);
    REQUIRE(head.raw_bytes + tail.raw_bytes <= raw.size());
    REQUIRE(link::is_utf8(head.text));
    REQUIRE(link::is_utf8(tail.text));
    REQUIRE(head.text.find('\x1b') == std::string::npos);
  }
}
