// Digests, random bytes and comparison of secrets, by libsodium.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "storage/records.hpp"

namespace holdfast {

storage::digest sha256(std::string_view bytes);
/// Lower-case hexadecimal.
std::string hex(std::span<std::uint8_t const> bytes);
/// That many random bytes as twice as many hexadecimal digits: random_hex(32) is a kernel's token.
std::string random_hex(std::size_t bytes);
/// Whether both are the same, in a time that depends on their length only.
bool equal_constant_time(std::string_view a, std::string_view b);

}  // namespace holdfast
