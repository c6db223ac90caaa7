// Replays the golden vectors of tests/vectors, as tests/kernel/test_vectors.py does: both sides of the wire keep to one specification.
#include <catch2/catch.hpp>

#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "actors/link/decoder.hpp"
#include "actors/link/handshake.hpp"
#include "actors/link/journal.hpp"
#include "actors/link/messages.hpp"
#include "actors/link/spool.hpp"
#include "actors/link/window.hpp"

using namespace holdfast::link;
namespace json = boost::json;

namespace {

json::value load(std::string const& name) {
  std::ifstream file{std::string{HOLDFAST_SOURCE_DIR} + "/tests/vectors/" + name};
  REQUIRE(file);
  return json::parse(std::string{std::istreambuf_iterator<char>{file}, {}});
}

std::string text(json::value const& value) { return std::string{value.as_string()}; }

std::string unhex(std::string const& digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return bytes;
}

/// [[hex, times]...]
std::string unpack(json::value const& pieces) {
  std::string bytes;
  for (auto const& piece : pieces.as_array()) {
    auto const part = unhex(text(piece.at(0)));
    for (auto times = piece.at(1).to_number<std::size_t>(); times > 0; --times) bytes += part;
  }
  return bytes;
}

std::string image_of(json::value const& vector) {
  std::string image(vector.at("size").to_number<std::size_t>(), '\0');
  for (auto const& part : vector.at("parts").as_array()) {
    auto const bytes = unpack(part.at(1));
    image.replace(part.at(0).to_number<std::size_t>(), bytes.size(), bytes);
  }
  return image;
}

using parse_and_write = std::function<std::string(std::string const&)>;

template <class Parse>
parse_and_write through(Parse parse) {
  return [parse](std::string const& payload) -> std::string {
    auto const message = parse(payload);
    if (!message) return message.error();
    return std::visit([](auto const& value) { return to_json(value); }, *message);
  };
}

std::map<std::string, parse_and_write> const writers{
    {"to_kernel", through(parse_to_kernel)},   {"from_kernel", through(parse_from_kernel)},
    {"to_nursery", through(parse_to_nursery)}, {"from_nursery", through(parse_from_nursery)},
    {"answer", through(parse_hello)},
};

std::string attach_again(std::string const& payload) {
  auto const message = parse_attach(payload);
  return message ? to_json(*message) : message.error();
}

/// A request as the daemon makes it. What it takes besides is read by kernels alone, so it is put in from the vector.
std::string request_again(std::string const& payload, json::object const& wanted) {
  auto const message = parse_to_kernel(payload);
  if (!message) return message.error();
  auto again = std::get<request>(*message);
  for (auto const& [key, value] : wanted) {
    std::string const name{key.data(), key.size()};
    if (name == "type" || name == "id" || name == "what") continue;
    if (value.is_string())
      again.fields[name] = text(value);
    else
      again.numbers[name] = value.to_number<std::uint64_t>();
  }
  return to_json(again);
}

std::string written_again(json::value const& vector) {
  auto const payload = text(vector.at("payload"));
  auto const type = text(vector.at("message").at("type"));
  if (type == "attach") return attach_again(payload);
  if (type == "request") return request_again(payload, vector.at("message").as_object());
  return writers.at(text(vector.at("writer")))(payload);
}

}  // namespace

TEST_CASE("every golden message is read and written back byte by byte") {
  auto const vectors = load("frames.json");
  for (auto const& vector : vectors.at("frames").as_array()) {
    CAPTURE(text(vector.at("name")));
    auto const payload = text(vector.at("payload"));

    CHECK(written_again(vector) == payload);
    CHECK(claimed_type(payload) == text(vector.at("message").at("type")));
  }
}

TEST_CASE("every golden frame is encoded and decoded") {
  auto const vectors = load("frames.json");
  auto const check = [](std::uint64_t seq, std::uint64_t ack, std::string const& payload, std::string const& bytes) {
    std::string encoded;
    append(encoded, seq, ack, payload);
    CHECK(encoded == bytes);

    decoder in;
    in.feed(bytes);
    auto const item = in.next();
    REQUIRE(item);
    auto const& found = std::get<frame>(*item);
    CHECK(found.seq == seq);
    CHECK(found.ack == ack);
    CHECK(found.payload == payload);
  };

  for (auto const& vector : vectors.at("frames").as_array())
    check(vector.at("seq").to_number<std::uint64_t>(), vector.at("ack").to_number<std::uint64_t>(), text(vector.at("payload")),
          unhex(text(vector.at("hex"))));
  for (auto const& vector : vectors.at("bare_acks").as_array())
    check(0, vector.at("ack").to_number<std::uint64_t>(), "", unhex(text(vector.at("hex"))));
}

TEST_CASE("a bad payload is refused with a text by every reader") {
  auto const vectors = load("bad_payloads.json");
  for (auto const& vector : vectors.at("payloads").as_array()) {
    CAPTURE(text(vector.at("name")));
    auto const payload = unpack(vector.at("pieces"));

    auto const refused = [](auto const& message) { return !message && !message.error().empty() && message.error().size() < 300; };
    CHECK(refused(parse_from_kernel(payload)));
    CHECK(refused(parse_to_kernel(payload)));
    CHECK(refused(parse_from_nursery(payload)));
    CHECK(refused(parse_to_nursery(payload)));
    CHECK(refused(parse_hello(payload)));
    CHECK(refused(parse_attach(payload)));
    CHECK(refused(parse_exit_file(payload)));
  }
  for (auto const& vector : vectors.at("good_payloads").as_array()) {
    CAPTURE(text(vector.at("name")));
    CHECK(parse_to_nursery(unpack(vector.at("pieces"))));
  }
}

namespace {

char const* word(window::receipt receipt) {
  switch (receipt) {
    case window::receipt::fresh: return "fresh";
    case window::receipt::duplicate: return "duplicate";
    case window::receipt::gap: return "gap";
  }
  return "";
}

/// Does one step of a script and answers what it gave, in the script's terms; null for steps that give nothing.
json::value step_of(window& subject, json::array const& step) {
  auto const operation = text(step[0]);
  auto const number = [&](std::size_t i) { return step[i].to_number<std::uint64_t>(); };
  if (operation == "push") return subject.push(text(step[1])) ? json::value(subject.next_seq() - 1) : json::value("full");
  if (operation == "frame") return word(subject.on_frame(number(1), number(2)));
  if (operation == "ack") return subject.ack();
  if (operation == "unacked") return {subject.unacked_frames(), subject.unacked_bytes()};
  if (operation == "unsent") return subject.has_unsent();
  if (operation == "send") {
    json::array seqs;
    while (auto const next = subject.take_unsent()) seqs.emplace_back(next->seq);
    return seqs;
  }
  if (operation == "record") return subject.record(number(1)), nullptr;
  if (operation == "resume") return subject.resume_same(number(1), number(2)), nullptr;
  FAIL("unknown operation " << operation);
  return nullptr;
}

}  // namespace

TEST_CASE("every golden window script gives what it says") {
  auto const vectors = load("window.json");
  for (auto const& script : vectors.at("scripts").as_array()) {
    CAPTURE(text(script.at("name")));
    window subject{limits{script.at("limits").at(0).to_number<std::size_t>(), script.at("limits").at(1).to_number<std::size_t>()}};
    std::size_t index = 0;
    for (auto const& step : script.at("steps").as_array()) {
      CAPTURE(index++);
      auto const found = step_of(subject, step.as_array());
      auto const wanted = found.is_null() ? json::value{} : step.as_array().back();
      CHECK(json::serialize(found) == json::serialize(wanted));
    }
    CHECK(subject.bogus_acks() == 0);
  }
}

TEST_CASE("every golden spool gives its whole records and says what it left") {
  auto const vectors = load("spool.json");
  for (auto const& vector : vectors.at("images").as_array()) {
    CAPTURE(text(vector.at("name")));
    auto const spool = parse_spool(image_of(vector));

    REQUIRE(spool);
    CHECK(spool->acked == vector.at("acked").to_number<std::uint64_t>());
    CHECK(spool->left.bytes == vector.at("left").to_number<std::size_t>());
    CHECK(spool->left.reason.empty() == (spool->left.bytes == 0));
    auto const& wanted = vector.at("records").as_array();
    REQUIRE(spool->records.size() == wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      CHECK(spool->records[i].seq == wanted[i].at("seq").to_number<std::uint64_t>());
      CHECK(spool->records[i].payload == text(wanted[i].at("payload")));
    }
  }
  for (auto const& vector : vectors.at("refused").as_array()) {
    CAPTURE(text(vector.at("name")));
    CHECK_FALSE(parse_spool(image_of(vector)));
  }
}

TEST_CASE("every golden journal gives its whole records and says what it left") {
  auto const vectors = load("journal.json");
  auto const check = [](json::value const& vector) {
    CAPTURE(text(vector.at("name")));
    auto const journal = parse_journal(image_of(vector));

    REQUIRE(journal);
    CHECK(journal->left.bytes == vector.at("left").to_number<std::size_t>());
    CHECK(journal->left.reason.empty() == (journal->left.bytes == 0));
    auto const& wanted = vector.at("records").as_array();
    REQUIRE(journal->records.size() == wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      auto const& found = journal->records[i];
      CHECK(static_cast<std::uint64_t>(found.stream) == wanted[i].at("stream").to_number<std::uint64_t>());
      CHECK(found.cell.text == text(wanted[i].at("cell")));
      CHECK(found.offset == wanted[i].at("offset").to_number<std::uint64_t>());
      CHECK(found.text == unpack(wanted[i].at("text")));
    }
  };
  for (auto const& vector : vectors.at("images").as_array()) check(vector);
  for (auto const& vector : vectors.at("images_with_strict_reader").as_array()) check(vector);
  for (auto const& vector : vectors.at("refused").as_array()) {
    CAPTURE(text(vector.at("name")));
    CHECK_FALSE(parse_journal(image_of(vector)));
  }
}
