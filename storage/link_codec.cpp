// Bytes of a link and of a nursery: what is known of a process of ours.
#include "storage/codecs.hpp"

namespace holdfast::storage {
namespace {

constexpr std::size_t last_seq_offset = 2;  // behind version and state

void write_process(byte_writer& out, process_identity const& from) {
  out.text(from.boot_id);
  out.u64(from.pid_namespace);
  out.i32(from.pid);
  out.u64(from.start_time);
}

process_identity read_process(byte_reader& value) {
  process_identity into;
  into.boot_id = value.text();
  into.pid_namespace = value.u64();
  into.pid = value.i32();
  into.start_time = value.u64();
  return into;
}

}  // namespace

void link_codec::write(byte_writer& out, row const& from) {
  out.u8(static_cast<std::uint8_t>(from.state));
  out.u64(from.last_seq);
  out.u64(from.session);
  out.u32(from.slot);
  out.u64(from.epoch);
  out.u64(from.generation);
  out.u32(from.protocol);
  out.i64(from.started_at);
  out.i64(from.idle_since);
  out.text(from.environment);
  out.text(from.python);
  out.text(from.asked_python);
  out.list(from.tools);
  out.text(from.token);
  out.text(from.nursery.text);
  out.text(from.directory);
  write_process(out, from.process);
  out.text(from.program);
  out.text(from.reason);
}

void link_codec::read(byte_reader& key, byte_reader& value, row& into) {
  into.kernel.text = std::string(key.remaining());
  into.state = value.below<link_state>(static_cast<std::uint8_t>(link_state::orphan) + 1);
  into.last_seq = value.u64();
  into.session = value.u64();
  into.slot = value.u32();
  into.epoch = value.u64();
  into.generation = value.u64();
  into.protocol = value.u32();
  into.started_at = value.i64();
  into.idle_since = value.i64();
  into.environment = value.text();
  into.python = value.text();
  into.asked_python = value.text();
  into.tools = value.list();
  into.token = value.text();
  into.nursery.text = value.text();
  into.directory = value.text();
  into.process = read_process(value);
  into.program = value.text();
  into.reason = value.text();
}

std::uint64_t peek_last_seq(std::string_view encoded_link) {
  if (encoded_link.size() < last_seq_offset + sizeof(std::uint64_t)) return 0;
  return load_big_endian<std::uint64_t>(encoded_link.data() + last_seq_offset);
}

void nursery_codec::write(byte_writer& out, row const& from) {
  out.text(from.key);
  out.text(from.python);
  out.text(from.program);
  out.text(from.token);
  out.text(from.directory);
  write_process(out, from.process);
  out.i64(from.started_at);
}

void nursery_codec::read(byte_reader& key, byte_reader& value, row& into) {
  into.nursery.text = std::string(key.remaining());
  into.key = value.text();
  into.python = value.text();
  into.program = value.text();
  into.token = value.text();
  into.directory = value.text();
  into.process = read_process(value);
  into.started_at = value.i64();
}

}  // namespace holdfast::storage
