// Messages beyond the golden vectors: what is refused, with which words, and what is survived.
#include <catch2/catch.hpp>

#include <string>

#include "actors/link/json_reader.hpp"
#include "actors/link/messages.hpp"

using namespace holdfast::link;

namespace {

std::string error_of(std::string_view payload) {
  auto const message = parse_from_kernel(payload);
  return message ? "" : message.error();
}

/// A started message whose field `key` is the JSON `value`; an empty value leaves it out.
std::string started_with(std::string const& key, std::string const& value) {
  std::string out = R"({"type":"started")";
  for (auto const& [name, usual] : {std::pair{"cell", R"("c-1")"}, {"generation", "1"}, {"at", "5"}}) {
    auto const& written = key == name ? value : usual;
    if (!written.empty()) out.append(",\"").append(name).append("\":").append(written);
  }
  return out + "}";
}

}  // namespace

TEST_CASE("a message with a missing or wrong field is refused by name") {
  auto const number = std::string{"an integer from 0 to 9223372036854775807"};

  CHECK(error_of(started_with("cell", "")) == "cannot read started: field \"cell\" is missing, wanted a text");
  CHECK(error_of(started_with("cell", "null")) == "cannot read started: field \"cell\" is null, wanted a text");
  CHECK(error_of(started_with("cell", "[]")) == "cannot read started: field \"cell\" is a list, wanted a text");
  CHECK(error_of(started_with("generation", "-1")) == "cannot read started: field \"generation\" is negative, wanted " + number);
  CHECK(error_of(started_with("generation", "1.0")) == "cannot read started: field \"generation\" is a fraction, wanted " + number);
  CHECK(error_of(started_with("generation", "1e3")) == "cannot read started: field \"generation\" is a fraction, wanted " + number);
  CHECK(error_of(started_with("generation", "true")) ==
        "cannot read started: field \"generation\" is a truth value, wanted " + number);
  CHECK(error_of(started_with("generation", "9223372036854775808")) ==
        "cannot read started: field \"generation\" is too large, wanted " + number);
  CHECK(error_of(started_with("generation", "1" + std::string(30, '0'))) ==
        "cannot read started: field \"generation\" is a fraction, wanted " + number);
  CHECK(error_of(started_with("at", "\"5\"")) == "cannot read started: field \"at\" is a text, wanted an integer of 64 bits");
  CHECK(error_of(started_with("at", "-5")) == "");
}

TEST_CASE("a type that nobody sends is refused by name") {
  CHECK(
      error_of(R"({"type":"execute"})") ==
      "cannot read message: field \"type\" is \"execute\", wanted output or done or started or background or display or answer or "
      "job_started or job_finished or jobs or bad_frame");
  CHECK(error_of("{\"type\":\"" + std::string(10'000, 'x') + "\"}").size() < 250);
}

TEST_CASE("an unknown word is refused and the known ones are named") {
  CHECK(error_of(R"({"type":"output","cell":"c","stream":"stdin","offset":0,"text":""})") ==
        "cannot read output: field \"stream\" is \"stdin\", wanted stdout or stderr");
  CHECK(error_of(R"({"type":"done","cell":"c","generation":1,"status":"lost"})") ==
        "cannot read done: field \"status\" is \"lost\", wanted ok or error or exit or timeout or interrupted");
}

TEST_CASE("fields that are not known yet are ignored") {
  auto const message = parse_from_kernel(R"({"type":"started","cell":"c","more":{"a":[1,2.5,null]},"generation":1,"at":5})");

  REQUIRE(message);
  CHECK(std::get<started>(*message).cell.text == "c");
}

TEST_CASE("what may be null in a done may also be left out") {
  auto const message =
      parse_from_kernel(R"({"type":"done","cell":"c","generation":1,"status":"ok","started_at":1,"finished_at":2,"duration_ms":1,)"
                        R"("stdout":{"head":"a","tail":"","bytes":1},"stderr":{"head":"","tail":"","bytes":0},"output_bytes":1})");

  REQUIRE(message);
  auto const& found = std::get<done>(*message);
  CHECK_FALSE(found.value);
  CHECK_FALSE(found.error);
  CHECK_FALSE(found.exit_code);
  CHECK_FALSE(found.kernel_ended);
  CHECK(found.out == captured{"a", "", 1});
}

TEST_CASE("a mistake within a nested object names that object") {
  CHECK(error_of(R"({"type":"done","cell":"c","generation":1,"status":"error","error":{"name":"E","message":7,"traceback":""}})") ==
        "cannot read error: field \"message\" is an integer, wanted a text");
}

TEST_CASE("lone surrogates in escapes are refused, pairs are read") {
  CHECK(error_of(R"({"type":"started","cell":"\ud800","generation":1,"at":5})").substr(0, 17) == "cannot parse JSON");
  CHECK(error_of(R"({"type":"started","cell":"\udc00\ud800","generation":1,"at":5})").substr(0, 17) == "cannot parse JSON");

  auto const message = parse_from_kernel(R"({"type":"started","cell":"\ud83d\ude00","generation":1,"at":5})");
  REQUIRE(message);
  CHECK(std::get<started>(*message).cell.text == "\U0001F600");
}

TEST_CASE("text that is not UTF-8 is written as replacement characters") {
  execute message;
  message.code = "a\xff\xc0\xaf\xed\xa0\x80\xe2\x82z\xf0\x9f\x98";

  auto const again = parse_to_kernel(to_json(message));

  REQUIRE(again);
  std::string const mark = "\uFFFD";
  CHECK(std::get<execute>(*again).code == "a" + mark + mark + mark + mark + mark + mark + mark + mark + "z" + mark + mark + mark);
}

TEST_CASE("every byte of a text comes back") {
  execute message;
  for (int byte = 0; byte < 128; ++byte) message.code += static_cast<char>(byte);

  auto const again = parse_to_kernel(to_json(message));

  REQUIRE(again);
  CHECK(std::get<execute>(*again).code == message.code);
}

TEST_CASE("messages of the greatest length are read, whatever their characters are") {
  auto const text = GENERATE(as<std::string>{}, "x", "\\n", "\\u20ac", "\xe2\x82\xac");
  std::string payload = R"({"type":"bad_frame","seq":1,"message":")";
  while (payload.size() + text.size() < (8u << 20) - 2) payload += text;
  payload += "\"}";

  CHECK(parse_from_kernel(payload));
}

TEST_CASE("a text that would become a large tree is refused before it is one") {
  auto const piece = GENERATE(as<std::string>{}, "0,", "[],", "{},", "\"\",", "[[[0]]],");
  std::string payload = R"({"type":"bad_frame","seq":1,"message":"","x":[)";
  while (payload.size() < (8u << 20) - 16) payload += piece;
  payload += "0]}";

  CHECK(error_of(payload) == "cannot parse JSON: too many values for " + std::to_string(payload.size()) + " bytes of text");
}

TEST_CASE("a spawn with a large environment is read") {
  spawn message;
  for (int i = 0; i < 2000; ++i) message.env["NAME_" + std::to_string(i)] = std::to_string(i);

  auto const again = parse_to_nursery(to_json(message));

  REQUIRE(again);
  CHECK(std::get<spawn>(*again).env == message.env);
}

TEST_CASE("the type of a payload that does not parse is told when it comes first") {
  CHECK(claimed_type(R"({"type":"done","value":NaN})") == "done");
  CHECK(claimed_type("  { \"type\" :\t\"started\", ") == "started");
  CHECK(claimed_type(R"({"cell":"c","type":"done"})") == "");
  CHECK(claimed_type(R"({"type":"do)") == "");
  CHECK(claimed_type("{\"type\":\"do\\u006ee\"}") == "");
  CHECK(claimed_type("{\"type\":\"" + std::string(1000, 'x') + "\"}") == "");
  CHECK(claimed_type("") == "");
}

TEST_CASE("an exit file is read without a type") {
  auto const found = parse_exit_file(
      R"({"kernel":"k-1","pid":7,"start_time":8,"cause":"exit","exit_code":3,"signal":null,"log_tail":"","rest":[],"ended":[],"at":9})");

  REQUIRE(found);
  CHECK(found->exit_code == 3);
  CHECK_FALSE(found->signal);
  CHECK(parse_exit_file(R"({"kernel":"k-1","pid":0})").error() ==
        "cannot read exit file: field \"pid\" is 0, wanted an integer from 1 to 2147483647");
}

TEST_CASE("a display keeps its parts, its metadata as text and what was left out") {
  auto const message = parse_from_kernel(
      R"({"type":"display","cell":"c","index":2,"main":true,"offset":7,"data":{"text/plain":"x","image/png":"AAAA"},)"
      R"("metadata":{"width":[1,2]},"omitted":[{"mime":"text/html","bytes":5000000}]})");

  REQUIRE(message);
  auto const& shown = std::get<display>(*message);
  CHECK(shown.cell.text == "c");
  CHECK(shown.index == 2);
  CHECK(shown.is_main);
  CHECK(shown.offset == 7);
  CHECK(shown.data == std::vector<display::part>{{"text/plain", "x"}, {"image/png", "AAAA"}});
  CHECK(shown.metadata == R"({"width":[1,2]})");
  CHECK(shown.omitted == std::vector<display::left_out>{{"text/html", 5'000'000}});
  CHECK(std::get<display>(*parse_from_kernel(to_json(shown))).data == shown.data);
}

TEST_CASE("an answer keeps its whole body beside its id and refusal") {
  std::string const body = R"({"type":"answer","id":"r-1","error":{"kind":"busy","message":"a cell runs"},"more":[1]})";
  auto const message = parse_from_kernel(body);

  REQUIRE(message);
  auto const& said = std::get<answered>(*message);
  CHECK(said.id == "r-1");
  REQUIRE(said.error);
  CHECK(said.error->kind == "busy");
  CHECK(said.body == body);
  CHECK(to_json(request{"r-1", "variables", {{"path", "a\"b"}}}) ==
        R"({"type":"request","id":"r-1","what":"variables","path":"a\"b"})");
}

TEST_CASE("the start of a job keeps every field, and one outside of a cell has none") {
  auto const message = parse_from_kernel(
      R"({"type":"job_started","job":"j-1","cell":"c-1","command":"make -j2","pid":7,"start_time":8,"group":9,"keep":true,"at":10})");

  REQUIRE(message);
  auto const& found = std::get<job_started>(*message);
  CHECK(found.job.text == "j-1");
  CHECK(found.cell.text == "c-1");
  CHECK(found.command == "make -j2");
  CHECK(found.pid == 7);
  CHECK(found.start_time == 8);
  CHECK(found.group == 9);
  CHECK(found.keep);
  CHECK(found.at == 10);
  auto const late = parse_from_kernel(
      R"({"type":"job_started","job":"j-1","cell":null,"command":"","pid":7,"start_time":8,"group":9,"keep":false,"at":10})");
  REQUIRE(late);
  CHECK(std::get<job_started>(*late).cell.empty());
}

TEST_CASE("a job's id that cannot be a key is refused") {
  auto const with_job = [](std::string const& job) {
    return error_of(R"({"type":"job_started","job":")" + job +
                    R"(","cell":"c","command":"","pid":7,"start_time":8,"group":9,"keep":true,"at":10})");
  };

  CHECK(with_job("j-1.2:3_4") == "");
  CHECK(with_job(std::string(128, 'j')) == "");
  for (auto const& job : {std::string(), std::string("a b"), std::string(129, 'j'), std::string("\\u0000"), std::string("\u00e4")})
    CHECK(with_job(job) == "cannot read job_started: field \"job\" is another text, wanted 1 to 128 characters of [A-Za-z0-9._:-]");
  CHECK(error_of(R"({"type":"jobs","read":["j-1","a b"]})") ==
        "cannot read jobs: field \"read\" is a list of something else, wanted a list of job ids");
}

TEST_CASE("the end of a job keeps every field") {
  auto const message = parse_from_kernel(
      R"({"type":"job_finished","job":"j-1","cell":"c-1","exit_code":null,"signal":"SIGKILL","timed_out":true,"stopped":true,)"
      R"("duration_ms":5,"output_bytes":6,"read":true,"at":7})");

  REQUIRE(message);
  auto const& found = std::get<job_finished>(*message);
  CHECK_FALSE(found.exit_code);
  CHECK(found.signal == "SIGKILL");
  CHECK(found.timed_out);
  CHECK(found.stopped);
  CHECK(found.duration_ms == 5);
  CHECK(found.output_bytes == 6);
  CHECK(found.read);
  CHECK(found.at == 7);
  CHECK(error_of(R"({"type":"job_finished","job":"j-1","cell":"c"})") ==
        "cannot read job_finished: field \"timed_out\" is missing, wanted true or false");
}

TEST_CASE("the page of a job is read from the answer's body") {
  auto const page = job_page_of(
      R"({"type":"answer","id":"r-1","chunks":[{"stream":"stderr","offset":3,"bytes":1,"text":"x"}],"next_offset":4,"total_bytes":9,)"
      R"("dropped":[{"from":0,"to":3}],"final":false})");

  REQUIRE(page);
  REQUIRE(page->chunks.size() == 1);
  CHECK(page->chunks[0].stream == output_stream::err);
  CHECK(page->chunks[0].offset == 3);
  CHECK(page->chunks[0].text == "x");
  CHECK(page->next_offset == 4);
  CHECK(page->total_bytes == 9);
  REQUIRE(page->dropped.size() == 1);
  CHECK(page->dropped[0].to == 3);
  CHECK_FALSE(page->is_final);
  CHECK(job_page_of(R"({"chunks":[{"stream":"stdin"}]})").error().substr(0, 20) == "cannot read chunks: ");
  CHECK(to_json(request{"r-1", "job_output", {{"job", "j-1"}}, {{"limit", 5}}}) ==
        R"({"type":"request","id":"r-1","what":"job_output","job":"j-1","limit":5})");
}
