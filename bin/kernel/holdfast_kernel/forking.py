"""Work on the user's values in forked children: what it changes, breaks or hangs there does not touch the kernel.

Items are worked on in order by one child. One that hangs or kills the child costs that item: another child goes on behind it. The
child has nothing of the kernel's (Kernel.on_fork_in_child), no input and no output.
"""

import gc
import os
import select
import struct

from os import _exit, close, dup2, fork, getpid, pipe, read, waitpid, write  # bound here, as below: a cell may replace those of the module
from time import monotonic
from warnings import catch_warnings, simplefilter

from . import handlers, limits, processes, system

_REPORT = struct.Struct('>?I')  # whether the next item is done, length of the result or of the reason


class Skip(Exception):
    """An item that cannot be done; the text says why."""


def fork_child(is_own=True):
    """os.fork() without the notice of Python 3.12 about threads, whatever filters a cell has set. `is_own`: nothing that cells have
    registered for forks is called."""
    handlers.is_own_fork = is_own
    try:
        with catch_warnings():
            simplefilter('ignore')
            return fork()
    finally:
        handlers.is_own_fork = False


def each(count, work, done, item_seconds, seconds):
    """Calls `work(item)`, which returns bytes or raises, for 0 to count - 1 in children; then `done(item, result, reason)` here, in order,
    with the bytes, or with None and why there are none. Takes no longer than `seconds` in all, `item_seconds` for one."""
    until = monotonic() + seconds
    start = 0
    for _child in range(limits.CHILDREN):
        if start >= count or monotonic() >= until:
            break
        start = _Child(start, count, work, done).follow(item_seconds, until)
    for item in range(start, count):
        done(item, None, 'not tried: %s' % ('the time for all was used up' if monotonic() >= until else 'too many before it ended their process'))


class _Child:
    """One child and what it reports."""

    def __init__(self, start, count, work, done):
        self._next = start  # the item that is reported next
        self._count = count
        self._done = done
        self._buffer = bytearray()  # begins at a report
        reader, writer = pipe()
        try:
            self._pid = fork_child()
        except OSError:
            close(reader)
            close(writer)
            raise
        if self._pid == 0:
            _work(range(start, count), work, writer)
        close(writer)
        self._reader = system.place(reader)
        try:
            self._handle = processes.Handle(self._pid)
        except OSError:
            self._handle = None  # it has ended and was reaped, a cell ignores SIGCHLD

    def follow(self, item_seconds, until):
        """The first item that is not done when this child has ended."""
        reason = None
        poll = select.poll()
        poll.register(self._reader, select.POLLIN)
        item_until = monotonic() + item_seconds
        while self._next < self._count:
            patience = min(item_until, until) - monotonic()
            if patience <= 0:
                reason = 'it took longer than %g s' % item_seconds if monotonic() >= item_until else 'the time for all was used up'
                break
            if not poll.poll(patience * 1000 + 1):
                continue
            data = read(self._reader, 1 << 20)
            if not data:
                break
            if self._take(data):
                item_until = monotonic() + item_seconds
        status = self._end()
        if self._next < self._count:
            self._report(None, reason or 'it ended the process: %s' % _cause(status))
        return self._next

    def _take(self, data):
        """Whether a report was complete with these bytes."""
        buffer = self._buffer
        buffer += data
        any_came = False
        while len(buffer) >= _REPORT.size:
            is_done, length = _REPORT.unpack_from(buffer)
            end = _REPORT.size + length
            if len(buffer) < end:
                break
            body = bytes(buffer[_REPORT.size:end])
            del buffer[:end]
            any_came = True
            if is_done:
                self._report(body, None)
            else:
                self._report(None, body.decode('utf-8', 'replace'))
        return any_came

    def _report(self, result, reason):
        item = self._next
        self._next += 1
        self._done(item, result, reason)

    def _end(self):
        close(self._reader)
        if self._handle is not None:
            self._handle.kill()
            self._handle.close()
        try:
            return waitpid(self._pid, 0)[1]
        except ChildProcessError:
            return None


def _cause(status):
    if status is None:
        return 'cause unknown'
    if os.WIFSIGNALED(status):
        return processes.signal_name(os.WTERMSIG(status))
    return 'exited %d' % os.WEXITSTATUS(status)


def _work(items, work, writer):
    """The child. Does not return."""
    try:
        gc.disable()  # a collection would copy the pages of all objects, and call finalizers
        child = getpid()
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            if fd != writer:
                dup2(null, fd)
        for item in items:
            try:
                is_done, body = True, work(item)
            except BaseException as error:
                is_done, body = False, describe(error).encode('utf-8', 'backslashreplace')
            if getpid() != child:
                break  # the value forked: one of the two goes on, or each item would be reported and written twice
            _send(writer, is_done, body)
    finally:
        _exit(0)


def describe(error):
    """A reason of one line for an exception of the user's."""
    try:
        text = str(error)
    except BaseException:
        text = ''
    text = ' '.join(text[:2 * limits.REASON].split())[:limits.REASON]
    return text if isinstance(error, Skip) else '%s: %s' % (type(error).__name__, text)


def _send(writer, is_done, body):
    data = memoryview(_REPORT.pack(is_done, len(body)) + body)
    while data:
        data = data[write(writer, data):]
