#include "storage/checksum.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace holdfast::storage {
namespace {

// Eight bytes a step ("slicing by 8"): about 1.5 GB/s without depending on the processor.
using slices = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr slices make_slices() {
  slices table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0U);
    table[0][byte] = crc;
  }
  for (std::size_t slice = 1; slice < 8; ++slice) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      auto const previous = table[slice - 1][byte];
      table[slice][byte] = (previous >> 8) ^ table[0][previous & 0xFF];
    }
  }
  return table;
}

constexpr slices table = make_slices();

}  // namespace

std::uint32_t crc32c(std::string_view bytes, std::uint32_t before) {
  static_assert(std::endian::native == std::endian::little);
  std::uint32_t crc = ~before;
  auto const* at = reinterpret_cast<unsigned char const*>(bytes.data());
  auto left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    std::memcpy(&low, at, 4);
    std::memcpy(&high, at + 4, 4);
    low ^= crc;
    crc = table[7][low & 0xFF] ^ table[6][(low >> 8) & 0xFF] ^ table[5][(low >> 16) & 0xFF] ^ table[4][low >> 24] ^
          table[3][high & 0xFF] ^ table[2][(high >> 8) & 0xFF] ^ table[1][(high >> 16) & 0xFF] ^ table[0][high >> 24];
  }
  for (; left > 0; ++at, --left) crc = (crc >> 8) ^ table[0][(crc ^ *at) & 0xFF];
  return ~crc;
}

}  // namespace holdfast::storage
