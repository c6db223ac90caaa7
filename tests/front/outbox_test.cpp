// What waits for a client is bounded, and what it loses is told.
#include <catch2/catch.hpp>

#include <boost/json/parse.hpp>

#include "actors/front/outbox.hpp"

namespace holdfast::front {
namespace {

namespace json = boost::json;

std::string stream(std::string const& cell, std::string const& text_json, int dropped = -1) {
  auto params = R"({"owner":"o","child":null,"session":"s","cell":")" + cell + R"(","stream":"stdout","offset":0,"text":")" +
                text_json + "\"";
  if (dropped >= 0) params += ",\"dropped_bytes\":" + std::to_string(dropped);
  return params + "}";
}

/// Takes everything out and gives the dropped_bytes of each line.
std::vector<std::int64_t> drain(outbox& box) {
  std::string text;
  while (!box.empty()) {
    auto const piece = box.front(7);
    text += piece;
    box.consume(piece.size());
  }
  std::vector<std::int64_t> dropped;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    dropped.push_back(json::parse(text.substr(at, text.find('\n', at) - at)).at("params").at("dropped_bytes").as_int64());
  return dropped;
}

TEST_CASE("the output in a stream notification is counted unescaped") {
  CHECK(read_stream_facts(stream("c", "hello")).text_bytes == 5);
  CHECK(read_stream_facts(stream("c", R"(a\"b\\c\n)")).text_bytes == 6);
  CHECK(read_stream_facts(stream("c", R"(\u00e9\u20ac\u001b\ud83d\ude00)")).text_bytes == 2 + 3 + 1 + 4);
  CHECK(read_stream_facts(stream("c", "x", 12)).lost_bytes == 12);
  CHECK(read_stream_facts(stream("c", "x")).cell == read_stream_facts(stream("c", "\\\"text\\\":\\\"longer\\\"")).cell);
  CHECK(read_stream_facts(stream("c", "x")).cell != read_stream_facts(stream("d", "x")).cell);
}

TEST_CASE("dropped bytes are added to the member that the core may have written") {
  CHECK(with_dropped_bytes(R"({"a":1})", 5) == R"({"a":1,"dropped_bytes":5})");
  CHECK(with_dropped_bytes(R"({"a":1,"dropped_bytes":7})", 5) == R"({"a":1,"dropped_bytes":12})");
  CHECK(with_dropped_bytes(R"({"text":",\"dropped_bytes\":7"})", 5) == R"({"text":",\"dropped_bytes\":7","dropped_bytes":5})");
}

TEST_CASE("stream notifications are dropped over the limit, by cell, and the next one tells") {
  outbox box({.stream = 1000, .all = 100'000});
  CHECK(box.push_stream(stream("a", std::string(1100, 'x'))) == outbox::verdict::queued);

  CHECK(box.push_stream(stream("a", "12345")) == outbox::verdict::dropped);
  CHECK(box.push_stream(stream("b", "\\n")) == outbox::verdict::dropped);
  CHECK(box.push_stream(stream("a", "1", 100)) == outbox::verdict::dropped);
  CHECK(drain(box) == std::vector<std::int64_t>{0});

  box.push_stream(stream("b", "x", 2));
  box.push_stream(stream("a", "x"));
  box.push_stream(stream("a", "x"));
  CHECK(drain(box) == std::vector<std::int64_t>{3, 106, 0});
}

TEST_CASE("an answer is never dropped: over the whole limit the client is given up") {
  outbox box({.stream = 10, .all = 100});

  CHECK(box.push(std::string(60, 'x')) == outbox::verdict::queued);
  CHECK(box.push(std::string(40, 'x')) == outbox::verdict::queued);
  CHECK(box.push("x") == outbox::verdict::overflow);
  CHECK(box.queued_bytes() == 100);
}

TEST_CASE("pieces cross no line and add up") {
  outbox box;
  box.push("abc\n");
  box.push("de\n");

  CHECK(box.front(2) == "ab");
  box.consume(2);
  CHECK(box.front(100) == "c\n");
  box.consume(2);
  CHECK(box.front(100) == "de\n");
  CHECK(box.queued_bytes() == 3);
  box.consume(3);
  CHECK(box.empty());
}

}  // namespace
}  // namespace holdfast::front
