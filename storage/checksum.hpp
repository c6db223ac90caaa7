// CRC-32C (Castagnoli), as every value carries it. Finds damage; guards against no malice.
#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast::storage {

/// The checksum of `bytes` following what `before` is the checksum of; 0 at the start.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);

}  // namespace holdfast::storage
