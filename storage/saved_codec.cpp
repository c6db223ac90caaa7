// Bytes of a saved namespace's row.
#include "storage/codecs.hpp"

namespace holdfast::storage {

void saved_codec::write(byte_writer& out, row const& from) {
  out.text(from.kernel.text);
  out.text(from.file);
  out.text(from.reason);
  out.u64(from.bytes);
  out.i64(from.saved_at);
  out.list(from.names);
  std::vector<std::string> names, reasons;
  for (auto const& each : from.skipped) {
    names.push_back(each.name);
    reasons.push_back(each.reason);
  }
  out.list(names);
  out.list(reasons);
}

void saved_codec::read(byte_reader& key, byte_reader& value, row& into) {
  into.session = key.u64();
  into.slot = static_cast<std::uint32_t>(key.u64());
  into.kernel.text = value.text();
  into.file = value.text();
  into.reason = value.text();
  into.bytes = value.u64();
  into.saved_at = value.i64();
  into.names = value.list();
  auto names = value.list();
  auto reasons = value.list();
  // One reason each: else no such row was written.
  if (names.size() != reasons.size()) value.fail();
  for (std::size_t at = 0; at < names.size() && !value.failed(); ++at)
    into.skipped.push_back({std::move(names[at]), std::move(reasons[at])});
}

}  // namespace holdfast::storage
