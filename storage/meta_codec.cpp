// Bytes of the rows of meta: schema, home, last_session.
#include "storage/codecs.hpp"

namespace holdfast::storage {

void schema_codec::write(byte_writer& out, row const& from) { out.u32(from); }

void schema_codec::read(byte_reader& key, byte_reader& value, row& into) {
  key.remaining();
  into = value.u32();
}

void last_session_codec::write(byte_writer& out, row const& from) { out.u64(from); }

void last_session_codec::read(byte_reader& key, byte_reader& value, row& into) {
  key.remaining();
  into = value.u64();
}

void home_codec::write(byte_writer& out, row const& from) {
  out.text(from.id);
  out.u64(from.inode);
  out.text(from.machine_id);
  out.text(from.boot_id);
  out.u64(from.number);
}

void home_codec::read(byte_reader& key, byte_reader& value, row& into) {
  key.remaining();
  into.id = value.text();
  into.inode = value.u64();
  into.machine_id = value.text();
  into.boot_id = value.text();
  into.number = value.u64();
}

}  // namespace holdfast::storage
