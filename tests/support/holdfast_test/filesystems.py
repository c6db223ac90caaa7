"""Small real file systems, in a mount namespace of the test's own: nobody else sees them, and they are gone with its processes."""

import contextlib
import ctypes
import errno
import os
import unittest

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
MS_REC = 0x4000
MS_PRIVATE = 1 << 18
MNT_DETACH = 2

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(outcome, what):
    if outcome != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"cannot {what}: {os.strerror(number)}")


def enter_private_mounts():
    """From now on this process and what it starts mount for themselves alone. In setUpModule(), before any thread is started."""
    user, group = os.getuid(), os.getgid()
    try:
        if user == 0:
            _checked(_libc.unshare(CLONE_NEWNS), "unshare the mounts")
        else:
            _checked(_libc.unshare(CLONE_NEWUSER | CLONE_NEWNS), "unshare user and mounts")
            for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
                with open(f"/proc/self/{name}", "w") as file:
                    file.write(text)
        _checked(_libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "make the mounts private")
    except OSError as problem:
        raise unittest.SkipTest(f"no mounts of our own here: {problem}") from None


class SmallDisk:
    """A tmpfs of so many bytes at a directory, 0700. `remove` must come before that directory is removed."""

    def __init__(self, path, size):
        self.path = path
        self._ballast = path / "ballast"
        options = f"size={size},mode=0700".encode()
        _checked(_libc.mount(b"tmpfs", os.fsencode(path), b"tmpfs", 0, options), f"mount a tmpfs at {path}")

    def fill(self):
        """Takes every byte that is left."""
        with open(self._ballast, "ab", buffering=0) as file:
            for piece in (1 << 16, 1 << 12, 1):
                with contextlib.suppress(_NoSpace):
                    while True:
                        _write(file, b"b" * piece)

    def free(self):
        self._ballast.unlink()

    def remove(self):
        _checked(_libc.umount2(os.fsencode(self.path), MNT_DETACH), f"unmount {self.path}")


class _NoSpace(Exception):
    pass


def _write(file, piece):
    try:
        file.write(piece)
    except OSError as problem:
        if problem.errno != errno.ENOSPC:
            raise
        raise _NoSpace from None
