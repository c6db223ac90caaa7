// The handshake beyond the golden vectors: strict about every field.
#include <catch2/catch.hpp>

#include <string>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "actors/link/handshake.hpp"

using namespace holdfast::link;
namespace json = boost::json;

namespace {

hello usual_hello() {
  hello message;
  message.program = "abc";
  message.epoch = 2;
  message.ack = 5;
  message.first = 9;
  message.process = {"boot", 4026531836, 4711, 99};
  message.ready = true;
  message.cells = {{holdfast::cell_id{"c-1"}, 3}, {holdfast::cell_id{"c-2"}, 4}};
  message.dropped = 17;
  return message;
}

}  // namespace

TEST_CASE("a hello comes back as it was") {
  auto const answer = parse_hello(to_json(usual_hello()));

  REQUIRE(answer);
  auto const& found = std::get<hello>(*answer);
  CHECK(found.program == "abc");
  CHECK(found.epoch == 2);
  CHECK(found.ack == 5);
  CHECK(found.first == 9);
  CHECK(found.process == usual_hello().process);
  CHECK(found.ready);
  REQUIRE(found.cells.size() == 2);
  CHECK(found.cells[1].cell.text == "c-2");
  CHECK(found.cells[1].generation == 4);
  CHECK(found.dropped == 17);
}

TEST_CASE("a refusal names its own protocol, or none") {
  auto const named = parse_hello(to_json(refused{"unsupported", "no", 2}));
  auto const unnamed = parse_hello(to_json(refused{"unsupported", "no"}));

  REQUIRE((named && unnamed));
  CHECK(std::get<refused>(*named).protocol == 2);
  CHECK(std::get<refused>(*unnamed).protocol == 0);
}

TEST_CASE("a handshake without one of its fields is refused and the field is named") {
  auto const check = [](std::string const& payload, auto parse) {
    auto const whole = json::parse(payload).as_object();
    for (auto const& field : whole) {
      auto poorer = whole;
      poorer.erase(field.key());
      auto const message = parse(json::serialize(poorer));

      REQUIRE_FALSE(message);
      CHECK(message.error().find("field \"" + std::string{field.key()} + "\" is missing") != std::string::npos);
    }
  };

  check(to_json(usual_hello()), parse_hello);
  check(to_json(refused{"wrong_token", "no"}), parse_hello);
  check(to_json(attach{}), parse_attach);
}

TEST_CASE("a handshake with a field of a wrong type is refused and the field is named") {
  auto const check = [](std::string const& payload, auto parse) {
    auto const whole = json::parse(payload).as_object();
    for (auto const& field : whole) {
      auto wrong = whole;
      wrong[field.key()] = 1.5;
      auto const message = parse(json::serialize(wrong));

      REQUIRE_FALSE(message);
      CHECK(message.error().find("field \"" + std::string{field.key()} + "\" is a fraction") != std::string::npos);
    }
  };

  check(to_json(usual_hello()), parse_hello);
  check(to_json(refused{"wrong_token", "no"}), parse_hello);
  check(to_json(attach{}), parse_attach);
}

TEST_CASE("a seq that would overflow is refused in a handshake") {
  auto greedy = usual_hello();
  greedy.ack = UINT64_MAX;

  auto const answer = parse_hello(to_json(greedy));

  REQUIRE_FALSE(answer);
  CHECK(answer.error() == "cannot read hello: field \"ack\" is too large, wanted an integer from 0 to 9223372036854775807");
}

TEST_CASE("a pid that is none of Linux is refused") {
  auto odd = json::parse(to_json(usual_hello())).as_object();
  odd["pid"] = 4294967296;

  CHECK(parse_hello(json::serialize(odd)).error() ==
        "cannot read hello: field \"pid\" is 4294967296, wanted an integer from 0 to 2147483647");
}

TEST_CASE("an answer to attach that is neither hello nor refused is refused by name") {
  CHECK(parse_hello(R"({"type":"started"})").error() ==
        "cannot read answer to attach: field \"type\" is \"started\", wanted hello or refused");
  CHECK(parse_attach(R"({"type":"hello"})").error() == "cannot read attach: field \"type\" is \"hello\", wanted attach");
}
