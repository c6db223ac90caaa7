// The `text` of a cell's result from what is kept of it: its row, its result as JSON text, its output log.
// Collaborators: text_facts, output_log, result_text, which decides. Reads one file; keeps nothing.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "actors/core/result_text.hpp"
#include "actors/core/text_facts.hpp"
#include "storage/records.hpp"

namespace holdfast::core {

/// `output_file` is that of the cell's output_log; `limit` is in bytes, at least text_limit_least.
std::string text_of(storage::cell_record const& row, std::string_view result_json, std::filesystem::path const& output_file,
                    std::size_t limit);

/// Both ends of the output in written order, enough of each for a text of `limit` bytes; `total` bytes in all. What the file does not
/// hold, beyond what is kept or for want of disk, is taken from the ends of the two streams: standard output first.
written_output read_written(std::filesystem::path const& output_file, recorded_facts const& recorded, std::uint64_t total,
                            std::size_t limit);

}  // namespace holdfast::core
