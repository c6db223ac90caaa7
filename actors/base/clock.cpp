#include "actors/base/clock.hpp"

#include <sodium.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <mutex>

#include <spdlog/fmt/fmt.h>

namespace holdfast {
namespace {

/// The random part of a ULID, 16 digits of 5 bits, as a number that can be counted up.
using ulid_random = std::array<std::uint8_t, 16>;

ulid_random draw() {
  ulid_random digits;
  if (sodium_init() < 0) std::abort();
  randombytes_buf(digits.data(), digits.size());
  for (auto& digit : digits) digit &= 31;
  digits.front() &= 15;  // leaves room to count up within one millisecond: 2^79 before it wraps
  return digits;
}

void count_up(ulid_random& digits) {
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
    *digit = (*digit + 1) & 31;
    if (*digit != 0) return;
  }
}

}  // namespace

storage::unix_ms now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string rfc3339(storage::unix_ms at) {
  auto seconds = static_cast<std::time_t>(at / 1000);
  auto milliseconds = static_cast<int>(at % 1000);
  if (milliseconds < 0) {
    milliseconds += 1000;
    --seconds;
  }
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour,
                     utc.tm_min, utc.tm_sec, milliseconds);
}

std::string make_ulid() {
  static constexpr char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";  // Crockford's base 32, ascending in ASCII
  static std::mutex mutex;
  static storage::unix_ms last_time = 0;  // of the newest ULID: never goes back
  static ulid_random last_random{};       // of the newest ULID

  std::lock_guard const lock(mutex);
  auto const now = now_ms();
  if (now > last_time) {
    last_time = now;
    last_random = draw();
  } else {
    count_up(last_random);
  }
  std::string text(26, '0');
  auto time = static_cast<std::uint64_t>(last_time);
  for (int place = 9; place >= 0; --place, time >>= 5) text[static_cast<std::size_t>(place)] = alphabet[time & 31];
  for (std::size_t place = 0; place < last_random.size(); ++place) text[10 + place] = alphabet[last_random[place]];
  return text;
}

}  // namespace holdfast
