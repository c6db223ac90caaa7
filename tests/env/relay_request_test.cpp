#include <catch2/catch.hpp>

#include "actors/env/relay_request.hpp"
#include "actors/link/frame.hpp"

namespace holdfast::env {
namespace {

std::string answer(std::string const& head, std::string const& frames, std::string const& nonce = "n1") {
  std::string body;
  link::append(body, 0, 0, head);
  body += frames;
  return "\nholdfast-relay " + nonce + " " + std::to_string(body.size()) + "\n" + body;
}

TEST_CASE("an answer is found whatever is printed around it") {
  auto const reply = read_reply("Welcome to far\nLast login: now" + answer(R"({"type":"staged"})", "rest") + "logout\n", "n1");

  REQUIRE(reply);
  CHECK(text_of(*reply, "type") == "staged");
  CHECK(reply->frames == "rest");
}

TEST_CASE("an answer that is cut short anywhere is none") {
  auto const whole = answer(R"({"type":"staged"})", "rest");

  for (std::size_t size = 0; size < whole.size(); ++size) CHECK_FALSE(read_reply(whole.substr(0, size), "n1"));
}

TEST_CASE("the answer to another request is none") {
  CHECK_FALSE(read_reply(answer(R"({"type":"staged"})", ""), "n2"));
  CHECK_FALSE(read_reply(answer(R"({"type":"staged"})", "", "n22"), "n2"));
}

TEST_CASE("what a command wrote instead of an answer is said, without its control characters") {
  auto const reply = read_reply("sh: python3:\x1b[31m not found\n", "n1");

  REQUIRE_FALSE(reply);
  CHECK(reply.error().find("python3: [31m not found") != std::string::npos);
}

TEST_CASE("the words of a command hold neither code nor request") {
  auto const input = relay_input({{"operation", "spawn"}, {"token", "secret"}}, "frames");

  for (auto const& word : relay_command("python3")) CHECK(word.find("secret") == std::string::npos);
  CHECK(input.find("secret") != std::string::npos);
  CHECK(input.ends_with("frames"));
}

TEST_CASE("an end that is not known is no proof of absence") {
  auto const brought_with = [](std::string const& end) {
    relay_reply reply;
    reply.head = {{"type", "carried"}, {"end", end}, {"message", ""}, {"cells", 0}, {"requests", 0}, {"jobs", 0}};
    return read_brought(std::move(reply));
  };

  CHECK(brought_with("gone")->end == link::brought::ending::gone);
  CHECK(brought_with("unknown")->end == link::brought::ending::unknown);
  CHECK(brought_with("closed")->end == link::brought::ending::closed);
  CHECK_FALSE(read_brought({{{"type", "failed"}, {"message", "no room"}}, {}}));
}

}  // namespace
}  // namespace holdfast::env
