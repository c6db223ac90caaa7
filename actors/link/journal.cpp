#include "actors/link/journal.hpp"

#include <algorithm>
#include <utility>

#include "actors/link/frame.hpp"
#include "actors/link/image_file.hpp"
#include "actors/link/utf8.hpp"

namespace holdfast::link {

namespace {

constexpr std::string_view magic = "HFJRNL01";
constexpr std::size_t ring_at = 64;
constexpr std::size_t ring_bytes = journal_bytes - ring_at;
constexpr std::size_t record_header = 16;  // length(4) stream(1) zero(1) cell_length(2) offset(8)

/// `count` bytes from logical position `at` on, which may wrap around.
std::string ring_slice(std::string_view image, std::uint64_t at, std::size_t count) {
  auto const begin = static_cast<std::size_t>(at % ring_bytes);
  auto const before_wrap = std::min(count, ring_bytes - begin);
  std::string slice{image.substr(ring_at + begin, before_wrap)};
  slice.append(image.substr(ring_at, count - before_wrap));
  return slice;
}

}  // namespace

tl::expected<journal_image, std::string> parse_journal(std::string_view image) {
  if (image.size() < journal_bytes)
    return tl::unexpected("found " + std::to_string(image.size()) + " bytes, wanted " + std::to_string(journal_bytes));
  if (image.substr(0, magic.size()) != magic) return tl::unexpected(std::string{"found no journal, wanted the magic HFJRNL01"});

  journal_image journal;
  auto const head = detail::read_big_endian<std::uint64_t>(image.data() + 8);
  auto at = detail::read_big_endian<std::uint64_t>(image.data() + 16);
  journal.out_bytes = detail::read_big_endian<std::uint64_t>(image.data() + 24);
  journal.err_bytes = detail::read_big_endian<std::uint64_t>(image.data() + 32);
  auto const stop = [&](std::string reason) { journal.left = {static_cast<std::size_t>(head - at), std::move(reason)}; };
  if (at > head || head - at > ring_bytes) {
    journal.left = {ring_bytes, "tail " + std::to_string(at) + " and head " + std::to_string(head) + " are no part of the ring"};
    return journal;
  }
  while (at < head) {
    auto const there = static_cast<std::size_t>(head - at);
    if (there < record_header) {
      stop("a record's header is cut short");
      break;
    }
    auto const header = ring_slice(image, at, record_header);
    auto length = detail::read_big_endian<std::uint32_t>(header.data());
    auto const stream = static_cast<unsigned char>(header[4]);
    auto const cell_length = detail::read_big_endian<std::uint16_t>(header.data() + 6);
    auto const offset = detail::read_big_endian<std::uint64_t>(header.data() + 8);
    if (stream != 1 && stream != 2) {
      stop("a record is of stream " + std::to_string(stream));
      break;
    }
    if (length == 0 && cell_length <= there - record_header)  // the open one
      length = static_cast<std::uint32_t>(there - record_header - cell_length);
    if (std::uint64_t{length} + cell_length > there - record_header) {
      stop("a record of " + std::to_string(length) + " bytes reaches beyond the head");
      break;
    }
    auto cell = ring_slice(image, at + record_header, cell_length);
    auto text = ring_slice(image, at + record_header + cell_length, length);
    if (!is_utf8(cell) || !is_utf8(text)) {
      stop("a record is not UTF-8");
      break;
    }
    journal.records.push_back({cell_id{std::move(cell)}, static_cast<output_stream>(stream), offset, std::move(text)});
    at += record_header + cell_length + length;
  }
  return journal;
}

tl::expected<journal_image, std::string> read_journal(std::filesystem::path const& path) {
  auto const image = read_image(path, journal_bytes, "journal");
  if (!image) return tl::unexpected(image.error());
  auto journal = parse_journal(*image);
  if (!journal) return tl::unexpected("cannot read journal " + path.string() + ": " + journal.error());
  return std::move(*journal);
}

}  // namespace holdfast::link
