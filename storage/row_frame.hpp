// What stands around the fields of every value: a version byte before, a checksum over key and value behind.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "storage/bytes.hpp"
#include "storage/checksum.hpp"

namespace holdfast::storage {

inline constexpr std::uint8_t value_version = 1;

/// Replaces `out` by the value of `row` under `key`.
template <class Codec>
void encode(std::string_view key, typename Codec::row const& row, std::string& out) {
  out.clear();
  byte_writer writer(out);
  writer.u8(value_version);
  Codec::write(writer, row);
  writer.u32(crc32c(out, crc32c(key)));
}

/// Nothing if these bytes were not written by encode() under this very key.
template <class Codec>
std::optional<typename Codec::row> decode(std::string_view key, std::string_view value) {
  constexpr std::size_t checksum_size = sizeof(std::uint32_t);
  if (value.size() < 1 + checksum_size) return std::nullopt;
  auto const body = value.substr(0, value.size() - checksum_size);
  if (load_big_endian<std::uint32_t>(value.data() + body.size()) != crc32c(body, crc32c(key))) return std::nullopt;
  byte_reader key_reader(key);
  byte_reader value_reader(body);
  if (value_reader.u8() != value_version) return std::nullopt;
  std::optional<typename Codec::row> row(std::in_place);
  Codec::read(key_reader, value_reader, *row);
  if (!key_reader.finished() || !value_reader.finished()) return std::nullopt;
  return row;
}

}  // namespace holdfast::storage
