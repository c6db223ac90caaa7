// The frame codec: bytes in any pieces, frames of any length.
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "actors/link/decoder.hpp"

using namespace holdfast::link;

namespace {

std::string header(std::uint32_t length, std::uint64_t seq, std::uint64_t ack) {
  std::string out;
  detail::append_big_endian(out, length);
  detail::append_big_endian(out, seq);
  detail::append_big_endian(out, ack);
  return out;
}

std::vector<decoder::item> drain(decoder& from) {
  std::vector<decoder::item> items;
  while (auto item = from.next()) items.push_back(std::move(*item));
  return items;
}

void check_frame(decoder::item const& item, std::uint64_t seq, std::uint64_t ack, std::string const& payload) {
  REQUIRE(std::holds_alternative<frame>(item));
  auto const& found = std::get<frame>(item);
  CHECK(found.seq == seq);
  CHECK(found.ack == ack);
  CHECK(found.payload == payload);
}

}  // namespace

TEST_CASE("a frame is length, seq and ack in big-endian before its payload") {
  std::string bytes;
  append(bytes, 0x0102030405060708, 0x1112131415161718, "{}");

  CHECK(bytes == std::string("\0\0\0\2\1\2\3\4\5\6\7\x8\x11\x12\x13\x14\x15\x16\x17\x18{}", 22));
}

TEST_CASE("a stream split at any byte gives the same frames") {
  std::string bytes;
  append(bytes, 1, 0, R"({"type":"started"})");
  append(bytes, 0, 7, "");
  append(bytes, 2, 7, std::string(300, 'x'));

  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    decoder in;
    in.feed(std::string_view{bytes}.substr(0, cut));
    auto items = drain(in);
    in.feed(std::string_view{bytes}.substr(cut));
    for (auto& item : drain(in)) items.push_back(std::move(item));

    REQUIRE(items.size() == 3);
    check_frame(items[0], 1, 0, R"({"type":"started"})");
    check_frame(items[1], 0, 7, "");
    check_frame(items[2], 2, 7, std::string(300, 'x'));
    CHECK(in.buffered() == 0);
  }
}

TEST_CASE("a stream fed byte by byte gives the same frames") {
  std::string bytes;
  append(bytes, 1, 0, "one");
  append(bytes, 2, 0, "");
  decoder in;

  std::vector<decoder::item> items;
  for (char const byte : bytes) {
    in.feed({&byte, 1});
    for (auto& item : drain(in)) items.push_back(std::move(item));
  }

  REQUIRE(items.size() == 2);
  check_frame(items[0], 1, 0, "one");
  check_frame(items[1], 2, 0, "");
}

TEST_CASE("half a header is no frame") {
  decoder in;

  in.feed(header(0, 1, 1).substr(0, 10));

  CHECK_FALSE(in.next());
  CHECK(in.buffered() == 10);
}

TEST_CASE("a frame of exactly the greatest length is taken") {
  std::string bytes;
  append(bytes, 9, 8, std::string(max_payload, 'x'));
  decoder in;

  in.feed(bytes);

  check_frame(in.next().value(), 9, 8, std::string(max_payload, 'x'));
}

TEST_CASE("an over-long frame is reported once, skipped without buffering, and the next one is read") {
  auto const length = GENERATE(std::uint32_t{max_payload + 1}, std::uint32_t{2'147'483'648}, std::uint32_t{4'294'967'295});
  decoder in;

  in.feed(header(length, 5, 4));
  auto const items = drain(in);
  std::string const piece(1 << 20, 'x');
  std::uint64_t left = length;
  while (left > 0) {
    auto const fed = std::min<std::uint64_t>(left, piece.size());
    in.feed(std::string_view{piece}.substr(0, fed));
    left -= fed;
    REQUIRE(in.buffered() == 0);
    REQUIRE_FALSE(in.next());
  }
  std::string next;
  append(next, 6, 4, "{}");
  in.feed(next);

  REQUIRE(items.size() == 1);
  REQUIRE(std::holds_alternative<oversized>(items[0]));
  CHECK(std::get<oversized>(items[0]).seq == 5);
  CHECK(std::get<oversized>(items[0]).ack == 4);
  CHECK(std::get<oversized>(items[0]).length == length);
  check_frame(in.next().value(), 6, 4, "{}");
}

TEST_CASE("an over-long frame in the middle of one read takes nothing of its neighbours") {
  std::string bytes;
  append(bytes, 1, 0, "before");
  bytes += header(max_payload + 1, 2, 0) + std::string(max_payload + 1, 'x');
  append(bytes, 3, 0, "after");
  decoder in;

  in.feed(bytes);

  CHECK(in.buffered() == 3 * header_bytes + 6 + 5);
  auto const items = drain(in);
  REQUIRE(items.size() == 3);
  check_frame(items[0], 1, 0, "before");
  CHECK(std::get<oversized>(items[1]).seq == 2);
  check_frame(items[2], 3, 0, "after");
}

TEST_CASE("a length alone reserves nothing") {
  std::vector<decoder> many(1000);

  // A thousand headers of 8 MiB would be 8 GiB if any of them were believed.
  for (auto& in : many) in.feed(header(max_payload, 1, 0) + "x");

  for (auto const& in : many) CHECK(in.buffered() == header_bytes + 1);
}

TEST_CASE("a large frame takes its memory along") {
  std::string bytes;
  append(bytes, 1, 0, std::string(max_payload, 'x'));
  decoder in;

  in.feed(bytes);
  auto const taken = in.next();
  in.feed(header(10, 2, 0) + "12345");

  REQUIRE(taken);
  CHECK(std::get<frame>(*taken).payload.capacity() <= max_payload + 1);
  CHECK(in.buffered() == header_bytes + 5);
  CHECK(in.capacity() < 1024);
}
