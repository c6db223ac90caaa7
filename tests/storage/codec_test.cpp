#include <random>

#include "storage/checksum.hpp"
#include "storage/codecs.hpp"
#include "storage/keys.hpp"
#include "storage/row_frame.hpp"
#include "tests/storage/fixture.hpp"

using namespace holdfast;
using namespace holdfast::storage;

namespace {

struct encoded_row {
  std::string kind;
  std::string key;
  std::string value;
  bool (*decodes)(std::string_view key, std::string_view value);
  std::string (*again)(std::string_view key, std::string_view value);  // decoded and encoded once more
};

template <class Codec>
encoded_row encoded(std::string kind, std::string_view key, typename Codec::row const& row) {
  encoded_row made{std::move(kind), std::string(key), {}, {}, {}};
  encode<Codec>(key, row, made.value);
  made.decodes = [](std::string_view k, std::string_view v) { return decode<Codec>(k, v).has_value(); };
  made.again = [](std::string_view k, std::string_view v) {
    std::string out;
    encode<Codec>(k, *decode<Codec>(k, v), out);
    return out;
  };
  return made;
}

std::vector<encoded_row> one_of_each() {
  auto const session = session_row(7, "s", "o", "c");
  stored_notice mark{true, {}};
  mark.notice.session = 7;
  mark.notice.notice = notice_id("n-1");
  return {
      encoded<session_codec>("session", key_of(7), session),
      encoded<session_key_codec>("session key", key_of(session.key), 7),
      encoded<owner_codec>("owner", owner_key("o", 7), {7, "c"}),
      encoded<cell_codec>("cell", key_of(7, 3), final_cell(7, 3)),
      encoded<cell_index_codec>("cell id", key_of(7, "c-3"), {3, digest_of(3), true}),
      encoded<open_cell_codec>("open cell", key_of(7, 3), {7, 3}),
      encoded<expired_cell_codec>("expired cell", key_of(7, 3), {7, 3, cell_id("c-3")}),
      encoded<outbox_codec>("outbox", key_of(7, 3), {7, 3, "print(1)", true, 3, "k-1"}),
      encoded<link_codec>("link", "k-1", link_row("k-1")),
      encoded<job_codec>("job", key_of(7, "j-1"), job_row(7, "j-1")),
      encoded<job_codec>("ended job", key_of(7, "j-1"), job_row(7, "j-1", job_state::stopped)),
      encoded<job_id_codec>("job id", "j-1", 7),
      encoded<nursery_codec>("nursery", "y-1", nursery_row("y-1")),
      encoded<notice_codec>("notice", key_of(7, "n-1"), {false, notice_row(7, "n-1")}),
      encoded<notice_codec>("withdrawn notice", key_of(7, "n-1"), mark),
      encoded<saved_codec>("saved namespace", key_of(7, 0), saved_row(7)),
      encoded<doomed_codec>("doomed", key_of(7), {7, 0}),
      encoded<schema_codec>("schema", schema_codec::name, 1),
      encoded<last_session_codec>("last session", last_session_codec::name, 7),
      encoded<home_codec>("home", home_codec::name, {"id", 4, "machine", "boot", 9}),
  };
}

/// Puts a true checksum under scribbled fields, so that it is the codec that has to find them.
void seal(std::string_view key, std::string& value) {
  auto const body = std::string_view(value).substr(0, value.size() - 4);
  store_big_endian(crc32c(body, crc32c(key)), value.data() + body.size());
}

}  // namespace

TEST_CASE("crc32c gives the published check value") {
  CHECK(crc32c("123456789") == 0xE3069283U);
  CHECK(crc32c("6789", crc32c("12345")) == 0xE3069283U);
}

TEST_CASE("every row decodes to what was encoded") {
  for (auto const& row : one_of_each()) {
    INFO(row.kind);
    REQUIRE(row.decodes(row.key, row.value));
    CHECK(row.again(row.key, row.value) == row.value);
  }
}

TEST_CASE("every field of a cell survives its bytes") {
  auto cell = final_cell(3, 4, cell_status::timeout);
  cell.generation = 11;
  cell.requeues = 2;
  cell.timeout_ms = 300'000;
  cell.output_bytes = 1ULL << 40;
  cell.displays = 3;
  cell.background_after_ms = 60'000;
  cell.background = true;
  std::string value;
  encode<cell_codec>(key_of(3, 4), cell, value);

  auto const read = decode<cell_codec>(key_of(3, 4), value);

  REQUIRE(read);
  CHECK(read->session == 3);
  CHECK(read->number == 4);
  CHECK(read->cell == cell.cell);
  CHECK(read->code == cell.code);
  CHECK(read->source == cell.source);
  CHECK(read->status == cell.status);
  CHECK(read->kernel == cell.kernel);
  CHECK(read->generation == 11);
  CHECK(read->requeues == 2);
  CHECK(read->queued_at == cell.queued_at);
  CHECK(read->started_at == cell.started_at);
  CHECK(read->finished_at == cell.finished_at);
  CHECK(read->timeout_ms == 300'000);
  CHECK(read->output_bytes == 1ULL << 40);
  CHECK(read->displays == 3);
  CHECK(read->background_after_ms == 60'000);
  CHECK(read->background);
  CHECK(read->result == cell.result);
  CHECK(peek_status(value) == cell_status::timeout);
}

TEST_CASE("every field of a link survives its bytes") {
  auto const link = link_row("k-9", 77);
  std::string value;
  encode<link_codec>("k-9", link, value);

  auto const read = decode<link_codec>("k-9", value);

  REQUIRE(read);
  CHECK(read->kernel == link.kernel);
  CHECK(read->session == link.session);
  CHECK(read->slot == link.slot);
  CHECK(read->environment == link.environment);
  CHECK(read->python == link.python);
  CHECK(read->tools == link.tools);
  CHECK(read->state == link.state);
  CHECK(read->token == link.token);
  CHECK(read->nursery == link.nursery);
  CHECK(read->directory == link.directory);
  CHECK(read->process == link.process);
  CHECK(read->program == link.program);
  CHECK(read->protocol == link.protocol);
  CHECK(read->epoch == link.epoch);
  CHECK(read->generation == link.generation);
  CHECK(read->reason == link.reason);
  CHECK(read->started_at == link.started_at);
  CHECK(read->idle_since == link.idle_since);
  CHECK(peek_last_seq(value) == 77);
}

TEST_CASE("every slot of a session survives its bytes, and a session without any was never written") {
  auto session = session_row(7, "a");
  std::string value;
  encode<session_codec>(key_of(7), session, value);

  auto const read = decode<session_codec>(key_of(7), value);

  REQUIRE(read);
  CHECK(read->slot == 3);
  REQUIRE(read->slots.size() == 2);
  CHECK(read->slots[1].number == 3);
  CHECK(read->slots[1].is_for("far", "python3.12", {"read_file", "web_search"}));
  CHECK(read->slots[1].fresh_reason == "died");

  session.slots.clear();
  encode<session_codec>(key_of(7), session, value);
  CHECK_FALSE(decode<session_codec>(key_of(7), value));
}

TEST_CASE("every field of a job survives its bytes") {
  auto const job = job_row(7, "j-9", job_state::lost);
  std::string value;
  encode<job_codec>(key_of(7, "j-9"), job, value);

  auto const read = decode<job_codec>(key_of(7, "j-9"), value);

  REQUIRE(read);
  CHECK(read->session == 7);
  CHECK(read->job == job.job);
  CHECK(read->kernel == job.kernel);
  CHECK(read->cell == job.cell);
  CHECK(read->command == job.command);
  CHECK(read->pid == job.pid);
  CHECK(read->start_time == job.start_time);
  CHECK(read->group == job.group);
  CHECK(read->keep);
  CHECK(read->state == job_state::lost);
  CHECK(read->exit_code == -9);
  CHECK(read->timed_out);
  CHECK(read->started_at == job.started_at);
  CHECK(read->finished_at == job.finished_at);
  CHECK(read->output_bytes == job.output_bytes);
  CHECK(read->notice == job.notice);
  CHECK(peek_job_state(value) == job_state::lost);
}

TEST_CASE("every field of a saved namespace survives its bytes") {
  auto const saved = saved_row(7, "grace", 2);
  std::string value;
  encode<saved_codec>(key_of(7, 2), saved, value);

  auto const read = decode<saved_codec>(key_of(7, 2), value);

  REQUIRE(read);
  CHECK(read->session == 7);
  CHECK(read->kernel == saved.kernel);
  CHECK(read->slot == 2);
  CHECK(read->file == "state/7.2");
  CHECK(read->reason == "grace");
  CHECK(read->bytes == 4711);
  CHECK(read->saved_at == saved.saved_at);
  CHECK(read->names == saved.names);
  CHECK(read->skipped == saved.skipped);
}

TEST_CASE("a value cut short anywhere does not decode") {
  for (auto const& row : one_of_each()) {
    for (std::size_t size = 0; size < row.value.size(); ++size) {
      INFO(row.kind << " cut to " << size);
      CHECK_FALSE(row.decodes(row.key, std::string_view(row.value).substr(0, size)));
    }
  }
}

TEST_CASE("a value with any one byte scribbled on does not decode") {
  for (auto const& row : one_of_each()) {
    for (std::size_t at = 0; at < row.value.size(); ++at) {
      auto scribbled = row.value;
      scribbled[at] = static_cast<char>(scribbled[at] ^ 0x5A);
      INFO(row.kind << " at " << at);
      CHECK_FALSE(row.decodes(row.key, scribbled));
    }
  }
}

TEST_CASE("a value under another key does not decode") {
  for (auto const& row : one_of_each()) {
    auto key = row.key;
    key.back() = static_cast<char>(key.back() ^ 1);
    INFO(row.kind);
    CHECK_FALSE(row.decodes(key, row.value));
  }
}

TEST_CASE("fields cut short under a true checksum do not decode") {
  for (auto const& row : one_of_each()) {
    for (std::size_t size = 5; size < row.value.size(); ++size) {
      auto cut = row.value.substr(0, size);
      seal(row.key, cut);
      INFO(row.kind << " cut to " << size);
      CHECK_FALSE(row.decodes(row.key, cut));
    }
    auto longer = row.value + '\0';
    seal(row.key, longer);
    INFO(row.kind);
    CHECK_FALSE(row.decodes(row.key, longer));
  }
}

TEST_CASE("random fields under a true checksum never do harm") {
  std::mt19937 random(20240611);
  for (auto const& row : one_of_each()) {
    for (int round = 0; round < 2000; ++round) {
      auto scribbled = row.value;
      for (int i = 0; i < 3; ++i) scribbled[1 + random() % (scribbled.size() - 1)] = static_cast<char>(random());
      seal(row.key, scribbled);
      // Text may be any text. What decodes must at least be a row that encodes to these bytes.
      if (row.decodes(row.key, scribbled)) CHECK(row.again(row.key, scribbled) == scribbled);
    }
  }
}

TEST_CASE("a status, state or form out of range does not decode") {
  std::string value;
  encode<cell_codec>(key_of(1, 1), queued_cell(1, 1), value);
  value[1] = 8;
  seal(key_of(1, 1), value);
  CHECK_FALSE(decode<cell_codec>(key_of(1, 1), value));

  encode<link_codec>("k", link_row("k"), value);
  value[1] = 3;
  seal("k", value);
  CHECK_FALSE(decode<link_codec>("k", value));

  encode<job_codec>(key_of(1, "j"), job_row(1, "j"), value);
  value[1] = 4;
  seal(key_of(1, "j"), value);
  CHECK_FALSE(decode<job_codec>(key_of(1, "j"), value));

  encode<notice_codec>(key_of(1, "n"), {false, notice_row(1, "n")}, value);
  for (char form : {'\0', '\3'}) {
    value[1] = form;
    seal(key_of(1, "n"), value);
    CHECK_FALSE(decode<notice_codec>(key_of(1, "n"), value));
  }
}

TEST_CASE("keys sort as their numbers do") {
  CHECK(key_of(255).view() < key_of(256).view());
  CHECK(key_of(1, cell_number{300}).view() < key_of(2, cell_number{1}).view());
  CHECK(key_of(std::string_view{}.size() + 9, cell_number{65535}).view() < key_of(9, cell_number{65536}).view());
}

TEST_CASE("the longest names make a key that LMDB takes") {
  session_key const key{std::string(128, 'o'), std::string(128, 'c'), std::string(128, 's')};
  CHECK(key_of(key).view().size() == 386);
  CHECK(key_of(key).view().size() <= key_buffer::limit);
}
