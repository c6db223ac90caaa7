// Unix stream sockets by path, of any length: what is longer than sun_path goes through /proc/self/fd/N/name.
// Every descriptor is non-blocking and close-on-exec. Errors are errno values: the caller decides what each one proves.
#pragma once

#include <sys/socket.h>

#include <filesystem>
#include <optional>

#include <tl/expected.hpp>

#include "actors/base/unique_fd.hpp"

namespace holdfast {

/// Connected at once or not at all. EAGAIN: the backlog is full, as under a stopped listener. ECONNREFUSED: nobody listens.
tl::expected<unique_fd, int> connect_unix(std::filesystem::path const& path);

/// Listens with mode 0600. Replaces a socket file on which nobody listens; EADDRINUSE when somebody does, ENOTSOCK when
/// the file is something else.
tl::expected<unique_fd, int> listen_unix(std::filesystem::path const& path, int backlog);

/// Pid, uid and gid of the other end. The pid is that of whoever called listen() or connect(), and 0 across pid namespaces.
std::optional<ucred> peer(int fd);

/// Whether the other end is root or this process's own user.
bool is_trusted_peer(int fd);

}  // namespace holdfast
