// Whether a file is a sound LMDB image, told without LMDB: that follows what the pages say, and ends its process with SIGBUS or an
// assertion when they lie. Looks at pages, not at rows: a row's own checksum finds what is wrong inside it.
// Reads with pread() alone, so that no content and no length can end this process; writes nothing. Refuses what it does not know.
#pragma once

#include <filesystem>

#include "storage/failure.hpp"

namespace holdfast::storage {

/// `damaged`, naming the file and what is wrong with it. Costs one read of every page but those that hold the rest of a long value.
result<void> check_image(std::filesystem::path const& file);

}  // namespace holdfast::storage
