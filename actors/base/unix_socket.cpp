#include "actors/base/unix_socket.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace holdfast {
namespace {

/// A path as bind() and connect() take it; `directory` stays open for as long as the address is used.
struct socket_address {
  sockaddr_un name{};
  unique_fd directory;
};

tl::expected<socket_address, int> address_of(std::filesystem::path const& path) {
  socket_address address;
  std::string text = path.string();
  if (text.size() >= sizeof address.name.sun_path) {
    auto const parent = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    address.directory = unique_fd(::open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!address.directory) return tl::unexpected(errno);
    text = "/proc/self/fd/" + std::to_string(address.directory.get()) + "/" + path.filename().string();
  }
  if (text.empty() || text.size() >= sizeof address.name.sun_path) return tl::unexpected(ENAMETOOLONG);
  address.name.sun_family = AF_UNIX;
  std::memcpy(address.name.sun_path, text.c_str(), text.size() + 1);
  return address;
}

sockaddr const* pointer(socket_address const& address) { return reinterpret_cast<sockaddr const*>(&address.name); }

unique_fd make_socket() { return unique_fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)); }

tl::expected<unique_fd, int> connect_to(socket_address const& address) {
  auto fd = make_socket();
  if (!fd) return tl::unexpected(errno);
  int done = 0;
  do done = ::connect(fd.get(), pointer(address), sizeof address.name);
  while (done == -1 && errno == EINTR);
  if (done == -1) return tl::unexpected(errno);
  return fd;
}

/// 0 when nothing is at `path` any more, else why it must stay.
int remove_stale(std::filesystem::path const& path, socket_address const& address) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) == -1) return errno == ENOENT ? 0 : errno;
  if (!S_ISSOCK(found.st_mode)) return ENOTSOCK;
  auto const probe = connect_to(address);
  if (probe || probe.error() == EAGAIN) return EADDRINUSE;  // EAGAIN: a listener with a full backlog
  if (probe.error() != ECONNREFUSED && probe.error() != ENOENT) return probe.error();
  return ::unlink(path.c_str()) == 0 || errno == ENOENT ? 0 : errno;
}

}  // namespace

tl::expected<unique_fd, int> connect_unix(std::filesystem::path const& path) {
  auto const address = address_of(path);
  if (!address) return tl::unexpected(address.error());
  return connect_to(*address);
}

tl::expected<unique_fd, int> listen_unix(std::filesystem::path const& path, int backlog) {
  auto const address = address_of(path);
  if (!address) return tl::unexpected(address.error());
  if (int const reason = remove_stale(path, *address); reason != 0) return tl::unexpected(reason);
  auto fd = make_socket();
  if (!fd) return tl::unexpected(errno);
  // bind() gives the file the socket's own mode: set before, so that it is never open to others.
  if (::fchmod(fd.get(), 0600) == -1 || ::bind(fd.get(), pointer(*address), sizeof address->name) == -1 ||
      ::listen(fd.get(), backlog) == -1)
    return tl::unexpected(errno);
  return fd;
}

std::optional<ucred> peer(int fd) {
  ucred found{};
  socklen_t size = sizeof found;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &found, &size) == -1 || size != sizeof found) return std::nullopt;
  return found;
}

bool is_trusted_peer(int fd) {
  auto const found = peer(fd);
  return found && (found->uid == 0 || found->uid == ::geteuid());
}

}  // namespace holdfast
