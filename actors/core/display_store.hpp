// The displays of one cell, each a file beside the cell's output: what cell.display answers and what a result shows inline.
// Keeping one is idempotent: a replay writes the same file again. Survives SIGKILL of the daemon at any instruction.
// Used by its session on the multiplexer thread; whole payloads are read by the file worker only (display_data).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "actors/base/defaults.hpp"
#include "actors/base/errors.hpp"
#include "actors/link/messages.hpp"

namespace holdfast::core {

class display_store {
 public:
  /// Nothing is opened before the first use.
  explicit display_store(std::filesystem::path directory) : directory_(std::move(directory)) {}

  /// False: it could not be written (a full disk); the result says that it was left out.
  bool keep(link::display shown);
  /// As a result shows them, ascending by index: of what is over inline_display, or beyond inline_displays in all, only the size.
  std::vector<link::display> inline_ones();

 private:
  void load();
  void take(link::display shown, bool is_written);

  std::filesystem::path directory_;
  bool is_loaded_ = false;                        // what an earlier incarnation kept was looked at
  std::size_t room_ = defaults::inline_displays;  // bytes of data that kept_ may still hold
  /// By index, without the data that a result does not show; at most displays_most.
  std::map<std::uint64_t, link::display> kept_;
};

/// The file of one display.
std::filesystem::path display_file(std::filesystem::path const& directory, std::uint64_t index);

/// `{mime, data, bytes}` of one display file as JSON text; not_found names what there is.
result<std::string> display_data(std::filesystem::path const& directory, std::uint64_t index, std::string const& mime);

/// A display as results and notifications show it: index, main, offset, data, metadata, omitted.
std::string display_json(link::display const& shown);

/// Bytes of what `data` of that type stands for: base64 of a binary type counts decoded.
std::uint64_t payload_bytes(std::string_view mime, std::string_view data);

}  // namespace holdfast::core
