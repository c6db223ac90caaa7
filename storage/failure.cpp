#include "storage/failure.hpp"

#include <cerrno>

#include <lmdb.h>

namespace holdfast::storage {
namespace {

failure_code code_of(int code) {
  switch (code) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case MDB_MAP_FULL:
    case MDB_TXN_FULL: return failure_code::full;
    case EACCES:
    case EPERM:
    case EROFS: return failure_code::denied;
    case MDB_INVALID:
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_VERSION_MISMATCH:
    case MDB_INCOMPATIBLE: return failure_code::damaged;
    default: return failure_code::failed;
  }
}

char const* next_step(failure_code code) {
  switch (code) {
    case failure_code::full: return "free space on its file system and try again";
    case failure_code::failed: return "look at the disk and the system's log, then start again";
    case failure_code::damaged: return "restore it from a backup, or move it away to begin anew";
    case failure_code::newer: return "use the newer version that wrote it";
    case failure_code::denied: return "give this user the right to write there";
    case failure_code::in_use: return "close it there first";
  }
  return "";
}

}  // namespace

char const* to_string(failure_code code) {
  switch (code) {
    case failure_code::full: return "full";
    case failure_code::failed: return "failed";
    case failure_code::damaged: return "damaged";
    case failure_code::newer: return "newer";
    case failure_code::denied: return "denied";
    case failure_code::in_use: return "in_use";
  }
  return "failed";
}

failure failure_of(int code, std::string_view what, std::filesystem::path const& object) {
  auto const kind = code_of(code);
  return {kind, std::string(what) + " " + object.string() + ": " + mdb_strerror(code) + "; " + next_step(kind)};
}

failure damaged_row(std::string_view table, std::string_view key, std::filesystem::path const& store) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string hex;
  for (unsigned char byte : key.substr(0, 48)) {
    hex.push_back(digits[byte >> 4]);
    hex.push_back(digits[byte & 15]);
  }
  if (key.size() > 48) hex += "...";
  return {failure_code::damaged, "cannot read table " + std::string(table) + ", key " + hex + " in " + store.string() +
                                     ": found a row whose version or checksum is wrong; " + next_step(failure_code::damaged)};
}

}  // namespace holdfast::storage
