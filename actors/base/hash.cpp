#include "actors/base/hash.hpp"

#include <sodium.h>

#include <cstdlib>
#include <vector>

namespace holdfast {
namespace {

/// Random bytes must not be asked for before this; it fails only where the system has no source of them.
void need_sodium() {
  static bool const is_ready = sodium_init() >= 0;
  if (!is_ready) std::abort();
}

}  // namespace

storage::digest sha256(std::string_view bytes) {
  storage::digest digest;
  static_assert(sizeof digest == crypto_hash_sha256_BYTES);
  crypto_hash_sha256(digest.data(), reinterpret_cast<unsigned char const*>(bytes.data()), bytes.size());
  return digest;
}

std::string hex(std::span<std::uint8_t const> bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (auto const byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::string random_hex(std::size_t bytes) {
  need_sodium();
  if (bytes == 0) return {};
  std::vector<std::uint8_t> random(bytes);
  randombytes_buf(random.data(), random.size());
  auto text = hex(random);
  sodium_memzero(random.data(), random.size());
  return text;
}

bool equal_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && (a.empty() || sodium_memcmp(a.data(), b.data(), a.size()) == 0);
}

}  // namespace holdfast
