#include "storage/environment.hpp"

#include <cerrno>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include <fcntl.h>
#include <lmdb.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/image.hpp"

namespace holdfast::storage {
namespace {

constexpr ::mode_t file_mode = 0600;
constexpr unsigned maximum_tables = 32;
constexpr ::off_t lock_bytes = 16 << 10;  // room for 250 readers at once; there are two threads

struct claims {
  std::mutex mutex;
  std::set<std::pair<std::uint64_t, std::uint64_t>> taken;  // (device, inode) of open directories
};
claims& all_claims() {
  static claims instance;
  return instance;
}

void remove_aside(std::filesystem::path const& aside) {
  for (auto const* name : {"data.mdb", "lock.mdb"}) ::unlink((aside / name).c_str());
  ::rmdir(aside.c_str());
}

/// Makes data.mdb whole or not at all: SIGKILL in the middle of LMDB's first write leaves a file that it refuses for ever. What an earlier
/// try left aside is removed.
result<void> make_whole(std::filesystem::path const& directory, std::size_t map_bytes) {
  auto const file = directory / "data.mdb";
  auto const aside = directory / "new";
  struct ::stat status {};
  remove_aside(aside);
  if (::stat(file.c_str(), &status) == 0) return {};
  auto const failed = [&](int code) {
    remove_aside(aside);
    return tl::unexpected(failure_of(code, "cannot make the store", directory));
  };
  if (::mkdir(aside.c_str(), 0700) != 0) return failed(errno);
  MDB_env* handle = nullptr;
  auto code = mdb_env_create(&handle);
  if (code == 0) code = mdb_env_set_mapsize(handle, map_bytes);
  if (code == 0) code = mdb_env_open(handle, aside.c_str(), MDB_NOLOCK, file_mode);
  if (code == 0) code = mdb_env_sync(handle, 1);
  if (handle != nullptr) mdb_env_close(handle);
  if (code != 0) return failed(code);
  if (::rename((aside / "data.mdb").c_str(), file.c_str()) != 0) return failed(errno);
  remove_aside(aside);
  return {};
}

/// Gives lock.mdb its blocks: LMDB leaves them to the moment when it writes to its map, and on a full file system that is SIGBUS.
result<void> reserve_lock(std::filesystem::path const& directory) {
  auto const path = directory / "lock.mdb";
  int const file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, file_mode);
  if (file < 0) return tl::unexpected(failure_of(errno, "cannot open", path));
  int const code = ::posix_fallocate(file, 0, lock_bytes);
  ::close(file);
  if (code == 0 || code == EOPNOTSUPP || code == EINVAL) return {};
  return tl::unexpected(failure_of(code, "cannot make room for", path));
}

}  // namespace

result<void> environment::claim::take(std::filesystem::path const& directory) {
  struct ::stat status {};
  if (::stat(directory.c_str(), &status) != 0) return tl::unexpected(failure_of(errno, "cannot look at", directory));
  auto& all = all_claims();
  std::lock_guard lock(all.mutex);
  if (!all.taken.emplace(status.st_dev, status.st_ino).second)
    return tl::unexpected(failure{failure_code::in_use, "cannot open the store " + directory.string() +
                                                            ": it is open in this process already; close it there first"});
  device_ = status.st_dev;
  inode_ = status.st_ino;
  taken_ = true;
  return {};
}

environment::claim::~claim() {
  if (!taken_) return;
  auto& all = all_claims();
  std::lock_guard lock(all.mutex);
  all.taken.erase({device_, inode_});
}

result<std::unique_ptr<environment>> environment::open(std::filesystem::path const& directory, durability sync,
                                                       std::size_t map_bytes) {
  std::unique_ptr<environment> opened(new environment(directory));
  if (auto claimed = opened->claim_.take(directory); !claimed) return tl::unexpected(claimed.error());
  if (auto made = make_whole(directory, map_bytes); !made) return tl::unexpected(made.error());
  if (auto sound = check_image(directory / "data.mdb"); !sound) return tl::unexpected(sound.error());
  if (auto reserved = reserve_lock(directory); !reserved) return tl::unexpected(reserved.error());
  if (auto started = opened->start(sync, map_bytes); !started) return tl::unexpected(started.error());
  return opened;
}

result<void> environment::start(durability sync, std::size_t map_bytes) {
  auto const failed = [this](int code) { return tl::unexpected(failure_of(code, "cannot open the store", directory_)); };
  if (auto code = mdb_env_create(&handle_); code != 0) return failed(code);
  if (auto code = mdb_env_set_maxdbs(handle_, maximum_tables); code != 0) return failed(code);
  // A map cannot grow while readers are open, and address space is free: its size is the limit from the start.
  if (auto code = mdb_env_set_mapsize(handle_, map_bytes); code != 0) return failed(code);
  // NOTLS: a read transaction belongs to its object, not to the thread that began it.
  unsigned const flags = MDB_NOTLS | (sync == durability::unsynced ? MDB_NOSYNC : 0U);
  if (auto code = mdb_env_open(handle_, directory_.c_str(), flags, file_mode); code != 0) return failed(code);
  int descriptor = -1;
  if (auto code = mdb_env_get_fd(handle_, &descriptor); code != 0) return failed(code);
  // LMDB leaves this one inheritable: every kernel would hold the database.
  if (::fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0) return failed(errno);
  int dead_readers = 0;
  if (auto code = mdb_reader_check(handle_, &dead_readers); code != 0) return failed(code);
  return {};
}

environment::~environment() {
  if (handle_ != nullptr) mdb_env_close(handle_);
}

}  // namespace holdfast::storage
