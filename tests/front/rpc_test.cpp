// One line to one request, or to one clear error.
#include <catch2/catch.hpp>

#include <chrono>

#include "actors/front/rpc.hpp"

namespace holdfast::front {
namespace {

error_code code_of(std::string const& line) {
  auto const parsed = parse_request(line);
  REQUIRE_FALSE(parsed);
  return parsed.error().problem.code;
}

std::string message_of(std::string const& line) {
  auto const parsed = parse_request(line);
  REQUIRE_FALSE(parsed);
  return parsed.error().problem.message;
}

std::string with_id(std::string const& id) { return R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":"status"})"; }

TEST_CASE("a request has its id, method and params") {
  auto const parsed = parse_request(R"({"jsonrpc":"2.0","id":7,"method":"run","params":{"code":"x = '\u00e9\n'","reset":true}})");

  REQUIRE(parsed);
  CHECK(parsed->id == "7");
  CHECK(parsed->method == "run");
  CHECK(parsed->params.at("code").as_string() == "x = '\xc3\xa9\n'");
  CHECK(parsed->params.at("reset").as_bool());
}

TEST_CASE("a request without params has none") {
  auto const parsed = parse_request(with_id("1") + " \r");

  REQUIRE(parsed);
  CHECK(parsed->params.empty());
}

TEST_CASE("an id goes back as it came") {
  for (std::string id :
       {"0", "-3", "1.0", "1e3", "18446744073709551615", "1000000000000000000000000000000", "\"a\"", "\"\"", "\"\\\"\\n\""}) {
    auto const parsed = parse_request(with_id(id));
    INFO(id);
    REQUIRE(parsed);
    CHECK(parsed->id == id);
  }
}

TEST_CASE("a nested member named id is not the request's id") {
  auto const parsed = parse_request(R"({"jsonrpc":"2.0","params":{"id":5,"env":{"id":"6"}},"method":"run","id":4})");

  REQUIRE(parsed);
  CHECK(parsed->id == "4");
}

TEST_CASE("an id that is neither number nor string, or too long, is refused") {
  for (std::string id : {"null", "true", "[1]", "{}"}) CHECK(code_of(with_id(id)) == error_code::invalid_request);
  CHECK(code_of(with_id("\"" + std::string(2000, 'x') + "\"")) == error_code::invalid_request);
  CHECK(code_of(with_id(std::string(2000, '1'))) == error_code::invalid_request);
}

TEST_CASE("a request without an id is refused and says why") {
  CHECK(code_of(R"({"jsonrpc":"2.0","method":"status"})") == error_code::invalid_request);
  CHECK(message_of(R"({"jsonrpc":"2.0","method":"status"})").find("needs an id") != std::string::npos);
}

TEST_CASE("what is not JSON is a parse error") {
  for (std::string line : {"", "{", "garbage", "\xff\xfe", "{\"id\":1}x", "{'id':1}", "{\"id\":1,}", "[1,]", "{\"id\":01}"})
    CHECK(code_of(line) == error_code::parse_error);
}

TEST_CASE("NaN, Infinity, lone surrogates and bytes that are not UTF-8 are parse errors") {
  auto const with_code = [](std::string const& text) {
    return R"({"jsonrpc":"2.0","id":1,"method":"run","params":{"code":)" + text + "}}";
  };

  CHECK(code_of(with_code("NaN")) == error_code::parse_error);
  CHECK(code_of(with_code("-Infinity")) == error_code::parse_error);
  CHECK(code_of(with_code("\"\\ud800\"")) == error_code::parse_error);
  CHECK(code_of(with_code("\"\\udc00\\ud800\"")) == error_code::parse_error);
  CHECK(code_of(with_code("\"\x80\"")) == error_code::parse_error);
  CHECK(code_of(with_code("\"\xed\xa0\x80\"")) == error_code::parse_error);
  CHECK(parse_request(with_code("\"\\ud83d\\ude00 \\u0000\"")));
}

TEST_CASE("a line with half a surrogate pair is refused by its id; what is wrong in another way by none") {
  auto const id_of = [](std::string const& id, std::string const& text) {
    auto const read = parse_request(R"({"jsonrpc":"2.0","method":"run","params":{"code":")" + text + R"("},"id":)" + id + "}");
    CHECK(!read);
    return read ? std::string() : read.error().id;
  };

  CHECK(id_of("7", R"(\ud800)") == "7");
  CHECK(id_of(R"("\uD83D\uDE00")", R"(\uDC00 \\ \uDBFF)") == "\"\xf0\x9f\x98\x80\"");
  CHECK(id_of("7", R"(\ud800 \x)") == "null");
  CHECK(id_of("7", R"(\\ud800 \x)") == "null");
  CHECK(id_of("01", R"(\ud800)") == "null");
}

TEST_CASE("64 levels are read and 65 refused, as are 10,000 brackets") {
  auto const nested = [](std::size_t levels) {
    return R"({"jsonrpc":"2.0","id":1,"method":"run","params":{"code":)" + std::string(levels - 2, '[') +
           std::string(levels - 2, ']') + "}}";
  };

  CHECK(parse_request(nested(64)));
  CHECK(code_of(nested(65)) == error_code::parse_error);
  CHECK(message_of(nested(65)).find("deeper than 64") != std::string::npos);
  CHECK(code_of(std::string(10'000, '[')) == error_code::parse_error);
}

TEST_CASE("a small text does not become a large tree") {
  std::string line = R"({"jsonrpc":"2.0","id":1,"method":"run","params":{"code":[0)";
  for (int i = 0; i < 200'000; ++i) line += ",0";
  line += "]}}";

  CHECK(code_of(line) == error_code::parse_error);
  CHECK(message_of(line).find("100000 values") != std::string::npos);
}

TEST_CASE("a key that stands twice in one object is refused and named") {
  CHECK(code_of(R"({"jsonrpc":"2.0","id":1,"id":2,"method":"status"})") == error_code::parse_error);
  CHECK(message_of(R"({"jsonrpc":"2.0","id":1,"method":"run","params":{"code":"1","env":{"A":"1","B":"","A":"2"}}})").find("'A'") !=
        std::string::npos);
  CHECK(code_of(R"({"jsonrpc":"2.0","id":1,"method":"run","params":{"c":[{"x":1},{"y":1,"\u0079":2}]}})") ==
        error_code::parse_error);
  CHECK(parse_request(R"({"jsonrpc":"2.0","id":1,"method":"run","params":{"c":[{"x":1},{"x":2}],"x":3}})"));
}

TEST_CASE("batches are refused as such") {
  CHECK(code_of("[" + with_id("1") + "]") == error_code::invalid_request);
  CHECK(code_of("[]") == error_code::invalid_request);
  CHECK(message_of("[]").find("batches") != std::string::npos);
}

TEST_CASE("JSON that is no request is refused, with its id when there is one") {
  CHECK(code_of("7") == error_code::invalid_request);
  CHECK(code_of("null") == error_code::invalid_request);
  CHECK(code_of("{}") == error_code::invalid_request);
  for (std::string line :
       {R"({"jsonrpc":"1.0","id":9,"method":"status"})", R"({"id":9,"method":"status"})", R"({"jsonrpc":"2.0","id":9})",
        R"({"jsonrpc":"2.0","id":9,"method":5})", R"({"jsonrpc":"2.0","id":9,"method":"status","params":"x"})",
        R"({"jsonrpc":"2.0","id":9,"method":"status","param":{}})", R"({"jsonrpc":"2.0","id":9,"result":{}})"}) {
    auto const parsed = parse_request(line);
    INFO(line);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().problem.code == error_code::invalid_request);
    CHECK(parsed.error().id == "9");
  }
}

TEST_CASE("a refused line is told what was found and what is wanted") {
  auto const request = [](std::string const& members) { return R"({"jsonrpc":"2.0","id":1)" + members + "}"; };

  for (auto const& [line, message] : std::vector<std::pair<std::string, std::string>>{
           {"7", "the line is 7, wanted an object with jsonrpc, id, method and params"},
           {with_id("true"), "the id is true, wanted a number or a string"},
           {request(""), "the method is missing; rpc.discover lists the methods"},
           {request(R"(,"method":["run"])"), "the method is a list, wanted a string"},
           {request(R"(,"method":"run","params":"1")"), "params is '1', wanted an object"},
           {request(R"(,"method":"run","param":{})"), "unknown member 'param'; a request has jsonrpc, id, method and params"},
           {R"({"id":1,"method":"status"})", R"(jsonrpc is missing or another version, wanted "2.0")"},
           {request(R"(,"id":2)"), "cannot read the line as JSON: the key 'id' stands twice in one object"},
       })
    CHECK(message_of(line) == message);
}

TEST_CASE("params by position are invalid params") {
  CHECK(code_of(R"({"jsonrpc":"2.0","id":1,"method":"run","params":["1"]})") == error_code::invalid_params);
}

TEST_CASE("lines that go back are spliced around the core's text") {
  CHECK(answer_line("7", R"({"a":1})") == "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"a\":1}}\n");
  CHECK(notification_line("event", "{}") == "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{}}\n");
  auto const line = error_line("\"x\"", {error_code::busy, "no", {{"kernel", "k-1"}}});
  CHECK(line ==
        "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{\"code\":1004,\"message\":\"no\",\"data\":{\"kernel\":\"k-1\",\"kind\":"
        "\"busy\",\"retry\":true}}}\n");
}

TEST_CASE("cost of a small run line", "[.cost]") {
  std::string const line = R"({"jsonrpc":"2.0","id":12345,"method":"run","params":{"owner":"ada","session":"main","code":"1+1"}})";
  auto const begin = std::chrono::steady_clock::now();
  constexpr int rounds = 100'000;
  for (int i = 0; i < rounds; ++i) REQUIRE_NOTHROW(parse_request(line));
  std::chrono::duration<double, std::micro> const took = std::chrono::steady_clock::now() - begin;
  WARN("a line takes " << took.count() / rounds << " us");
}

}  // namespace
}  // namespace holdfast::front
