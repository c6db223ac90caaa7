"""All that a cell writes, in one order: Python's streams and the pipes behind descriptors 1 and 2.

Text goes to the journal under its cell's label; the owner of the link pulls it out again as output frames. Locked: cells write from
any thread. A write waits for room only while a daemon is attached and takes frames; the link's owner itself never waits here.
"""

import codecs
import select
from _thread import RLock, _count as thread_count, allocate_lock, get_ident

from os import read, write  # bound here, as below: a cell may replace those of the module
from time import monotonic

from . import limits, system, texts
from .execution import current
from .pipes import Pipes

STDOUT = 1
STDERR = 2
_RECORD = limits.JOURNAL_RECORD
_label = current.get
_encode = str.encode


class _Cell:
    """What is counted of one cell's output."""

    __slots__ = ('label', 'limit', 'size', 'mark', 'settle_at', 'streams', 'counted', 'decoders')

    def __init__(self, label, limit):
        self.label = label  # the cell id as bytes
        self.limit = limit  # from this offset on output is only counted
        self.size = 0  # of the combined text; the next offset
        self.settle_at = limits.UNSETTLED  # the offset beyond which what the HeadTails were given is to be joined
        self.mark = min(self.settle_at, limit)  # text beyond this one has more to do than to be appended: see _pass_mark
        self.streams = [None, None, None]  # HeadTail by stream, made with its first text
        self.counted = [0, 0, 0]  # bytes by stream
        self.decoders = {}  # stream -> incremental decoder that holds a split character, written through a stream's buffer

    def parts(self, stream):
        kept = self.streams[stream]
        return texts.EMPTY if kept is None else kept.parts()


class Output:
    def __init__(self, journal, readers, notify, on_parted):
        """`readers`: {stream: non-blocking read end}; `notify()` tells the link thread that there is something to pull;
        `on_parted({stream: read end})` hears which pipes the next cell has, if others than before."""
        # [0] is 0 in the child of a fork, also before `become_forked_child`: text goes straight to descriptors 1 and 2.
        self.is_here = system.mark_process()
        self._journal = journal
        self._append, self._extend = journal.append, journal.extend
        self._run = None  # the HeadTail of which the newest text is in the newest record of the journal
        self._notify = notify
        self._lock = RLock()  # whoever holds it may be in the midst of a write: see _put_off
        self._pipes = Pipes(readers)
        self._try_poll = self._pipes.try_poll
        self._poll = self._pipes.poll
        self._on_parted = on_parted
        self._began = 0.0  # monotonic, of the newest cell
        self._is_quick = False  # the newest cell has ended sooner than a process can be started
        self._cell = _Cell(b'', limits.OUTPUT_LIMIT)  # the executing cell or the last one
        self._announced = False  # whether notify() was called since the last rearm()
        self._pulled = 0  # chunks so far
        self._stalled_at = -1  # how many there were when a writer waited in vain; it does not wait again before the next one
        self._late = []  # (stream, text, _Cell) that was put off, in order
        self._late_room = limits.LATE_OUTPUT  # bytes that can be put off yet
        self._left_out = 0  # bytes that were not
        self._waiters = set()  # the threads that wait for room
        self._room = allocate_lock()  # released by the puller to wake a waiting writer
        self._room.acquire()
        self.is_flooded = False  # the last look at the pipes took much from one: there will be more at once
        self.is_attached = False  # set by the link's owner

    def begin(self, cell, limit):
        """From now on output belongs to this cell, save that of labelled tasks and threads of others; what is counted of it."""
        self._is_quick = False
        if thread_count() > 1:  # a thread of the user's may have started a process since the last cell
            self.part()
        self._began = monotonic()
        with self._lock:
            self._cell = counted = _Cell(cell.encode('utf-8', 'backslashreplace'), limit)
            return counted

    def part(self):
        """What processes that the newest cell leaves behind will write stays its own. On the main thread, where no cell's code runs."""
        pipes = self._pipes
        if self._is_quick or not pipes.may_be_shared():
            return
        before = pipes.present_fds()
        with self._lock:
            self._read_pipes(pipes.poll(0), False)
            for stream, data in pipes.part(self._cell):
                self._put(stream, self._clean(self._cell.decoders, stream, data), False)
        after = pipes.present_fds()
        if after != before:
            self._on_parted(after)

    def current_cell(self):
        """The id of the cell whose code asks, as for what it would write."""
        return self._writer().label.decode()

    def write(self, stream, text):
        """Text from a Python stream; what the pipes hold already goes before it."""
        try:
            data = _encode(text)
        except UnicodeEncodeError:
            data = _encode(text, 'utf-8', 'backslashreplace')
        if not self.is_here[0]:
            return _write_all(stream, data)
        lock = self._lock
        if lock._is_owned() or (self._waiters and get_ident() in self._waiters):
            return self._put_off(stream, data)
        try:
            lock.acquire()  # in here, and not with `with`, which takes twice as long: what is raised behind it must not leave it locked
            if data != b'\n':  # the second write of a print(): nothing is to come between
                try:
                    ready = self._try_poll(0)
                except OSError:
                    ready = self._poll(0)
                for fd, _events in ready:
                    self._read_pipe(fd, True)
            execution = _label()  # as in _writer, without the call
            self._put(stream, data, True, self._cell if execution is None else execution.output)
            if self._late:
                self._put_late(True)
        finally:
            lock.release()

    def write_bytes(self, stream, data):
        """Bytes from a Python stream's buffer, cleaned like a pipe's."""
        if not self.is_here[0]:
            return _write_all(stream, data)
        if self._lock._is_owned() or get_ident() in self._waiters:
            return self._put_off(stream, data.decode('utf-8', 'replace').encode())
        with self._lock:
            self._read_pipes(self._poll(0), True)
            cell = self._writer()
            self._put(stream, self._clean(cell.decoders, stream, data), True, cell)
            if self._late:
                self._put_late(True)

    def _put_off(self, stream, data):
        """Text of code that runs in the midst of another write of its own thread: a signal handler, a finalizer, a trace function.

        It follows that write: the lock is held, or it waits for room, and nothing may come between its steps."""
        self._late_room -= len(data)
        if self._late_room < 0:
            self._left_out, data = self._left_out + len(data), b''
        if data or not self._late:
            self._late.append((stream, data, self._writer()))

    def _put_late(self, may_wait):
        """Appends what was put off, at once: a trace function may print for each step of this."""
        late, self._late = self._late, []  # whatever is put off between two steps is in one of them
        left_out, self._left_out = self._left_out, 0
        self._late_room = limits.LATE_OUTPUT
        together = {}  # (stream, id of the cell) -> (cell, texts): few pieces, whatever there was
        for stream, data, cell in late:
            together.setdefault((stream, id(cell)), (cell, []))[1].append(data)
        for (stream, _id), (cell, texts_of_it) in together.items():
            self._put(stream, b''.join(texts_of_it), may_wait, cell)
        if left_out:
            self._put(STDERR, b'[%d bytes left out: written in the midst of another write]\n' % left_out, False)

    def drain(self):
        """Takes what the pipes hold now, one read each, without waiting for room. Called by the link's owner."""
        with self._lock:
            self.is_flooded = False
            for fd in self._pipes.ready():
                self._read_pipe(fd, False)

    def has_room(self):
        """Whether draining both pipes once cannot overwrite what was not sent."""
        return not self.is_attached or self._journal.unsent_room() > 2 * limits.PIPE_READ + 8192

    def pull(self):
        """The next Chunk for an output frame, or None."""
        with self._lock:
            chunk = self._journal.pull()
            self._pulled += chunk is not None
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
            self._read_pipes(self._poll(0), True)
            return cell.size

    def finish(self, cell):
        """The end of a cell: the rest of the pipes, and of split characters. {stdout, stderr, output_bytes} for its `done`."""
        with self._lock:
            self._read_pipes(self._poll(0), False)
            if self._late:
                self._put_late(False)
            self._is_quick = cell is self._cell and monotonic() - self._began < limits.SPAWN
            for fd in self._pipes.ready_of(cell):
                self._read_pipe(fd, False)
            self._flush(cell.decoders, cell)
            if cell is self._cell:
                for pipe in self._pipes.by_fd.values():
                    if pipe.cell is None:
                        self._flush(pipe.decoders, cell)
            return {'stdout': cell.parts(STDOUT), 'stderr': cell.parts(STDERR), 'output_bytes': cell.size}

    def _flush(self, decoders, cell):
        """What is left of split characters."""
        for stream, decoder in decoders.items():
            self._put(stream, decoder.decode(b'', True).encode(), False, cell)
        decoders.clear()

    def _read_pipes(self, ready, may_wait):
        for fd, _events in ready:
            self._read_pipe(fd, may_wait)

    def _read_pipe(self, fd, may_wait):
        try:
            data = read(fd, limits.PIPE_READ)
        except BlockingIOError:
            return
        except OSError:
            data = b''
        pipe = self._pipes.by_fd[fd]
        if len(data) >= limits.FLOOD:
            self.is_flooded = True
        if not data:
            self._flush(pipe.decoders, pipe.cell)
            self._pipes.forget(pipe)
            return
        self._put(pipe.stream, self._clean(pipe.decoders, pipe.stream, data), may_wait, pipe.cell)

    def use_pipe(self, stream, fd):
        """Reads a stream from another pipe from now on."""
        with self._lock:
            self._pipes.renew(stream, fd)
        self._on_parted({stream: fd})

    def is_whole(self, stream):
        """Whether the stream's pipe is read, and is the newest cell's."""
        return self._pipes.is_whole(stream)

    def misled(self):
        """The streams whose descriptor a cell has left to write elsewhere, if that cannot be put right here."""
        if self._pipes.are_led():
            return ()
        with self._lock:
            return self._pipes.misled()

    def pipe_fds(self):
        return list(self._pipes.by_fd)

    def close_ended(self):
        """Called by the owner of the link, when it polls no pipe that is not among `pipe_fds`."""
        self._pipes.close_ended()

    @staticmethod
    def _clean(decoders, stream, data):
        """Valid UTF-8 for these bytes; a character split at their end waits for the next ones."""
        if stream not in decoders:
            try:
                data.decode()
                return data
            except UnicodeDecodeError:
                decoders[stream] = codecs.getincrementaldecoder('utf-8')('replace')
        decoder = decoders[stream]
        cleaned = decoder.decode(data).encode()
        if not decoder.getstate()[0]:
            del decoders[stream]
        return cleaned

    def _writer(self):
        """The cell whose code writes: a task's own one, else the present one."""
        execution = _label()
        return self._cell if execution is None or execution.output is None else execution.output

    def _put(self, stream, data, may_wait, cell=None):
        size = len(data)
        if not size:
            return
        run, self._run = self._run, None  # a trace function may raise in here: then no text goes on from this one
        cell = cell or self._cell
        offset = cell.size
        cell.size = end = offset + size
        counted = cell.counted
        counted[stream] = count = counted[stream] + size
        kept = cell.streams[stream]
        if kept is None:
            kept = cell.streams[stream] = texts.HeadTail()
        kept.add(data)
        if kept is run and size <= self._journal.room and end <= cell.mark:
            self._extend(stream, data, count)
            self._run = run
        elif not self._put_record(cell, stream, offset, data, may_wait):
            return
        if not self._announced:
            self._announced = True
            self._notify()

    def _put_record(self, cell, stream, offset, data, may_wait):
        """Text that does not simply go on from the text before it; whether there is something to send of it."""
        end = cell.size
        if end > cell.mark:
            data = self._pass_mark(cell, stream, offset, data)
        size = len(data)
        if not size:
            return False
        if size > _RECORD:
            self._put_in_pieces(cell, stream, offset, data, may_wait)
        elif not self._append(stream, cell.label, offset, data, cell.counted, may_wait and self.is_attached):
            self._wait_for_room(size + 1024)
            self._append(stream, cell.label, offset, data, cell.counted)
        # Unless another thread has written more of it while this one waited.
        self._run = cell.streams[stream] if cell.size == offset + size else None
        return True

    def _pass_mark(self, cell, stream, offset, data):
        """Joins what was kept now and then; what of the text is below the limit of its cell."""
        end, limit = cell.size, cell.limit
        if end > cell.settle_at:
            cell.settle_at = end + limits.UNSETTLED
            for kept in cell.streams:
                if kept is not None:
                    kept.settle()
        cell.mark = min(cell.settle_at, limit)
        if end <= limit:
            return data
        if offset < limit:
            return data[:texts.boundary(data, limit - offset)]
        # Only counted; the newest stays in the ring, as the last words of a kernel that dies.
        newest = texts.boundary(data, max(0, len(data) - _RECORD + 4))
        self._journal.append_evidence(stream, cell.label, offset + newest, data[newest:], cell.counted)
        return b''

    def _put_in_pieces(self, cell, stream, offset, data, may_wait):
        at = 0
        while at < len(data):
            end = at + _RECORD
            end = texts.boundary(data, end) if end < len(data) else len(data)
            if may_wait and self.is_attached and self._journal.unsent_room() < 2 * _RECORD:
                self._wait_for_room(2 * _RECORD)
            self._append(stream, cell.label, offset + at, data[at:end], cell.counted)
            at = end

    def _wait_for_room(self, wanted):
        """Lets the link thread send, the lock released, until there is room; gives up after OUTPUT_STALL without progress."""
        journal = self._journal
        if self._pulled == self._stalled_at:
            return
        seen = self._pulled  # not the journal's position: what is overwritten moves that, too
        until = monotonic() + limits.OUTPUT_STALL
        while self.is_attached and journal.unsent_room() < wanted:
            self._announced = True
            self._waiters.add(get_ident())  # a handler that prints in the midst of this does not wait, too: what it prints is put off
            self._lock.release()
            try:
                self._notify()
                self._room.acquire(True, 0.02)
            finally:
                self._lock.acquire()
                self._waiters.discard(get_ident())
            if self._pulled != seen:
                seen = self._pulled
                until = monotonic() + limits.OUTPUT_STALL
            elif monotonic() >= until:
                self._stalled_at = seen
                return

    def become_forked_child(self):
        self.is_here = b'\0'
        self._lock = RLock()
        self._waiters = set()


def _write_all(fd, data):
    data = memoryview(data)
    while data:
        try:
            data = data[write(fd, data):]
        except BlockingIOError:
            select.select([], [fd], [], 1.0)
