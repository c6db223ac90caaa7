// One LMDB environment: a directory opened once in this process, with its tables' handles. transaction.hpp reads and writes it.
// Knows nothing of the tables' rows. Refuses what is open in this process already, and a file that is not a sound store (image.hpp).
#pragma once

#include <array>
#include <filesystem>
#include <memory>

#include "storage/failure.hpp"
#include "storage/tables.hpp"

struct MDB_env;

namespace holdfast::storage {

/// synced: a commit answers when it is on the disk. unsynced: when the system has it, which SIGKILL does not undo.
enum class durability { synced, unsynced };

class environment {
 public:
  /// Opens data.mdb in `directory`, which must exist; makes it if there is none, at once and whole. Writes nothing to an existing one.
  static result<std::unique_ptr<environment>> open(std::filesystem::path const& directory, durability sync, std::size_t map_bytes);
  ~environment();
  environment(environment const&) = delete;
  environment& operator=(environment const&) = delete;

  MDB_env* handle() const { return handle_; }
  std::filesystem::path const& directory() const { return directory_; }
  unsigned handle_of(table which) const { return tables_[static_cast<std::size_t>(which)]; }
  /// For schema.cpp alone, in the transaction that opens all tables.
  void set_handle(table which, unsigned handle) { tables_[static_cast<std::size_t>(which)] = handle; }

 private:
  /// This process's claim of a directory by (device, inode): LMDB would open it twice and corrupt it.
  class claim {
   public:
    claim() = default;
    claim(claim const&) = delete;
    claim& operator=(claim const&) = delete;
    ~claim();
    result<void> take(std::filesystem::path const& directory);

   private:
    std::uint64_t device_ = 0;
    std::uint64_t inode_ = 0;
    bool taken_ = false;
  };

  explicit environment(std::filesystem::path directory) : directory_(std::move(directory)) {}
  result<void> start(durability sync, std::size_t map_bytes);

  claim claim_;  // first: given back after the environment is closed
  std::filesystem::path directory_;
  MDB_env* handle_ = nullptr;
  std::array<unsigned, table_count> tables_{};
};

}  // namespace holdfast::storage
