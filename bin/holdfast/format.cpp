#include "bin/holdfast/format.hpp"

#include <spdlog/fmt/fmt.h>

namespace holdfast::cli {

std::string human_duration(std::int64_t milliseconds) {
  auto const seconds = static_cast<double>(milliseconds) / 1000;
  if (seconds < 1) return fmt::format("{} ms", milliseconds);
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{:.0f} h", seconds / 3600);
  return fmt::format("{:.0f} d", seconds / 86400);
}

std::string human_bytes(std::int64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto amount = static_cast<double>(bytes) / 1024;
  for (auto const* unit : {"KiB", "MiB", "GiB"}) {
    if (amount < 10) return fmt::format("{:.1f} {}", amount, unit);
    if (amount < 1024) return fmt::format("{:.0f} {}", amount, unit);
    amount /= 1024;
  }
  return fmt::format("{:.1f} TiB", amount);
}

std::string human_instant(std::string_view rfc3339) {
  if (rfc3339.size() < 19) return std::string(rfc3339);
  auto shown = std::string(rfc3339.substr(0, 19));
  shown[10] = ' ';
  return shown;
}

std::string one_line(std::string_view text) {
  std::string line;
  for (auto const character : text) {
    if (character == '\n') {
      line += "; ";
    } else {
      auto const byte = static_cast<unsigned char>(character);
      line += byte < 0x20 || byte == 0x7f ? ' ' : character;
    }
  }
  while (line.ends_with("; ")) line.resize(line.size() - 2);
  return line;
}

std::string escaped(std::string_view text) {
  std::string shown;
  for (auto const character : text) {
    auto const byte = static_cast<unsigned char>(character);
    shown += byte < 0x20 || byte >= 0x7f ? fmt::format("\\x{:02x}", byte) : std::string(1, character);
  }
  return shown;
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-/@%+=,";
  if (!text.empty() && text.find_first_not_of(plain) == std::string_view::npos) return std::string(text);
  std::string quoted = "'";
  for (auto const character : text) {
    if (character == '\'')
      quoted += "'\\''";
    else
      quoted += character;
  }
  return quoted + "'";
}

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace holdfast::cli
