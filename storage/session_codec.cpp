// Bytes of a session, and of its entries in session_keys and owners.
#include "storage/codecs.hpp"

namespace holdfast::storage {
namespace {

void write_slots(byte_writer& out, std::vector<kernel_slot> const& slots) {
  out.u32(static_cast<std::uint32_t>(slots.size()));
  for (auto const& each : slots) {
    out.u32(each.number);
    out.text(each.environment);
    out.text(each.python);
    out.list(each.tools);
    out.text(each.fresh_reason);
  }
}

std::vector<kernel_slot> read_slots(byte_reader& value) {
  std::vector<kernel_slot> slots;
  auto const count = value.u32();
  for (std::uint32_t at = 0; at < count && !value.failed(); ++at) {
    auto& into = slots.emplace_back();
    into.number = value.u32();
    into.environment = value.text();
    into.python = value.text();
    into.tools = value.list();
    into.fresh_reason = value.text();
  }
  if (slots.empty()) value.fail();  // no such row was written
  return slots;
}

}  // namespace

void session_codec::write(byte_writer& out, row const& from) {
  out.text(from.key.owner);
  out.text(from.key.child);
  out.text(from.key.session);
  out.i64(from.created_at);
  write_slots(out, from.slots);
  out.u32(from.slot);
  out.u32(from.restarts);
  out.text(from.cwd);
  out.list(from.variables);
}

void session_codec::read(byte_reader& key, byte_reader& value, row& into) {
  into.number = key.u64();
  into.key.owner = value.text();
  into.key.child = value.text();
  into.key.session = value.text();
  into.created_at = value.i64();
  into.slots = read_slots(value);
  into.slot = value.u32();
  into.restarts = value.u32();
  into.cwd = value.text();
  into.variables = value.list();
}

void session_key_codec::write(byte_writer& out, row const& from) { out.u64(from); }

void session_key_codec::read(byte_reader& key, byte_reader& value, row& into) {
  key.remaining();  // asked for by its bytes: nothing in it to tell
  into = value.u64();
}

void owner_codec::write(byte_writer& out, row const& from) { out.text(from.child); }

void owner_codec::read(byte_reader& key, byte_reader& value, row& into) {
  auto const bytes = key.remaining();
  // The number stands last, behind an owner of any length.
  if (bytes.size() >= 8) into.session = load_big_endian<std::uint64_t>(bytes.data() + bytes.size() - 8);
  into.child = value.text();
}

void doomed_codec::write(byte_writer&, row const&) {}

void doomed_codec::read(byte_reader& key, byte_reader&, row& into) { into.session = key.u64(); }

}  // namespace holdfast::storage
