"""Unix sockets: listening at a path of any length, and who is at the other end."""

import _socket
import errno
import os
import struct

from . import limits

_SUN_PATH = 107


def listen(directory, name, replace=False):
    """A non-blocking listening socket directory/name with mode 0600; OSError if that fails."""
    listener = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC | _socket.SOCK_NONBLOCK)
    dirfd = None
    mask = os.umask(0o177)
    try:
        path, dirfd = _address(directory, name)
        try:
            listener.bind(path)
        except OSError as error:
            if not replace or error.errno != errno.EADDRINUSE:
                raise
            os.unlink(path)
            listener.bind(path)
        listener.listen(limits.BACKLOG)
    except BaseException:
        listener.close()
        raise
    finally:
        os.umask(mask)
        if dirfd is not None:
            os.close(dirfd)
    return listener


def connect(directory, name, timeout=None):
    """A socket with that timeout, connected to directory/name; OSError if nobody listens there."""
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
    dirfd = None
    try:
        connection.settimeout(timeout)
        path, dirfd = _address(directory, name)
        connection.connect(path)
    except BaseException:
        connection.close()
        raise
    finally:
        if dirfd is not None:
            os.close(dirfd)
    return connection


def _address(directory, name):
    """(path, None) of a socket; one that is too long goes by a descriptor of its directory, to be closed behind the use of it."""
    path = '%s/%s' % (directory, name)
    if len(os.fsencode(path)) <= _SUN_PATH:
        return path, None
    dirfd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    return '/proc/self/fd/%d/%s' % (dirfd, name), dirfd


def made_again(directory_fd, name):
    """A new listening socket where the file of the old one, and nothing else, was removed: nobody could attach there; else None."""
    try:
        os.stat(name, dir_fd=directory_fd, follow_symlinks=False)
    except FileNotFoundError:
        try:
            return listen('/proc/self/fd/%d' % directory_fd, name)
        except OSError:
            pass  # the directory was removed as well, or has no room: looked at again
    except OSError:
        pass
    return None


def peer_of(connection):
    """(pid, user, group) of who connected."""
    return struct.unpack('=iII', connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12))


def peer_is_trusted(connection):
    """Whether the peer runs as this user or as root."""
    try:
        return peer_of(connection)[1] in (0, os.geteuid())
    except OSError:
        return False
