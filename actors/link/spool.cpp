#include "actors/link/spool.hpp"

#include <utility>

#include "actors/link/crc32.hpp"
#include "actors/link/frame.hpp"
#include "actors/link/image_file.hpp"

namespace holdfast::link {

namespace {

constexpr std::string_view magic = "HFSPOOL1";
constexpr std::size_t records_at = 64;
constexpr std::size_t record_header = 16;  // length(4) seq(8) crc32(4)

/// The record that `bytes` begins with, if it is whole and follows the one of seq `last`.
tl::expected<spooled, std::string> read_record(std::string_view bytes, std::uint64_t last) {
  if (bytes.size() < record_header) return tl::unexpected(std::string{"a record's header is cut short"});
  auto const length = detail::read_big_endian<std::uint32_t>(bytes.data());
  auto const seq = detail::read_big_endian<std::uint64_t>(bytes.data() + 4);
  auto const checksum = detail::read_big_endian<std::uint32_t>(bytes.data() + 12);
  if (length > bytes.size() - record_header)
    return tl::unexpected("a record of " + std::to_string(length) + " bytes reaches beyond the file");
  if (seq <= last) return tl::unexpected("seq " + std::to_string(seq) + " follows " + std::to_string(last));
  auto const payload = bytes.substr(record_header, length);
  if (crc32(payload) != checksum) return tl::unexpected("the checksum of seq " + std::to_string(seq) + " is wrong");
  return spooled{seq, std::string{payload}};
}

}  // namespace

tl::expected<spool_image, std::string> parse_spool(std::string_view image) {
  if (image.size() < records_at)
    return tl::unexpected("found " + std::to_string(image.size()) + " bytes, wanted at least " + std::to_string(records_at));
  if (image.substr(0, magic.size()) != magic) return tl::unexpected(std::string{"found no spool, wanted the magic HFSPOOL1"});

  spool_image spool;
  auto const end = detail::read_big_endian<std::uint64_t>(image.data() + 8);
  spool.acked = detail::read_big_endian<std::uint64_t>(image.data() + 16);
  // The kernel may have died while it wrote `end`. A whole record with a right checksum and a rising seq speaks for itself, so an end
  // that is nowhere, or within a record, is not believed; one at a record's edge is, as older records lie behind it.
  auto const end_is_there = end >= records_at && end <= image.size();
  std::size_t at = records_at;
  std::uint64_t last = 0;
  while (at != end) {
    auto record = read_record(image.substr(at), last);
    if (!record) {
      auto const wanted = end_is_there ? static_cast<std::size_t>(end) : image.size();
      if (at < wanted) spool.left = {wanted - at, std::move(record.error())};
      break;
    }
    last = record->seq;
    at += record_header + record->payload.size();
    spool.records.push_back(std::move(*record));
  }
  return spool;
}

tl::expected<std::vector<spooled>, std::string> read_spool(std::filesystem::path const& path, left_out* left) {
  auto const image = read_image(path, spool_bytes, "spool");
  if (!image) return tl::unexpected(image.error());
  auto spool = parse_spool(*image);
  if (!spool) return tl::unexpected("cannot read spool " + path.string() + ": " + spool.error());
  if (left) *left = std::move(spool->left);
  return std::move(spool->records);
}

}  // namespace holdfast::link
