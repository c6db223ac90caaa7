// The text of a recorded result: what is read back from its JSON text and its output log.
#include <catch2/catch.hpp>

#include "actors/base/defaults.hpp"
#include "actors/core/output_log.hpp"
#include "actors/core/text_of_cell.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace holdfast;
using namespace holdfast::core;
using holdfast::test::temporary_directory;
using link::output_stream;

namespace {

struct recorded {
  temporary_directory home;
  result_facts facts;

  recorded() {
    facts.key = {"ada", "", "main"};
    facts.row.cell = cell_id("c-1");
    facts.row.status = storage::cell_status::ok;
    facts.row.started_at = 1000;
    facts.row.finished_at = 4200;
  }

  std::filesystem::path file() const { return home.path() / "output"; }
  void wrote(output_stream which, std::string_view text) {
    output_log log(file(), defaults::output_kept);
    CHECK(log.append(which, log.end(), text));
    facts.row.output_bytes = log.end();
    facts.out = log.summarize(output_stream::out);
    facts.err = log.summarize(output_stream::err);
  }
  std::string text(std::size_t limit = 100'000) const { return text_of(facts.row, result_json(facts), file(), limit); }
};

}  // namespace

TEST_CASE("both streams stand in the order in which they were written") {
  recorded cell;
  for (auto line = 0; line < 3; ++line) {
    cell.wrote(output_stream::out, "o" + std::to_string(line) + "\n");
    cell.wrote(output_stream::err, "e" + std::to_string(line) + "\n");
  }

  CHECK(cell.text() == "o0\ne0\no1\ne1\no2\ne2\n[cell c-1: ok in 3.2 s]");
}

TEST_CASE("the text of a record has every field that its facts had") {
  recorded cell;
  cell.facts.row.status = storage::cell_status::lost;
  cell.facts.death = death_facts{"signal", "SIGSEGV", {}, "last words"};
  cell.facts.kernel = kernel_facts{};
  cell.facts.kernel->ended = cell.facts.kernel->state_lost = true;
  cell.facts.notices = {{notice_id("n-1"), 1, "reattached", "carried on", "{}", 1}};
  cell.wrote(output_stream::out, "before");

  CHECK(cell.text() ==
        "[state lost: kernel killed by SIGSEGV. Variables and imports are gone; define them again.]\n[reattached: carried on]\n"
        "before\nlast words\n[cell c-1: lost in 3.2 s: effects unknown, not run again]");
}

TEST_CASE("displays are read with their richest form and the size of their bytes") {
  auto const read = read_text_facts(
      R"({"displays":[{"index":0,"data":{"text/plain":"fig","image/png":"AAAAAA=="},"omitted":[]},)"
      R"({"index":1,"data":{"text/plain":"x"},"omitted":[{"mime":"image/png","bytes":3000000,"kept":true}]},{"index":2,"data":{"text/html":"<b>"}}]})");

  REQUIRE(read.facts.displays.size() == 3);
  CHECK(read.facts.displays[0].mime == "image/png");
  CHECK(read.facts.displays[0].bytes == 4);
  CHECK(read.facts.displays[0].attached);
  CHECK(read.facts.displays[1].mime == "image/png");
  CHECK(read.facts.displays[1].bytes == 3'000'000);
  CHECK(read.facts.displays[1].is_kept);
  CHECK_FALSE(read.facts.displays[1].attached);
  CHECK(read.facts.displays[2].bytes == 3);
}

TEST_CASE("a picture goes before a table, and the plain text of what is neither a picture nor the value is shown") {
  auto const read =
      read_text_facts(R"({"displays":[{"index":0,"main":false,"data":{"text/html":"<t>","text/plain":"a b","image/png":"AAAA"}},)"
                      R"({"index":1,"main":false,"data":{"text/html":"<t>","text/plain":"a b"}},)"
                      R"({"index":2,"main":true,"data":{"text/html":"<t>","text/plain":"a b"}},)"
                      R"({"index":3,"main":false,"data":{"text/html":"<t>","text/plain":"a b"},)"
                      R"("omitted":[{"mime":"image/png","bytes":3000000,"kept":true}]}]})");

  auto const& displays = read.facts.displays;
  REQUIRE(displays.size() == 4);
  CHECK(displays[0].mime == "image/png");
  CHECK(displays[0].text.empty());
  CHECK(displays[1].mime == "text/html");
  CHECK(displays[1].text == "a b");
  CHECK(displays[2].text.empty());
  CHECK(displays[3].mime == "text/html");
}

TEST_CASE("text that is no result is survived") {
  CHECK_NOTHROW(read_text_facts("not json"));
  CHECK_NOTHROW(read_text_facts("[]"));
  CHECK_NOTHROW(read_text_facts(R"({"displays":[1],"notices":{},"error":[],"status":7,"kernel":"k"})"));
}

TEST_CASE("of long output only the ends are read, and the text says where to read on") {
  recorded cell;
  for (auto line = 0; line < 30'000; ++line) {
    auto const number = std::to_string(100'000 + line);
    cell.facts.row.output_bytes += number.size() + 1;
  }
  std::string all;
  for (auto line = 0; line < 30'000; ++line) all += std::to_string(100'000 + line) + "\n";
  for (std::size_t at = 0; at < all.size(); at += 60'000) cell.wrote(output_stream::out, all.substr(at, 60'000));

  auto const text = cell.text(4096);

  CHECK(text.size() <= 4096);
  CHECK(text.starts_with("100000\n"));
  CHECK(text.ends_with("129999\n[cell c-1: ok in 3.2 s]"));
  auto const cut = text.find("[... ");
  CHECK(text.find("offset=" + std::to_string(cut) + ";") != text.npos);
  CHECK(text.find(" of 210000 bytes left out") != text.npos);
}

TEST_CASE("the end of output beyond what is kept comes from the result") {
  recorded cell;
  cell.wrote(output_stream::out, std::string(1000, 'x') + "\n");
  auto const lost_in_file = std::uint64_t{20'000'000};
  cell.facts.out = {std::string(48 * 1024, 'x'), std::string(16 * 1024 - 8, 'y') + "the end\n", 1001 + lost_in_file};
  cell.facts.row.output_bytes = cell.facts.out.bytes;

  auto const text = cell.text(4096);

  CHECK(text.starts_with("xxx"));
  CHECK(text.find(" of 20001001 bytes left out; read on: cell.output cell=c-1 offset=1001;") != text.npos);
  CHECK(text.ends_with("ythe end\n[cell c-1: ok in 3.2 s]"));
}

TEST_CASE("output whose file is gone comes from the result, one stream after the other") {
  recorded cell;
  cell.facts.out = {"out\n", "", 4};
  cell.facts.err = {"err\n", "", 4};
  cell.facts.row.output_bytes = 8;

  CHECK(cell.text() == "out\nerr\n[cell c-1: ok in 3.2 s]");
}
