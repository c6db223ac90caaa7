// Reads a file of fixed greatest size that another process wrote, without trusting it: spool.cpp and journal.cpp start here.
// Does not wait on a FIFO, follow a last symlink or read beyond the limit.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include <tl/expected.hpp>

namespace holdfast::link {

/// The first `limit` bytes of a regular file. `what` is for the error text, such as "spool".
tl::expected<std::string, std::string> read_image(std::filesystem::path const& path, std::size_t limit, char const* what);

}  // namespace holdfast::link
