#include "actors/env/per_call_output.hpp"

#include <catch2/catch.hpp>

#include "actors/base/defaults.hpp"
#include "actors/link/utf8.hpp"

using namespace holdfast;
using env::per_call_output;
using link::output_stream;

TEST_CASE("pieces have the offsets of one combined text, and one stream's text in turn is one piece") {
  per_call_output output;

  output.add(output_stream::out, "ab");
  output.add(output_stream::out, "c");
  output.add(output_stream::err, "de");
  output.add(output_stream::out, "f");

  CHECK(output.waiting() == 6);
  auto const pieces = output.take();
  REQUIRE(pieces.size() == 3);
  CHECK((pieces[0].text == "abc" && pieces[0].offset == 0 && pieces[0].which == output_stream::out));
  CHECK((pieces[1].text == "de" && pieces[1].offset == 3 && pieces[1].which == output_stream::err));
  CHECK((pieces[2].text == "f" && pieces[2].offset == 5));
  CHECK(output.waiting() == 0);
  CHECK(output.finish().empty());
}

TEST_CASE("a character is joined over reads, what is none is replaced, and what lacks its end is replaced at the end") {
  per_call_output output;

  output.add(output_stream::out, "\xe2\x82");
  output.add(output_stream::err, "x");
  output.add(output_stream::out, "\xac\xff\xc3");
  auto const pieces = output.take();
  auto const last = output.finish();

  REQUIRE(pieces.size() == 2);
  CHECK(pieces[0].text == "x");
  CHECK(pieces[1].text == "\xe2\x82\xac\xef\xbf\xbd");
  REQUIRE(last.size() == 1);
  CHECK((last[0].text == "\xef\xbf\xbd" && last[0].offset == 7));
  CHECK(output.bytes(output_stream::out) == 9);
}

TEST_CASE("beyond what is kept all is counted and the newest of each stream comes at the end") {
  per_call_output output;
  std::string const block(defaults::mib, 'x');
  auto const blocks = defaults::output_kept / block.size() + 3;
  std::size_t sent = 0;

  for (std::size_t i = 0; i < blocks; ++i) {
    output.add(output_stream::out, block);
    for (auto const& each : output.take()) sent += each.text.size();
  }
  output.add(output_stream::err, "late");
  auto const last = output.finish();

  CHECK(sent == defaults::output_kept);
  CHECK(output.bytes(output_stream::out) == blocks * block.size());
  REQUIRE(last.size() == 2);
  CHECK((last[0].which == output_stream::out && last[0].text.size() >= defaults::stream_tail));
  CHECK(last[0].offset + last[0].text.size() == last[1].offset);
  CHECK((last[1].text == "late" && last[1].offset + 4 == blocks * block.size() + 4));
}

TEST_CASE("what an interpreter says of its end is read, and nothing else is") {
  auto const exited = env::read_per_call_reply(R"({"status":"exit","exit_code":3})");
  REQUIRE(exited);
  CHECK((exited->status == storage::cell_status::exit && exited->exit_code == 3));
  auto const failed = env::read_per_call_reply(R"({"status":"error","error":{"name":"E","message":"m","traceback":"t"}})");
  REQUIRE(failed);
  CHECK(failed->error == link::cell_error{"E", "m", "t"});
  for (auto const* text : {"", "1", "{}", R"({"status":"lost"})", R"({"status":"error","error":{"name":1}})"}) {
    CAPTURE(text);
    CHECK_FALSE(env::read_per_call_reply(text));
  }
}
