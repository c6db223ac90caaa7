"""Where the directories of the home are now: a home that is moved keeps its kernels, and what was named at their start is elsewhere then."""

import os


def directory_now(path, fd):
    """The path of the open directory that lay at `path`: that one still, unless it was moved. OSError if `fd` is none."""
    own = os.fstat(fd)
    try:
        there = os.stat(path)
        if (there.st_dev, there.st_ino) == (own.st_dev, own.st_ino):
            return path
    except OSError:
        pass
    return os.readlink('/proc/self/fd/%d' % fd)


def path_now(path, directory, fd):
    """The same of anything that lay at `path` when the open `directory` lay where that says, and was moved with it."""
    now = directory_now(directory, fd)
    return path if now == directory else os.path.normpath(os.path.join(now, os.path.relpath(path, directory)))
