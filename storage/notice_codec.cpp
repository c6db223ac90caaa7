// Bytes of a notice, or of the mark of a withdrawn one.
#include "storage/codecs.hpp"

namespace holdfast::storage {
namespace {

enum class form : std::uint8_t { none, notice, withdrawn };

}  // namespace

void notice_codec::write(byte_writer& out, row const& from) {
  out.u8(static_cast<std::uint8_t>(from.withdrawn ? form::withdrawn : form::notice));
  if (from.withdrawn) return;
  out.text(from.notice.kind);
  out.text(from.notice.text);
  out.text(from.notice.details);
  out.i64(from.notice.at);
}

void notice_codec::read(byte_reader& key, byte_reader& value, row& into) {
  into.notice.session = key.u64();
  into.notice.notice.text = std::string(key.remaining());
  switch (value.below<form>(3)) {
    case form::none: value.raw(1 + value.remaining().size()); return;  // not a form: fail
    case form::withdrawn: into.withdrawn = true; return;
    case form::notice: break;
  }
  into.notice.kind = value.text();
  into.notice.text = value.text();
  into.notice.details = value.text();
  into.notice.at = value.i64();
}

}  // namespace holdfast::storage
