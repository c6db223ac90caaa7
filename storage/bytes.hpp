// Big-endian writing and bounds-checked reading of keys and values. Knows no rows.
// A reader that runs over its end stays failed and yields zeros: codecs read straight on and ask once, at the end.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "storage/records.hpp"

namespace holdfast::storage {

template <std::unsigned_integral T>
void store_big_endian(T value, char* out) {
  for (std::size_t i = 0; i < sizeof(T); ++i) out[i] = static_cast<char>(value >> (8 * (sizeof(T) - 1 - i)));
}

template <std::unsigned_integral T>
T load_big_endian(char const* in) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) value = static_cast<T>((value << 8) | static_cast<unsigned char>(in[i]));
  return value;
}

/// Appends to a string that it is lent.
class byte_writer {
 public:
  explicit byte_writer(std::string& out) : out_(out) {}

  void u8(std::uint8_t value) { out_.push_back(static_cast<char>(value)); }
  void u32(std::uint32_t value) { integer(value); }
  void u64(std::uint64_t value) { integer(value); }
  void i32(std::int32_t value) { integer(static_cast<std::uint32_t>(value)); }
  void i64(std::int64_t value) { integer(static_cast<std::uint64_t>(value)); }
  void boolean(bool value) { u8(value ? 1 : 0); }
  void raw(std::string_view bytes) { out_.append(bytes); }
  void hash(digest const& value) { out_.append(reinterpret_cast<char const*>(value.data()), value.size()); }
  void text(std::string_view value) {
    u32(static_cast<std::uint32_t>(value.size()));
    raw(value);
  }
  void list(std::vector<std::string> const& values) {
    u32(static_cast<std::uint32_t>(values.size()));
    for (auto const& value : values) text(value);
  }

 private:
  template <class T>
  void integer(T value) {
    char buffer[sizeof(T)];
    store_big_endian(value, buffer);
    out_.append(buffer, sizeof buffer);
  }

  std::string& out_;
};

/// Reads from bytes that outlive it.
class byte_reader {
 public:
  explicit byte_reader(std::string_view bytes) : rest_(bytes) {}

  std::uint8_t u8() { return integer<std::uint8_t>(); }
  std::uint32_t u32() { return integer<std::uint32_t>(); }
  std::uint64_t u64() { return integer<std::uint64_t>(); }
  std::int32_t i32() { return static_cast<std::int32_t>(u32()); }
  std::int64_t i64() { return static_cast<std::int64_t>(u64()); }
  bool boolean() { return below<std::uint8_t>(2) == 1; }
  /// A u8 that must be below `end`: an enumerator.
  template <class T>
  T below(std::uint8_t end) {
    auto value = u8();
    if (value >= end) failed_ = true;
    return static_cast<T>(value < end ? value : 0);
  }
  std::string_view raw(std::size_t size) {
    if (failed_ || size > rest_.size()) {
      failed_ = true;
      return {};
    }
    auto taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::string_view remaining() { return raw(rest_.size()); }
  digest hash() {
    digest value{};
    if (auto bytes = raw(value.size()); !failed_) std::memcpy(value.data(), bytes.data(), value.size());
    return value;
  }
  std::string_view text_view() { return raw(u32()); }
  std::string text() { return std::string(text_view()); }
  std::vector<std::string> list() {
    std::vector<std::string> values;
    // Each entry takes at least its length: a count from scribbled bytes never becomes an allocation.
    auto count = u32();
    if (count > rest_.size() / sizeof(std::uint32_t)) failed_ = true;
    for (std::uint32_t i = 0; i < count && !failed_; ++i) values.push_back(text());
    return values;
  }

  /// True when everything was there and nothing is left.
  bool finished() const { return !failed_ && rest_.empty(); }
  bool failed() const { return failed_; }
  /// What was read is nothing that was written.
  void fail() { failed_ = true; }

 private:
  template <class T>
  T integer() {
    auto bytes = raw(sizeof(T));
    return failed_ ? T{0} : load_big_endian<T>(bytes.data());
  }

  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace holdfast::storage
