// Bytes of a session, and of its entries in session_keys and owners.
#include "storage/codecs.hpp"

namespace holdfast::storage {

void session_codec::write(byte_writer& out, row const& from) {
  out.text(from.key.owner);
  out.text(from.key.child);
  out.text(from.key.session);
  out.i64(from.created_at);
  out.text(from.environment);
  out.text(from.python);
  out.list(from.tools);
  out.text(from.fresh_reason);
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
  into.environment = value.text();
  into.python = value.text();
  into.tools = value.list();
  into.fresh_reason = value.text();
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
