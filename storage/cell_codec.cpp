// Bytes of a cell, of its id, and of what marks it as open or expired.
#include "storage/codecs.hpp"

namespace holdfast::storage {
namespace {

constexpr std::size_t status_offset = 1;  // behind the version
constexpr std::uint8_t status_end = static_cast<std::uint8_t>(cell_status::lost) + 1;

}  // namespace

char const* to_string(cell_status status) {
  switch (status) {
    case cell_status::queued: return "queued";
    case cell_status::running: return "running";
    case cell_status::ok: return "ok";
    case cell_status::error: return "error";
    case cell_status::exit: return "exit";
    case cell_status::timeout: return "timeout";
    case cell_status::interrupted: return "interrupted";
    case cell_status::lost: return "lost";
  }
  return "lost";
}

void cell_codec::write(byte_writer& out, row const& from) {
  out.u8(static_cast<std::uint8_t>(from.status));
  out.hash(from.code);
  out.text(from.cell.text);
  out.i64(from.queued_at);
  out.i64(from.started_at);
  out.i64(from.finished_at);
  out.i64(from.timeout_ms);
  out.u64(from.generation);
  out.u64(from.output_bytes);
  out.u32(from.requeues);
  out.u32(from.displays);
  out.i64(from.background_after_ms);
  out.boolean(from.background);
  out.text(from.kernel.text);
  out.text(from.source);
  out.text(from.result);
}

void cell_codec::read(byte_reader& key, byte_reader& value, row& into) {
  into.session = key.u64();
  into.number = key.u64();
  into.status = value.below<cell_status>(status_end);
  into.code = value.hash();
  into.cell.text = value.text();
  into.queued_at = value.i64();
  into.started_at = value.i64();
  into.finished_at = value.i64();
  into.timeout_ms = value.i64();
  into.generation = value.u64();
  into.output_bytes = value.u64();
  into.requeues = value.u32();
  into.displays = value.u32();
  into.background_after_ms = value.i64();
  into.background = value.boolean();
  into.kernel.text = value.text();
  into.source = value.text();
  into.result = value.text();
}

cell_status peek_status(std::string_view encoded_cell) {
  if (encoded_cell.size() <= status_offset) return cell_status::queued;
  return static_cast<cell_status>(encoded_cell[status_offset]);
}

void cell_index_codec::write(byte_writer& out, row const& from) {
  out.u64(from.number);
  out.hash(from.code);
  out.boolean(from.expired);
}

void cell_index_codec::read(byte_reader& key, byte_reader& value, row& into) {
  key.remaining();  // asked for by its bytes
  into.number = value.u64();
  into.code = value.hash();
  into.expired = value.boolean();
}

void open_cell_codec::write(byte_writer&, row const&) {}

void open_cell_codec::read(byte_reader& key, byte_reader&, row& into) {
  into.session = key.u64();
  into.number = key.u64();
}

void expired_cell_codec::write(byte_writer& out, row const& from) { out.text(from.cell.text); }

void expired_cell_codec::read(byte_reader& key, byte_reader& value, row& into) {
  into.session = key.u64();
  into.number = key.u64();
  into.cell.text = value.text();
}

void outbox_codec::write(byte_writer& out, row const& from) {
  out.text(from.code);
  out.boolean(from.reset);
  out.u32(from.slot);
  out.text(from.if_kernel);
}

void outbox_codec::read(byte_reader& key, byte_reader& value, row& into) {
  into.session = key.u64();
  into.number = key.u64();
  into.code = value.text();
  into.reset = value.boolean();
  into.slot = value.u32();
  into.if_kernel = value.text();
}

}  // namespace holdfast::storage
