"""System calls that Python 3.8 does not offer, the limits of this process, and the placing of the kernel's own descriptors.

Thin: knows of no other module but the limits. Raises OSError as the os module does.
"""

import _socket
import ctypes
import fcntl
import os
import resource
import signal
import struct

from sys import getrecursionlimit, setrecursionlimit  # bound here: a cell may replace those of the module

from . import limits

# PyDLL keeps the interpreter lock: these calls do not block, and handing the lock over would cost more than the call.
_libc = ctypes.PyDLL(None, use_errno=True)

_SYS_PIDFD_SEND_SIGNAL = 424
_SYS_PIDFD_OPEN = 434
_SYS_CLOSE_RANGE = 436
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_TFD_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC
_EFD_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC
_PROT_READ_WRITE = 3
_MAP_SHARED = 1
_MAP_PRIVATE_ANONYMOUS = 0x22
_MADV_RANDOM = 1
_MADV_WIPEONFORK = 18
_FALLOC_PUNCH_HOLE = 3  # and keep the size
RLIMIT_LOCKS = 10
_PYBUF_WRITE = 0x200
_PAGE = resource.getpagesize()

# Plain numbers: each signal.Signals that is made costs more than the call it is for.
SIGNALS = tuple(int(number) for number in signal.valid_signals())

user_umask = 0o022  # of whoever started the nursery, set by its entry; its own is 077

_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]
_libc.timerfd_settime.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
_libc.syscall.restype = ctypes.c_long
_memoryview = ctypes.pythonapi.PyMemoryView_FromMemory
_memoryview.restype = ctypes.py_object
_memoryview.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int]


def _checked(result):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def become_subreaper():
    _checked(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))


def die_with_parent():
    """A SIGKILL comes when the thread that forked this process ends."""
    _checked(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))


def pidfd_open(pid):
    return _checked(_libc.syscall(ctypes.c_long(_SYS_PIDFD_OPEN), ctypes.c_long(pid), ctypes.c_long(0)))


def pidfd_send_signal(pidfd, number):
    _checked(_libc.syscall(ctypes.c_long(_SYS_PIDFD_SEND_SIGNAL), ctypes.c_long(pidfd), ctypes.c_long(number), None, ctypes.c_long(0)))


def mark_descent(mark):
    """Every process that descends from this one bears that number from now on, unless it sheds it on purpose.

    It is the soft limit of file locks: inherited over fork and exec whatever a program does to its environment and its session, to be
    read in /proc, and without any other effect since Linux 2.4.25."""
    global _unmarked
    try:
        _unmarked = resource.getrlimit(RLIMIT_LOCKS)
        resource.setrlimit(RLIMIT_LOCKS, (mark, _unmarked[1]))
    except (OSError, ValueError):
        pass  # a hard limit is in the way: such a kernel's processes are known by session and environment alone


_unmarked = None  # the limits of file locks before mark_descent


def shed_descent():
    """This process and what descends from it bear the number no more."""
    if _unmarked is not None:
        resource.setrlimit(RLIMIT_LOCKS, (_unmarked[0], resource.getrlimit(RLIMIT_LOCKS)[1]))


def ignore_signal(_number, _frame):
    """A handler: programs that are started do not inherit it, as they would SIG_IGN."""


def eventfd():
    return _checked(_libc.eventfd(0, _EFD_FLAGS))


ONE = struct.pack('=Q', 1)


def map_new_file(path, size):
    """A new file of that size, its blocks allocated, mapped shared: a memoryview that lives as long as the process.

    Not the mmap module: it keeps a descriptor among the user's own."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.posix_fallocate(fd, 0, size)
        address = _libc.mmap(None, size, _PROT_READ_WRITE, _MAP_SHARED, fd, 0)
        if address == ctypes.c_void_p(-1).value:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), path)
        # The first touch of a page then makes that page, not sixteen around it.
        _libc.madvise(address, size, _MADV_RANDOM)
    finally:
        os.close(fd)
    return _memoryview(address, size, _PYBUF_WRITE)


_marked = None  # the memory of mark_process


def mark_process():
    """A memoryview whose first byte is not 0 in this process, and is 0 in each one that is forked from it: looking costs no system call."""
    global _marked
    if _marked is None:
        address = _libc.mmap(None, _PAGE, _PROT_READ_WRITE, _MAP_PRIVATE_ANONYMOUS, -1, 0)
        if address == ctypes.c_void_p(-1).value:
            raise MemoryError
        _checked(_libc.madvise(address, _PAGE, _MADV_WIPEONFORK))
        _marked = _memoryview(address, _PAGE, _PYBUF_WRITE)
    _marked[0] = 1
    return _marked


def punch_hole(fd, start, size):
    _checked(_libc.fallocate(fd, _FALLOC_PUNCH_HOLE, start, size))


def unmap(memory):
    """Gives back what `map_new_file` mapped; the memoryview must not be used any more."""
    _libc.munmap(ctypes.addressof(ctypes.c_char.from_buffer(memory)), len(memory))


class Timer:
    """A timerfd that fires once, that many seconds after it was armed last."""

    class _Spec(ctypes.Structure):
        _fields_ = [('interval_s', ctypes.c_long), ('interval_ns', ctypes.c_long),
                    ('value_s', ctypes.c_long), ('value_ns', ctypes.c_long)]

    def __init__(self, seconds):
        self.fd = place(_checked(_libc.timerfd_create(1, _TFD_FLAGS)))
        self._armed_spec = self._Spec(0, 0, int(seconds), int(seconds % 1 * 1e9))
        self._armed = ctypes.addressof(self._armed_spec)
        self._settime = _libc.timerfd_settime

    def arm(self):
        """False if the descriptor is no timer any more."""
        return self._settime(self.fd, 0, self._armed, None) == 0


def _own_base():
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if soft == resource.RLIM_INFINITY or soft >= limits.OWN_DESCRIPTORS + 124:
        return limits.OWN_DESCRIPTORS
    return max(3, soft - 124)


def place(fd):
    """Moves a descriptor to where the kernel keeps its own; the new number."""
    try:
        placed = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _own_base())
    except OSError:
        return fd  # a cell lowered the limit: it stays where it is
    os.close(fd)
    return placed


def place_socket(fd):
    """The same for a unix stream socket: a non-blocking object of it. Not of Python's class: each call of that one's touches much."""
    placed = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, place(fd))
    placed.setblocking(False)
    return placed


def close_all_but(kept):
    """Closes every descriptor from 3 on but those."""
    low = 3
    for fd in sorted(fd for fd in kept if fd >= 3) + [0x7fffffff]:
        if fd > low:
            _close_range(low, fd - 1)
        low = fd + 1


def _close_range(low, high):
    if _libc.syscall(ctypes.c_long(_SYS_CLOSE_RANGE), ctypes.c_long(low), ctypes.c_long(high), ctypes.c_long(0)) == 0:
        return
    for name in os.listdir('/proc/self/fd'):
        if low <= int(name) <= high:
            try:
                os.close(int(name))
            except OSError:
                pass


def identity(fd):
    """What tells a descriptor from another one of the same number; None if it is closed."""
    try:
        return os.fstat(fd)[1:3]  # inode and device
    except OSError:
        return None


def raise_descriptor_limit():
    """The soft limit of open descriptors becomes the hard one; False if it was that already or cannot be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):
        return False
    return soft != hard


def keep_recursion_usable():
    """A cell may lower the recursion limit to where the kernel's own code would fail: not further."""
    if getrecursionlimit() < limits.LOWEST_RECURSION:
        setrecursionlimit(limits.LOWEST_RECURSION)
