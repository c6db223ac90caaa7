// What storage answers instead of throwing. Turns codes of LMDB and the system into ours; logs nothing, retries nothing.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace holdfast::storage {

enum class failure_code {
  full,     ///< ENOSPC or MAP_FULL: this change failed, the store goes on (store_full)
  failed,   ///< a failed sync or EIO: the store is poisoned, every later call fails (store_failed)
  damaged,  ///< not a store, or a row that does not decode; nothing was changed
  newer,    ///< written by a newer schema; nothing was changed
  denied,   ///< no permission, or a read-only file system
  in_use,   ///< the same store is open in this process already
};
char const* to_string(failure_code code);

struct failure {
  failure_code code;
  std::string text;  // what failed, the file, found and wanted, the next step
};
template <class T>
using result = tl::expected<T, failure>;

/// The failure for `code`, an errno or an MDB_ code, met while doing `what` ("cannot commit to") with `object`.
failure failure_of(int code, std::string_view what, std::filesystem::path const& object);
/// The failure for a row that does not decode.
failure damaged_row(std::string_view table, std::string_view key, std::filesystem::path const& store);

}  // namespace holdfast::storage
