"""Rehearses a kernel's first cell in the nursery, so that what it allocates is there once and is shared by all kernels.

A page that a kernel writes to is its own from then on: every object that is made, and every count of references that changes. So the
whole way of a cell is gone beforehand (caches of types, code and decoders are filled), and the holes that all that leaves in the
heap are filled up: what a kernel makes then lies side by side on few pages instead of one here and one there.
"""

import builtins
import gc
import linecache
import os
import random
import socket
import sys
import warnings

from . import frames, handshake, heap, interrupts, journal, limits, log, output, sockets, spool, streams, system
from .cells import Runner
from .descriptors import Descriptors
from .kernel import Kernel
from .link import Link
from .window import Window

_CELLS = ('1+1', 'x = [1, 2]\nx', 'def f(): return {}\nf()', 'print(1)', '1/0', 'x =')
_TOKEN = '0' * 64


def share_with_kernels(directory):
    """To be called once, before the first fork and with no thread but this one."""
    gc.disable()
    # The notice of Python 3.12 about forking with threads: the thread it finds is the kernel's.
    warnings.filterwarnings('ignore', r'This process \(pid=\d+\) is multi-threaded', DeprecationWarning)
    _rehearse(directory)
    gc.collect()
    # Again: a full collection has emptied the caches and free lists that the first time filled.
    _rehearse(directory)
    heap.fill_holes()
    gc.freeze()
    gc.enable()


def _rehearse(directory):
    """A kernel in all but the fork: made, attached to, given cells, forgotten."""
    before = (sys.stdin, sys.stdout, sys.stderr, sys.__stdin__, sys.__stdout__, sys.__stderr__, builtins.input)
    descriptors = []
    try:
        _play(directory, descriptors)
    finally:
        (sys.stdin, sys.stdout, sys.stderr, sys.__stdin__, sys.__stdout__, sys.__stderr__, builtins.input) = before
        vars(builtins).pop('_', None)
        linecache.clearcache()
        for fd in descriptors:
            os.close(fd)
        os.unlink(os.path.join(directory, 'rehearsal.sock'))


def _play(directory, opened):
    random.seed()
    own_log = log.Log(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC))
    opened.append(own_log.fd)
    readers = {}
    for stream in (output.STDOUT, output.STDERR):
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        opened += [reader, writer]
        readers[stream] = reader
    directory_fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    opened.append(directory_fd)
    text = output.Output(journal.Journal(memoryview(bytearray(limits.JOURNAL_SIZE // 8))), readers, lambda: kernel.notify_output())
    signals = interrupts.Interrupts()
    runner = Runner({'__name__': '__main__'}, signals)
    kernel = Kernel({'first_grace_ms': 0, 'interrupt_grace_ms': 0}, Descriptors(directory, directory_fd, own_log, text), text,
                    streams.Streams(text, signals.leave_kernel), runner, signals,
                    spool.Spool(memoryview(bytearray(limits.SPOOL_SIZE // 8))), own_log)
    shakes = handshake.Handshake('k', _TOKEN, '', '', handshake.Identity())
    listener = sockets.listen(directory, 'rehearsal.sock', replace=True)
    kernel.rehearse(Link('kernel', system.place_socket(listener), kernel.poller, Window(), shakes, kernel, own_log),
                    lambda: _Daemon(os.path.join(directory, 'rehearsal.sock')), _CELLS)
