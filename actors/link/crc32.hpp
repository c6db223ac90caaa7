// The checksum of spool records: CRC-32 as in zlib (reflected, polynomial 0xedb88320).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace holdfast::link {

namespace detail {

constexpr std::array<std::uint32_t, 256> crc32_table = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    auto value = i;
    for (int bit = 0; bit < 8; ++bit) value = value & 1 ? value >> 1 ^ 0xedb88320u : value >> 1;
    table[i] = value;
  }
  return table;
}();

}  // namespace detail

constexpr std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t value = 0xffffffff;
  for (char const byte : bytes) value = detail::crc32_table[(value ^ static_cast<unsigned char>(byte)) & 0xff] ^ value >> 8;
  return ~value;
}

static_assert(crc32("123456789") == 0xcbf43926);

}  // namespace holdfast::link
