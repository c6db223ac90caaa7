// The last output of a dead kernel, in written order (docs/wire.md, journal). Read only after proof of its absence.
// Takes what is whole; where the ring is damaged it stops and says how much it left.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "actors/link/left_out.hpp"
#include "actors/link/messages.hpp"

namespace holdfast::link {

constexpr std::size_t journal_bytes = std::size_t{256} << 10;

/// The same facts as an output frame; writing it at its offset twice is harmless.
struct journal_record {
  cell_id cell;
  output_stream stream = output_stream::out;
  std::uint64_t offset = 0;  // of text in the cell's combined output, in bytes
  std::string text;          // UTF-8
};

/// A journal's content, oldest first. What fell out of the ring before is missing without a trace: see the offsets.
struct journal_image {
  std::vector<journal_record> records;
  /// Bytes of each stream that the cell of the newest record had written, kept or not.
  std::uint64_t out_bytes = 0;
  std::uint64_t err_bytes = 0;
  left_out left;
};

/// Reads the bytes of a journal, which must be journal_bytes. Fails only if they are no journal at all.
tl::expected<journal_image, std::string> parse_journal(std::string_view image);

/// Reads the file.
tl::expected<journal_image, std::string> read_journal(std::filesystem::path const& path);

}  // namespace holdfast::link
