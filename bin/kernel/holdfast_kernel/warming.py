"""Rehearses a kernel's first cell in the nursery, so that what it allocates is there once and is shared by all kernels.

A page that a kernel writes to is its own from then on: every object that is made, and every count of references that changes. So the
whole way of a cell is gone beforehand (caches of types, code and decoders are filled), and the holes that all that leaves in the
heap are filled up: what a kernel makes then lies side by side on few pages instead of one here and one there.
"""

import builtins
import ctypes
import faulthandler
import gc
import getpass
import linecache
import os
import signal
import sys
import time
import types
import warnings

from . import (failpoints, frames, heap, interrupts, kernel_main, last_words, limits, log, magics, nursery, processes, sockets,
               spawning, system, tracing)

_CELLS = ('1+1', 'x = [1, 2]\nx', 'def f(): return {}\nf()', 'print(1)', '1/0', 'x =', '1+1')
_SHORT = ('1+1',)
_TIMES = 10  # until the interpreter has settled on what it specializes in the code (3.11: 8 calls, then some of each instruction)
_TOKEN = '0' * 64

_kept = []  # the nursery's own, which a kernel replaces: to be given up costs it pages, too


def share_with_kernels(directory, own_log):
    """To be called once, before the first fork and with no thread but this one."""
    gc.disable()
    _kept.extend((sys.stdin, sys.stdout, sys.stderr, sys.argv))
    os.environ.clear()  # each kernel gets the one that its spawn names
    time.tzset()
    # The notice of Python 3.12 about forking with threads: the thread it finds is the kernel's.
    warnings.filterwarnings('ignore', r'This process \(pid=\d+\) is multi-threaded', DeprecationWarning)
    _load_what_ends_threads()
    try:
        used = _code_used_by(lambda: _rehearse(directory, _CELLS))
        gc.collect()
        heap.fill_holes()
        _gather_code(used)
        # Again: copies of code are fresh, and a full collection has emptied caches and free lists.
        for time_left in range(_TIMES, 0, -1):
            _rehearse(directory, _CELLS if time_left <= 3 else _SHORT)
    except Exception as error:  # kernels are bigger then, no more
        own_log.write('rehearsal-failed %s: %s' % (type(error).__name__, error))
    heap.fill_holes()
    gc.freeze()
    gc.enable()


def _load_what_ends_threads():
    """The C library loads this when the first thread ends (to Python 3.10, and a daemon thread later on), and ends the process if it
    cannot: a cell may have left no descriptor or no memory for it by then."""
    try:
        ctypes.CDLL('libgcc_s.so.1')
    except OSError:
        pass  # a C library that has no use for it


def _code_used_by(act):
    """The ids of the code objects that run in it."""
    used = set()
    tracing.own = lambda frame, event, _argument: used.add(id(frame.f_code)) if event == 'call' else None
    sys.setprofile(tracing.own)
    try:
        act()
    finally:
        sys.setprofile(None)
        tracing.own = None
    return used


def _gather_code(used):
    """Puts copies of this code, and of what only nursery and forked kernel run, side by side: running it counts references in it."""
    modules = tuple(module.__name__ for module in (kernel_main, last_words, nursery, processes, spawning))
    originals = []  # kept meanwhile: a copy in the place of one that was just freed would lie where that one lay
    for function in gc.get_objects():
        if type(function) is types.FunctionType and not interrupts.is_marked(function.__code__):
            if id(function.__code__) in used or function.__module__ in modules:
                originals.append(function.__code__)
                function.__code__ = _copy(function.__code__)


def _copy(code):
    """A copy of code, with copies of what functions are made of in it: making one counts references, too."""
    inner = [_copy(one) if type(one) is types.CodeType and not interrupts.is_marked(one) else one for one in code.co_consts]
    return code.replace(co_consts=tuple(inner))


class _Surroundings:
    """What a rehearsal changes in this process, to be put back."""

    def __init__(self):
        self._streams = (sys.stdin, sys.stdout, sys.stderr, sys.__stdin__, sys.__stdout__, sys.__stderr__)
        self._functions = (builtins.input, getpass.getpass)
        self._handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)}
        self._main = sys.modules['__main__']
        self._path = list(sys.path)
        self._failpoints = failpoints.active
        listed = [int(name) for name in os.listdir('/proc/self/fd')]
        self.descriptors = [fd for fd in listed if system.identity(fd) is not None]  # without the one that listed them

    def put_back(self):
        sys.stdin, sys.stdout, sys.stderr, sys.__stdin__, sys.__stdout__, sys.__stderr__ = self._streams
        builtins.input, getpass.getpass = self._functions
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        sys.modules['__main__'] = self._main
        sys.path[:] = self._path
        failpoints.active = self._failpoints
        faulthandler.disable()
        os.environ.clear()
        os.umask(0o077)
        for name in ('_', 'display', 'run', magics.CALL):
            vars(builtins).pop(name, None)
        linecache.clearcache()
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        os.close(null)


def _rehearse(directory, cells):
    """A kernel in all but fork, session and thread: made, attached to, given cells, forgotten. Its run directory is one in `directory`."""
    surroundings = _Surroundings()
    run_directory = os.path.join(directory, 'rehearsal')
    os.mkdir(run_directory, 0o700)
    kernel = daemon = own_log = None
    memories = ()
    try:
        own_log = log.Log(log.open_log(run_directory, 'kernel.log'))
        memories = kernel_main.map_files(run_directory)
        kernel, link = _make_kernel(run_directory, own_log, memories, surroundings.descriptors)
        daemon = sockets.connect(run_directory, 'kernel.sock', 1)  # one second: a rehearsal that goes wrong must not keep the nursery
        kernel.use_link(link)
        _play(kernel, daemon, cells)
    finally:
        surroundings.put_back()
        if daemon is not None:
            daemon.close()
        if kernel is not None:
            kernel.on_fork_in_child()  # which gives up all that is a kernel's
        if own_log is not None:
            os.close(own_log.fd)
        kernel = link = None
        for memory in memories:
            system.unmap(memory)
        for name in os.listdir(run_directory):
            os.unlink(os.path.join(run_directory, name))
        os.rmdir(run_directory)


def _make_kernel(run_directory, own_log, memories, kept):
    spec = {'kernel': 'k', 'token': _TOKEN, 'home': '', 'program': '', 'directory': run_directory, 'cwd': '.', 'failpoints': '',
            'env': {'PATH': '/usr/bin', 'HOME': '/', 'LANG': 'C.UTF-8'}, 'grace_ms': 60000, 'first_grace_ms': 60000,
            'interrupt_grace_ms': 0}
    listener = sockets.listen(run_directory, 'kernel.sock', replace=True)
    return kernel_main.assemble(spec, listener, {1: os.pipe(), 2: os.pipe()}, own_log, memories, kept)


def _play(kernel, daemon, cells):
    """A daemon's part: attach, then one cell after the other, the ack of one with the next."""
    decoder = frames.Decoder()
    attach = {'type': 'attach', 'kernel': 'k', 'token': _TOKEN, 'home': 'h', 'incarnation': 1, 'ack': 0, 'grace_ms': 60000,
              'protocol': limits.PROTOCOL}
    daemon.send(frames.encode(0, 0, frames.to_payload(attach)))
    taken = 0
    for number, source in enumerate((None,) + cells):
        if source is not None:
            message = {'type': 'execute', 'cell': 'c%d' % number, 'generation': number, 'code': source, 'timeout_ms': 1000,
                       'output_limit': limits.OUTPUT_LIMIT}
            daemon.send(frames.encode(0, taken, b'') + frames.encode(number, taken, frames.to_payload(message)))
        for _ in range(2):  # to accept and to attach; to receive and to run
            kernel.turn(0)
        for frame in decoder.feed(daemon.recv(1 << 20)):
            frames.from_payload(frame.payload)
            taken = max(taken, frame.seq)
