// Random and damaged input for everything that reads bytes of others: no crash, and memory stays in bounds.
#include <catch2/catch.hpp>

#include <random>
#include <string>
#include <vector>

#include "actors/link/crc32.hpp"
#include "actors/link/decoder.hpp"
#include "actors/link/handshake.hpp"
#include "actors/link/journal.hpp"
#include "actors/link/messages.hpp"
#include "actors/link/spool.hpp"
#include "actors/link/utf8.hpp"
#include "random_seed.hpp"

using namespace holdfast::link;
using holdfast::link::test::random_seed;

namespace {

using generator = std::mt19937_64;

std::string random_bytes(generator& source, std::size_t size) {
  std::string bytes(size, '\0');
  for (auto& byte : bytes) byte = static_cast<char>(source());
  return bytes;
}

std::vector<std::string> sound_payloads() {
  done finished;
  finished.cell.text = "c-1";
  finished.value = "42";
  finished.error = cell_error{"ValueError", "a\n\xc3\xbc", "Traceback"};
  spawn wanted;
  wanted.kernel.text = "k-1";
  wanted.env = {{"A", "1"}, {"B", "\xe2\x82\xac"}};
  exited gone;
  gone.pid = 7;
  gone.rest = {{"stdout", "x"}};
  gone.ended = {{8, "sleep 77"}};
  hello greeting;
  greeting.cells = {{holdfast::cell_id{"c-1"}, 1}};
  return {to_json(finished), to_json(wanted),    to_json(gone),      to_json(greeting),   to_json(attach{}),
          to_json(output{}), to_json(started{}), to_json(execute{}), to_json(bad_frame{})};
}

/// Flips, cuts, repeats or inserts, a few times.
std::string damaged(std::string text, generator& source) {
  static constexpr std::string_view spice[] = {"{", "}", "[",    "]",   "\"",    "\\", "\\u",  "\\ud800",
                                               ",", ":", "null", "NaN", "1e999", "-",  "\xff", "\xed\xa0\x80"};
  for (auto times = 1 + source() % 4; times > 0 && !text.empty(); --times) {
    auto const at = source() % text.size();
    switch (source() % 4) {
      case 0: text[at] = static_cast<char>(source()); break;
      case 1: text.erase(at, 1 + source() % 8); break;
      case 2: text.insert(at, text.substr(source() % text.size(), source() % 32)); break;
      default: text.insert(at, spice[source() % std::size(spice)]);
    }
  }
  return text;
}

/// True if a text was accepted by any parser. What is accepted can be written, and the writing be read.
bool parse_all(std::string const& text) {
  auto const survives = [](auto const& message, auto parse) {
    if (!message) {
      REQUIRE_FALSE(message.error().empty());
      REQUIRE(message.error().size() < 400);
      return false;
    }
    auto const written = std::visit([](auto const& value) { return to_json(value); }, *message);
    REQUIRE(is_utf8(written));
    REQUIRE(parse(written));
    return true;
  };
  bool accepted = survives(parse_from_kernel(text), parse_from_kernel);
  accepted |= survives(parse_to_kernel(text), parse_to_kernel);
  accepted |= survives(parse_from_nursery(text), parse_from_nursery);
  accepted |= survives(parse_to_nursery(text), parse_to_nursery);
  accepted |= survives(parse_hello(text), parse_hello);
  accepted |= parse_attach(text).has_value();
  accepted |= parse_exit_file(text).has_value();
  claimed_type(text);
  return accepted;
}

}  // namespace

TEST_CASE("random bytes in random pieces never break the decoder and never pile up") {
  auto const seed = random_seed();
  CAPTURE(seed);
  generator source{seed};

  for (int round = 0; round < 100; ++round) {
    decoder in;
    std::size_t held = 0;
    for (int i = 0; i < 1000; ++i) {
      auto bytes = random_bytes(source, source() % 64);
      // Half of the streams have short lengths, so that frames come out of them.
      if (round % 2 == 0)
        for (std::size_t at = 0; at + 2 < bytes.size(); at += 3) bytes[at] = 0;
      held += bytes.size();
      in.feed(bytes);
      REQUIRE(in.buffered() <= held);
      while (auto const item = in.next()) {
      }
      held = in.buffered();
      REQUIRE(in.capacity() <= 2 * held + 128);
    }
  }
}

TEST_CASE("random bytes are no message") {
  auto const seed = random_seed();
  CAPTURE(seed);
  generator source{seed};

  for (int i = 0; i < 20'000; ++i) REQUIRE_FALSE(parse_all(random_bytes(source, source() % 64)));
}

TEST_CASE("damaged messages are refused with a text or read as something sound") {
  auto const seed = random_seed();
  CAPTURE(seed);
  generator source{seed};
  auto const payloads = sound_payloads();

  int accepted = 0;
  for (int i = 0; i < 100'000; ++i) accepted += parse_all(damaged(payloads[source() % payloads.size()], source));

  CHECK(accepted > 100);  // about 1000: the damage is neither always fatal nor always harmless
}

TEST_CASE("damaged spools and journals give whole records and account for the rest") {
  auto const seed = random_seed();
  CAPTURE(seed);
  generator source{seed};
  std::string spool = "HFSPOOL1";
  std::string journal = "HFJRNL01";
  spool.resize(64);
  journal.resize(64);
  for (std::uint64_t seq = 1; seq < 20; ++seq) {
    auto const payload = std::string(seq * 3, 'x');
    detail::append_big_endian(spool, static_cast<std::uint32_t>(payload.size()));
    detail::append_big_endian(spool, seq);
    detail::append_big_endian(spool, crc32(payload));
    spool += payload;
    detail::append_big_endian(journal, static_cast<std::uint32_t>(payload.size()));
    journal += std::string("\1\0\0\3\0\0\0\0\0\0\0\0c-1", 15) + payload;
  }
  std::string end, head;
  detail::append_big_endian(end, std::uint64_t{spool.size()});
  detail::append_big_endian(head, std::uint64_t{journal.size() - 64});
  spool.replace(8, 8, end);
  journal.replace(8, 8, head);
  journal.resize(journal_bytes);

  for (int i = 0; i < 20'000; ++i) {
    auto image = spool;
    image[8 + source() % (image.size() - 8)] = static_cast<char>(source());
    auto const found = parse_spool(image);
    REQUIRE(found);
    REQUIRE(found->records.size() <= 19);
    std::uint64_t last = 0;
    for (auto const& record : found->records) {
      REQUIRE(record.seq > last);
      REQUIRE(record.payload == std::string(record.payload.size(), 'x'));
      last = record.seq;
    }
  }
  for (int i = 0; i < 2'000; ++i) {
    auto const at = 8 + source() % 1000;
    auto const was = std::exchange(journal[at], static_cast<char>(source()));
    auto const found = parse_journal(journal);
    REQUIRE(found);
    for (auto const& record : found->records) REQUIRE(is_utf8(record.text));
    journal[at] = was;
  }
}
