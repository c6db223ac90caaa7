// Turns numbers and texts of the daemon's answers into what a human reads. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::cli {

/// "250 ms", "3.2 s", "25 s", "12 min", "3 h", "9 d": two significant digits are enough for a table.
std::string human_duration(std::int64_t milliseconds);
/// "512 B", "3.1 KiB", "15 MiB".
std::string human_bytes(std::int64_t bytes);
/// "2026-01-31 12:00:05" from an RFC 3339 instant (UTC); "" from "".
std::string human_instant(std::string_view rfc3339);
/// On one line and without control characters: a newline becomes "; ", others a space. Text of a cell must not steer a terminal here.
std::string one_line(std::string_view text);
/// With bytes that are not ASCII as \xNN: for text that is not UTF-8.
std::string escaped(std::string_view text);
/// Quoted for a shell, if it has to be.
std::string shell_word(std::string_view text);
/// "1 kernel", "2 kernels".
std::string counted(std::int64_t count, std::string_view noun);

}  // namespace holdfast::cli
