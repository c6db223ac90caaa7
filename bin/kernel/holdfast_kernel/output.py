"""All that a cell writes, in one order: Python's streams and the pipes behind descriptors 1 and 2.

Text goes to the journal under its cell's label; the owner of the link pulls it out again as output frames. Locked: cells write from
any thread. A write waits for room only while a daemon is attached and takes frames; the link's owner itself never waits here.
"""

import codecs
import os
import select
from _thread import allocate_lock

from os import read, write  # bound here, as below: a cell may replace those of the module
from time import monotonic  # bound here: a cell may replace those of the module

from . import limits, system, texts
from .execution import current

STDOUT = 1
STDERR = 2
_label = current.get


class _Cell:
    """What is counted of one cell's output."""

    __slots__ = ('label', 'limit', 'size', 'streams', 'counted')

    def __init__(self, label, limit):
        self.label = label  # the cell id as bytes
        self.limit = limit  # from this offset on output is only counted
        self.size = 0  # of the combined text; the next offset
        self.streams = {}  # stream -> HeadTail, made with its first text
        self.counted = [0, 0, 0]  # bytes by stream

    def parts(self, stream):
        kept = self.streams.get(stream)
        return texts.EMPTY if kept is None else kept.parts()


class Output:
    def __init__(self, journal, pipes, notify):
        """`pipes`: {stream: non-blocking read end}; `notify()` tells the link thread that there is something to pull."""
        self._journal = journal
        self._notify = notify
        self._lock = allocate_lock()
        self._pipes = {fd: stream for stream, fd in pipes.items()}
        self._poll = select.poll()
        self._identities = {stream: system.identity(fd) for fd, stream in self._pipes.items()}
        for fd in self._pipes:
            self._poll.register(fd, select.POLLIN)
        self._decoders = {}  # stream -> incremental decoder that holds a split character
        self._cell = _Cell(b'', limits.OUTPUT_LIMIT)  # the executing cell or the last one
        self._announced = False  # whether notify() was called since the last rearm()
        self._stalled_at = -1  # journal position at which a writer waited in vain; it does not wait there again
        self._room = allocate_lock()  # released by the puller to wake a waiting writer
        self._room.acquire()
        self.is_attached = False  # set by the link's owner
        self.forked = False  # in a child of a cell's fork: text goes straight to descriptors 1 and 2

    def begin(self, cell, limit):
        """From now on output belongs to this cell, save that of labelled tasks of others; what is counted of it."""
        with self._lock:
            self._cell = counted = _Cell(cell.encode('utf-8', 'backslashreplace'), limit)
            return counted

    def current_cell(self):
        """The id of the cell whose code asks, as for what it would write."""
        return self._writer().label.decode()

    def write(self, stream, text):
        """Text from a Python stream; what the pipes hold already goes before it."""
        data = text.encode('utf-8', 'backslashreplace')
        if self.forked:
            return _write_all(stream, data)
        with self._lock:
            if text != '\n':  # the second write of a print(): nothing is to come between
                for fd, _events in self._poll.poll(0):
                    self._read_pipe(fd, True)
            self._put(stream, data, True, self._writer())

    def write_bytes(self, stream, data):
        """Bytes from a Python stream's buffer, cleaned like a pipe's."""
        if self.forked:
            return _write_all(stream, data)
        with self._lock:
            for fd, _events in self._poll.poll(0):
                self._read_pipe(fd, True)
            self._put(stream, self._clean(stream, data), True, self._writer())

    def drain(self):
        """Takes what the pipes hold now, one read each, without waiting for room. Called by the link's owner."""
        with self._lock:
            for fd, _events in self._poll.poll(0):
                self._read_pipe(fd, False)

    def has_room(self):
        """Whether draining both pipes once cannot overwrite what was not sent."""
        return not self.is_attached or self._journal.unsent_room() > 2 * limits.PIPE_READ + 8192

    def pull(self):
        """The next Chunk for an output frame, or None."""
        with self._lock:
            chunk = self._journal.pull()
        if self._room.locked():
            try:
                self._room.release()
            except RuntimeError:
                pass
        return chunk

    def rearm(self):
        """The puller is about to sleep: the next text that is written wakes it. It has to pull once more after this."""
        self._announced = False

    def has_unsent(self):
        return self._journal.has_unsent()

    @property
    def dropped(self):
        return self._journal.dropped

    def position(self, cell):
        """The offset in what is counted of a cell, behind all that is in the pipes now."""
        with self._lock:
            for fd, _events in self._poll.poll(0):
                self._read_pipe(fd, True)
            return cell.size

    def finish(self, cell=None):
        """The end of a cell, or of the present one: the rest of the pipes, and of split characters. {stdout, stderr, output_bytes} for its `done`."""
        with self._lock:
            for fd, _events in self._poll.poll(0):
                self._read_pipe(fd, False)
            if self._decoders:
                for stream, decoder in self._decoders.items():
                    self._put(stream, decoder.decode(b'', True).encode(), False)
                self._decoders.clear()
            cell = cell or self._cell
            return {'stdout': cell.parts(STDOUT), 'stderr': cell.parts(STDERR), 'output_bytes': cell.size}

    def _read_pipe(self, fd, may_wait):
        try:
            data = read(fd, limits.PIPE_READ)
        except BlockingIOError:
            return
        except OSError:
            data = b''
        if not data:
            self._forget_pipe(fd)  # a cell closed one of its ends; it is renewed after the cell
            return
        stream = self._pipes[fd]
        self._put(stream, self._clean(stream, data), may_wait)

    def _forget_pipe(self, fd):
        """Stops reading a pipe whose descriptor is closed."""
        if self._pipes.pop(fd, None) is not None:
            self._poll.unregister(fd)

    def use_pipe(self, stream, fd):
        """Reads a stream from another pipe from now on."""
        with self._lock:
            for old in [old for old, its in self._pipes.items() if its == stream]:
                self._forget_pipe(old)
                if system.identity(old) == self._identities[stream]:
                    os.close(old)
            self._pipes[fd] = stream
            self._identities[stream] = system.identity(fd)
            self._poll.register(fd, select.POLLIN)

    def reads(self, stream):
        """Whether the stream's pipe is read and is still the same one."""
        return any(its == stream and system.identity(fd) == self._identities[stream] for fd, its in self._pipes.items())

    def pipe_fds(self):
        return list(self._pipes)

    def _clean(self, stream, data):
        """Valid UTF-8 for these bytes; a character split at their end waits for the next ones."""
        if stream not in self._decoders:
            try:
                data.decode()
                return data
            except UnicodeDecodeError:
                self._decoders[stream] = codecs.getincrementaldecoder('utf-8')('replace')
        decoder = self._decoders[stream]
        cleaned = decoder.decode(data).encode()
        if not decoder.getstate()[0]:
            del self._decoders[stream]
        return cleaned

    def _writer(self):
        """The cell whose code writes: a task's own one, else the present one."""
        execution = _label()
        return self._cell if execution is None or execution.output is None else execution.output

    def _put(self, stream, data, may_wait, cell=None):
        if not data:
            return
        cell = cell or self._cell
        offset = cell.size
        cell.size += len(data)
        counted = cell.counted
        counted[stream] += len(data)
        kept = cell.streams.get(stream)
        if kept is None:
            kept = cell.streams[stream] = texts.HeadTail()
        kept.add(data)
        journal = self._journal
        journal.count(counted[STDOUT], counted[STDERR])
        if cell.size > cell.limit:
            if offset >= cell.limit:
                # Only counted; the newest stays in the ring, as the last words of a kernel that dies.
                newest = texts.boundary(data, max(0, len(data) - limits.JOURNAL_RECORD + 4))
                journal.append_evidence(stream, cell.label, offset + newest, data[newest:])
                return
            data = data[:texts.boundary(data, cell.limit - offset)]
        if len(data) <= limits.JOURNAL_RECORD:
            if may_wait and self.is_attached and journal.unsent_room() < journal.record_size(cell.label, len(data)):
                self._wait_for_room(len(data) + 1024)
            journal.append(stream, cell.label, offset, data)
        else:
            self._put_in_pieces(cell, stream, offset, data, may_wait)
        if not self._announced:
            self._announced = True
            self._notify()

    def _put_in_pieces(self, cell, stream, offset, data, may_wait):
        at = 0
        while at < len(data):
            end = at + limits.JOURNAL_RECORD
            end = texts.boundary(data, end) if end < len(data) else len(data)
            if may_wait and self.is_attached and self._journal.unsent_room() < 2 * limits.JOURNAL_RECORD:
                self._wait_for_room(2 * limits.JOURNAL_RECORD)
            self._journal.append(stream, cell.label, offset + at, data[at:end])
            at = end

    def _wait_for_room(self, wanted):
        """Lets the link thread send, the lock released, until there is room; gives up after OUTPUT_STALL without progress."""
        journal = self._journal
        if journal.sent == self._stalled_at:
            return
        seen = journal.sent
        until = monotonic() + limits.OUTPUT_STALL
        while self.is_attached and journal.unsent_room() < wanted:
            self._announced = True
            self._lock.release()
            try:
                self._notify()
                self._room.acquire(True, 0.02)
            finally:
                self._lock.acquire()
            if journal.sent != seen:
                seen = journal.sent
                until = monotonic() + limits.OUTPUT_STALL
            elif monotonic() >= until:
                self._stalled_at = seen
                return

    def become_forked_child(self):
        self._lock = allocate_lock()
        self.forked = True


def _write_all(fd, data):
    data = memoryview(data)
    while data:
        try:
            data = data[write(fd, data):]
        except InterruptedError:
            continue
        except BlockingIOError:
            select.select([], [fd], [], 1.0)
