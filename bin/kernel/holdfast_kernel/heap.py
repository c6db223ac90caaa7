"""Fills the holes of this process's heap, so that what is allocated from then on lies side by side.

For a process that forks many like itself: an object put into a hole makes the whole page around it a private one of the child.
Knows CPython's allocator of small objects and glibc's malloc; with others it wastes a bounded amount of memory.
"""

import ctypes
import sys

_SMALL = 512  # largest size that CPython's own allocator serves, in classes of 16
_POOL = 16384 if sys.version_info >= (3, 10) else 4096  # of blocks of one class
_POOL_HEADER = 48
_MOST = 20000  # blocks of one size that are taken at most

_libc = ctypes.PyDLL(None)
_libc.malloc.restype = ctypes.c_void_p
_libc.malloc.argtypes = [ctypes.c_size_t]

_fillers = []  # never freed


def fill_holes():
    # Large ones first: what they leave is filled by smaller ones.
    for size in (65536, 32768, 16384, 8192, 6144) + tuple(range(4096, 512, -128)) + (528, 384, 256, 192, 128, 96, 64, 48, 32, 24):
        _fill_malloc(size)
    for size in range(_SMALL, 0, -16):
        _fill_class(size)


def _fill_malloc(size):
    """Takes blocks until five of them lie side by side: they come from the heap's end, or from a hole worth keeping."""
    adjacent = 0
    previous = 0
    malloc = _libc.malloc
    for _ in range(_MOST // 10):
        block = malloc(size)
        adjacent = adjacent + 1 if previous < block <= previous + size + 32 else 0
        previous = block
        if adjacent == 4:
            return


def _fill_class(size):
    """Takes blocks of one class until one is the first of a pool and the next lies behind it: the pool is a new one."""
    make = _maker(size)
    first = 0
    for _ in range(_MOST):
        block = make()
        _fillers.append(block)
        at = id(block) % 2**48
        if first and at == first + size:
            return
        first = at if at % _POOL == _POOL_HEADER else 0


def _maker(size):
    if size == 16:
        return object
    if size == 32:
        start = iter(range(10**6, 10**9))
        return lambda: float(next(start))
    body = size - sys.getsizeof(b'')
    return lambda: bytes(body)
