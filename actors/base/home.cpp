#include "actors/base/home.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>

#include <spdlog/fmt/fmt.h>

namespace holdfast {
namespace {

namespace fs = std::filesystem;

constexpr char const* directories[] = {"run", "state", "output", "nursery", "program", "store"};

tl::unexpected<error> refuse(std::string message) { return fail(error_code::internal, std::move(message)); }

tl::unexpected<error> refuse_errno(char const* what, fs::path const& path) {
  return refuse(fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(errno)));
}

/// A directory of ours that nobody else may enter; an empty one is made so.
result<void> check_private(fs::path const& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) == -1) return refuse_errno("look at directory", path);
  if (!S_ISDIR(found.st_mode))
    return refuse(fmt::format("cannot use {}: it is not a directory; remove it or name another home", path.string()));
  if (found.st_uid != ::geteuid())
    return refuse(
        fmt::format("cannot use {}: it belongs to uid {}, wanted {}; name another home", path.string(), found.st_uid, ::geteuid()));
  if ((found.st_mode & 0077) == 0) return {};
  std::error_code problem;
  if (fs::is_empty(path, problem) && !problem && ::chmod(path.c_str(), 0700) == 0) return {};
  return refuse(fmt::format("cannot use {}: others may enter it (mode {:04o}, wanted 0700); run: chmod 700 {}", path.string(),
                            found.st_mode & 07777, path.string()));
}

/// Locks, mmap and unix sockets do not mean there what they mean on a local file system.
result<void> check_local(fs::path const& path) {
  struct statfs found {};
  if (::statfs(path.c_str(), &found) == -1) return refuse_errno("look at file system of", path);
  if (found.f_type == NFS_SUPER_MAGIC)
    return refuse(fmt::format("cannot use {}: it is on NFS, wanted a local file system; name another home", path.string()));
  return {};
}

// Homes that this process holds. F_SETLK would let a process have a lock twice, and closing the second descriptor would drop both.
// With the holder's pid, as a forked child inherits the table and no lock.
std::mutex held_mutex;
std::map<home_lock::file_id, pid_t> held;  // guarded by held_mutex

std::optional<home_lock::file_id> file_at(fs::path const& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) == -1) return std::nullopt;
  return home_lock::file_id{found.st_dev, found.st_ino};
}

bool is_held(home_lock::file_id const& file) {
  auto const found = held.find(file);
  return found != held.end() && found->second == ::getpid();
}

struct flock whole_file() {
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  return range;
}

tl::unexpected<error> taken(fs::path const& home, int fd) {
  auto range = whole_file();
  if (::fcntl(fd, F_GETLK, &range) == 0 && range.l_type != F_UNLCK && range.l_pid > 0)
    return fail(error_code::busy,
                fmt::format("cannot lock home {}: another daemon, pid {}, has this home", home.string(), range.l_pid));
  return fail(error_code::busy, fmt::format("cannot lock home {}: another daemon has this home", home.string()));
}

}  // namespace

result<void> make_private_directory(fs::path const& path) {
  if (::mkdir(path.c_str(), 0700) == -1 && errno != EEXIST) return refuse_errno("make directory", path);
  return {};
}

result<void> make_private_directories(fs::path const& path) {
  if (path.has_parent_path() && path.parent_path() != path) {
    struct stat found {};
    if (::stat(path.parent_path().c_str(), &found) == -1 && errno == ENOENT)
      if (auto made = make_private_directories(path.parent_path()); !made) return made;
  }
  return make_private_directory(path);
}

result<void> prepare_home(fs::path const& home) {
  if (auto made = make_private_directories(home); !made) return made;
  if (auto fine = check_private(home); !fine) return fine;
  if (auto fine = check_local(home); !fine) return fine;
  for (auto const* name : directories) {
    if (auto made = make_private_directories(home / name); !made) return made;
    if (auto fine = check_private(home / name); !fine) return fine;
  }
  return {};
}

result<home_lock> home_lock::acquire(fs::path const& home) {
  auto const path = home / "lock";
  std::lock_guard const guard(held_mutex);
  // Looked up before it is opened: the close after a refusal would drop the lock that is held.
  if (auto const there = file_at(path); there && is_held(*there))
    return fail(error_code::busy, fmt::format("cannot lock home {}: another gateway of this process, pid {}, has this home",
                                              home.string(), ::getpid()));
  unique_fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return refuse_errno("open", path);
  auto range = whole_file();
  if (::fcntl(fd.get(), F_SETLK, &range) == -1) {
    if (errno == EACCES || errno == EAGAIN) return taken(home, fd.get());
    return refuse_errno("lock", path);
  }
  struct stat found {};
  if (::fstat(fd.get(), &found) == -1) return refuse_errno("look at", path);
  file_id const file{found.st_dev, found.st_ino};
  if (file_at(path) != file)
    return fail(error_code::busy,
                fmt::format("cannot lock home {}: its lock file was replaced meanwhile; try again", home.string()));
  held[file] = ::getpid();
  return home_lock(path, std::move(fd), file);
}

std::optional<std::string> home_lock::lost() const {
  struct stat found {};
  if (::stat(path_.c_str(), &found) == 0) {
    if (file_id{found.st_dev, found.st_ino} == file_) return std::nullopt;
  } else if (errno != ENOENT && errno != ENOTDIR) {
    return std::nullopt;  // cannot be told: EACCES, EIO
  }
  auto const home = path_.parent_path().string();
  if (::fstat(fd_.get(), &found) == 0 && found.st_nlink == 0)
    return fmt::format("home {} was removed, or the file lock in it; a new start makes a fresh one", home);
  return fmt::format("home {} was moved away or unmounted; start again where it is now", home);
}

home_lock::home_lock(home_lock&& other) noexcept = default;

home_lock& home_lock::operator=(home_lock&& other) noexcept {
  if (this != &other) {
    release();
    path_ = std::move(other.path_);
    fd_ = std::move(other.fd_);
    file_ = other.file_;
  }
  return *this;
}

home_lock::~home_lock() { release(); }

void home_lock::release() {
  if (!fd_) return;
  std::lock_guard const guard(held_mutex);
  fd_.reset();
  held.erase(file_);
}

}  // namespace holdfast
