// The must-deliver frames that a dead kernel left behind, in order (docs/wire.md, spool). Read only after proof of its absence:
// a living kernel writes while we read. Takes what is whole; where the file is damaged it stops and says how much it left.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "actors/link/left_out.hpp"

namespace holdfast::link {

constexpr std::size_t spool_bytes = std::size_t{512} << 10;

struct spooled {
  std::uint64_t seq = 0;
  std::string payload;  // as it was in the frame; its checksum is right, its JSON is not looked at
};

/// A spool's content. Records ascend by seq; some may be acked already: the receiver drops what it has.
struct spool_image {
  std::vector<spooled> records;
  std::uint64_t acked = 0;  // the highest seq that the kernel knew to be acked
  left_out left;
};

/// Reads the bytes of a spool. Fails only if they are no spool at all.
tl::expected<spool_image, std::string> parse_spool(std::string_view image);

/// Reads the file. `left`, if given, says what was not whole.
tl::expected<std::vector<spooled>, std::string> read_spool(std::filesystem::path const& path, left_out* left = nullptr);

}  // namespace holdfast::link
