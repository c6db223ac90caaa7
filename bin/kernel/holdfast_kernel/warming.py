"""Rehearses a kernel's first cell in the nursery, so that what it allocates is there once and is shared by all kernels.

A page that a kernel writes to is its own from then on: every object that is made, and every count of references that changes. So the
whole way of a cell is gone beforehand (caches of types, code and decoders are filled), and the holes that all that leaves in the
heap are filled up: what a kernel makes then lies side by side on few pages instead of one here and one there.
"""

import builtins
import gc
import getpass
import linecache
import os
import signal
import socket
import sys
import time
import types
import warnings

from . import frames, handshake, heap, interrupts, journal, kernel_main, limits, log, output, spawning, spool, streams, system
from .cells import Runner
from .descriptors import Descriptors
from .kernel import Kernel
from .link import Link
from .window import Window

_CELLS = ('1+1', 'x = [1, 2]\nx', 'def f(): return {}\nf()', 'print(1)', '1/0', 'x =', '1+1')
_TOKEN = '0' * 64


def share_with_kernels(directory, own_log):
    """To be called once, before the first fork and with no thread but this one."""
    gc.disable()
    os.environ.clear()  # each kernel gets the one that its spawn names
    time.tzset()
    # The notice of Python 3.12 about forking with threads: the thread it finds is the kernel's.
    warnings.filterwarnings('ignore', r'This process \(pid=\d+\) is multi-threaded', DeprecationWarning)
    try:
        used = _code_used_by(lambda: _rehearse(directory))
        gc.collect()
        heap.fill_holes()
        _gather_code(used)
        # Again: copies of code are fresh, and a full collection has emptied caches and free lists.
        for _ in range(3):
            _rehearse(directory)
    except Exception as error:  # kernels are bigger then, no more
        own_log.write('rehearsal-failed %s: %s' % (type(error).__name__, error))
    heap.fill_holes()
    gc.freeze()
    gc.enable()


def _code_used_by(act):
    """The ids of the code objects that run in it."""
    used = set()
    sys.setprofile(lambda frame, event, _argument: used.add(id(frame.f_code)) if event == 'call' else None)
    try:
        act()
    finally:
        sys.setprofile(None)
    return used


def _gather_code(used):
    """Puts copies of this code, and of what only a forked kernel runs, side by side: running it counts references in it."""
    modules = (kernel_main.__name__, spawning.__name__)
    for function in gc.get_objects():
        if type(function) is types.FunctionType and not interrupts.is_door(function.__code__):
            if id(function.__code__) in used or function.__module__ in modules:
                function.__code__ = function.__code__.replace()


def _rehearse(directory):
    """A kernel in all but fork and thread: made, attached to, given cells, forgotten."""
    streams_before = (sys.stdin, sys.stdout, sys.stderr, sys.__stdin__, sys.__stdout__, sys.__stderr__)
    functions_before = (builtins.input, getpass.getpass)
    handler_before = signal.getsignal(signal.SIGINT)
    kernel = daemon = None
    opened = []
    try:
        kernel, link, address = _make_kernel(directory, opened)
        daemon = socket.socket(socket.AF_UNIX)
        daemon.settimeout(1)  # a rehearsal that goes wrong must not keep the nursery
        daemon.connect(address)
        kernel.use_link(link)
        _play(kernel, daemon)
    finally:
        sys.stdin, sys.stdout, sys.stderr, sys.__stdin__, sys.__stdout__, sys.__stderr__ = streams_before
        builtins.input, getpass.getpass = functions_before
        signal.signal(signal.SIGINT, handler_before)
        vars(builtins).pop('_', None)
        linecache.clearcache()
        if daemon is not None:
            daemon.close()
        if kernel is not None:
            kernel.on_fork_in_child()  # which gives up all that is a kernel's
        for fd in opened:
            os.close(fd)


def _make_kernel(directory, opened):
    own_log = log.Log(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC))
    opened.append(own_log.fd)
    readers = {}
    for stream in (output.STDOUT, output.STDERR):
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        opened.append(writer)
        readers[stream] = system.place(reader)
    text = output.Output(journal.Journal(memoryview(bytearray(limits.JOURNAL_SIZE // 8))), readers, lambda: kernel.notify_output())
    signals = interrupts.Interrupts()
    directory_fd = system.place(os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    kernel = Kernel({'first_grace_ms': 60000, 'interrupt_grace_ms': 0}, Descriptors(directory, directory_fd, own_log, text), text,
                    streams.Streams(text, signals.leave_kernel), Runner({'__name__': '__main__'}, signals), signals,
                    spool.Spool(memoryview(bytearray(limits.SPOOL_SIZE // 8))), own_log)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind('')  # an address of the kernel's choice, in no directory
    listener.listen(1)
    address = listener.getsockname()
    shakes = handshake.Handshake('k', _TOKEN, '', '', handshake.Identity())
    link = Link('kernel', system.place_socket(listener), kernel.poller, Window(), shakes, kernel, own_log)
    return kernel, link, address


def _play(kernel, daemon):
    """A daemon's part: attach, then one cell after the other, the ack of one with the next."""
    decoder = frames.Decoder()
    attach = {'type': 'attach', 'kernel': 'k', 'token': _TOKEN, 'home': 'h', 'incarnation': 1, 'ack': 0, 'grace_ms': 60000,
              'protocol': limits.PROTOCOL}
    daemon.send(frames.encode(0, 0, frames.to_payload(attach)))
    taken = 0
    for number, source in enumerate((None,) + _CELLS):
        if source is not None:
            message = {'type': 'execute', 'cell': 'c%d' % number, 'generation': number, 'code': source, 'timeout_ms': 1000,
                       'output_limit': limits.OUTPUT_LIMIT}
            daemon.send(frames.encode(0, taken, b'') + frames.encode(number, taken, frames.to_payload(message)))
        for _ in range(2):  # to accept and to attach; to receive and to run
            kernel.turn(0)
        for frame in decoder.feed(daemon.recv(1 << 20)):
            frames.from_payload(frame.payload)
            taken = max(taken, frame.seq)
