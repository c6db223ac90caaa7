// The log: `time level event subject verb object`, one line each, such as
// `2026-01-31T12:00:00.000Z info link-resumed kernel k-3 resumed at seq 41 after 2.1s`.
// Off until opened, so that an embedder's streams stay its own; never on stdout. Callers never hand in user code or secrets.
#pragma once

#include <filesystem>
#include <string_view>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "actors/base/errors.hpp"

namespace holdfast::log {

enum class level { info, warn, error, off };

/// Appends to a file of mode 0600 from now on, rotated at 10 MiB, three of them kept. Any thread.
result<void> open(std::filesystem::path const& path, level least = level::info);
/// Writes to standard error from now on.
void open_stderr(level least = level::info);
/// Flushes and is off again.
void close();

/// Whether a line of this level would be written: one relaxed load.
bool is_enabled(level at);
/// Writes one line; control characters in it are escaped, so that a text from outside cannot forge a line.
void write(level at, std::string_view event, std::string_view text);

template <class... Args>
void info(std::string_view event, fmt::format_string<Args...> text, Args&&... args) {
  if (is_enabled(level::info)) write(level::info, event, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
void warn(std::string_view event, fmt::format_string<Args...> text, Args&&... args) {
  if (is_enabled(level::warn)) write(level::warn, event, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
void error(std::string_view event, fmt::format_string<Args...> text, Args&&... args) {
  if (is_enabled(level::error)) write(level::error, event, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace holdfast::log
