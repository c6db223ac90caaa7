// The home directory: made private, refused where it would not be safe, and held by one daemon at a time.
// The lock is a POSIX one (F_SETLK): not inherited by children, and F_GETLK names its holder. Such a lock falls when *any* descriptor of
// the file is closed in this process, so the file is opened here only, and never while this process holds it.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "actors/base/errors.hpp"
#include "actors/base/unique_fd.hpp"

namespace holdfast {

/// Makes the home and its directories (run state output nursery program store), all 0700. Refuses a network file system, a home of
/// another user, and one that others may enter, unless it is empty: that one is closed to them.
result<void> prepare_home(std::filesystem::path const& home);

/// Makes one directory, 0700, in one that is there: nothing may make a home again that was removed. One that is there already is fine.
result<void> make_private_directory(std::filesystem::path const& path);

/// Makes a directory and those above it that are missing, all 0700. The error names the one that could not be made.
result<void> make_private_directories(std::filesystem::path const& path);

/// Holds the home while it lives.
class home_lock {
 public:
  /// `busy`, naming the process, when another daemon or another gateway of this process has the home.
  static result<home_lock> acquire(std::filesystem::path const& home);

  home_lock(home_lock&& other) noexcept;
  home_lock& operator=(home_lock&& other) noexcept;
  ~home_lock();

  /// Why the home is no longer what lies at its path, if that is certain: removed, or moved away. Costs one stat.
  std::optional<std::string> lost() const;

  /// Device and inode of the lock file: the same home under any path. No other file gets it while this one is open.
  using file_id = std::pair<dev_t, ino_t>;

 private:
  home_lock(std::filesystem::path path, unique_fd fd, file_id file) : path_(std::move(path)), fd_(std::move(fd)), file_(file) {}
  void release();

  std::filesystem::path path_;  // of the lock file, as it was when the lock was taken
  unique_fd fd_;                // none once moved from
  file_id file_;                // in the process-wide table as long as fd_ is open
};

}  // namespace holdfast
