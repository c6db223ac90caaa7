"""A job as a cell has it: what run() returns.

Each way to learn of its finish (poll, exit_code, wait, await, stop, reading to its end) counts as reading it: no notice tells of it then.
"""

from _thread import allocate_lock
from functools import wraps

from time import monotonic  # bound here: a cell may replace those of the module

from . import job_kept, limits
from .interrupts import door
from .job_records import GONE


def _leaving(method):
    """For what cells call and may call all the time: an interrupt that met it is raised when it returns."""
    @wraps(method)
    def leaving(self, *args, **options):
        result = method(self, *args, **options)
        self._jobs.leave_kernel()
        return result

    return leaving


@door
def _acquire(lock, seconds):
    """Blocks until another thread releases the lock, at most that many seconds; a negative number: for ever."""
    lock.acquire(True, seconds)


class Job:
    """A process started by run(), in a process group of its own.

    await job, job.wait(timeout)     its exit code once it has finished; minus the signal's number if one ended it
    job.poll(), job.exit_code        the same at once; None while it runs, or if it cannot be known
    job.read(), job.head(), job.tail()   its output as text: all that is kept, the first, the last lines
    job.read_bytes(offset, limit)    its output as it was written
    job.pipe(program, *args)         another job, whose standard input is this one's standard output
    job.stop()                       ends its whole group: TERM, after 250 ms KILL
    job.id, pid, command, duration (seconds), timed_out
    """

    __slots__ = ('_jobs', '_record', '__weakref__')

    def __init__(self, jobs, record):
        self._jobs = jobs
        self._record = record

    @property
    def id(self):
        return self._record.job

    @property
    def pid(self):
        return self._record.pid

    @property
    def command(self):
        return self._record.command

    @property
    def timed_out(self):
        """Whether its timeout ended it."""
        return self._record.timed_out

    @property
    def duration(self):
        """Seconds from its start to its end, or until now."""
        record = self._record
        return record.duration if record.duration is not None else monotonic() - record.began

    @property
    def exit_code(self):
        return self.poll()

    @_leaving
    def poll(self):
        """Its exit code; None while it runs."""
        with self._jobs.lock:
            self._jobs.mark_read(self._record)
            return self._record.code if self._record.has_finished else None

    def wait(self, timeout=None):
        """Waits until it has finished, at most `timeout` seconds; its exit code, None if it still runs."""
        if timeout is not None and (type(timeout) not in (int, float) or not timeout >= 0):
            raise ValueError('wait(): timeout is a number of seconds, not %r' % (timeout,))
        self._wait('waiters', lambda: self._record.has_finished, -1 if timeout is None else min(timeout, 1e6))
        return self.poll()

    def __await__(self):
        from asyncio import get_running_loop  # whoever awaits has it

        record, lock = self._record, self._jobs.lock
        loop = get_running_loop()
        future = loop.create_future()

        def settle():
            if not future.done():
                future.set_result(None)

        def waiter():
            loop.call_soon_threadsafe(settle)

        with lock:
            if record.has_finished:
                settle()
            else:
                self._refuse_in_fork()
                record.waiters.append(waiter)
        try:
            yield from future
        finally:
            with lock:
                if waiter in record.waiters:
                    record.waiters.remove(waiter)
        return self.poll()

    def stop(self):
        """Ends its group and waits until no process of it is left; its exit code. RuntimeError if some do not end."""
        with self._jobs.lock:
            if self._record.state != GONE:
                self._refuse_in_fork()
                self._jobs.begin_stop(self._record)
        if not self.wait_until_gone(limits.JOB_STOP_SECONDS + 1):
            raise RuntimeError('%s: processes of its group %d do not end' % (self.id, self.pid))
        return self.poll()

    def wait_until_gone(self, seconds):
        """Waits until no process of its group is left, or until it was tried in vain to end them; whether they are gone."""
        self._wait('gone_waiters', lambda: self._record.state == GONE, seconds)
        return self._record.state == GONE

    def _wait(self, waiters, is_over, seconds):
        lock = allocate_lock()
        lock.acquire()
        waiter = lock.release
        with self._jobs.lock:
            if is_over():
                return
            self._refuse_in_fork()
            getattr(self._record, waiters).append(waiter)
        try:
            _acquire(lock, seconds)
        finally:
            with self._jobs.lock:
                waiting = getattr(self._record, waiters)
                if waiter in waiting:
                    waiting.remove(waiter)

    def _refuse_in_fork(self):
        if self._jobs.is_forked:
            raise RuntimeError('this process is a fork of a kernel; jobs belong to the kernel itself')

    def pipe(self, program, *args, **options):
        """Starts another job that reads what this one writes to standard output; options as of run()."""
        if 'stdin' in options:
            raise TypeError('pipe() gives the standard input itself')
        return self._jobs.run(program, *args, stdin=self, **options)

    @_leaving
    def read_bytes(self, offset=0, limit=None):
        """The kept bytes of both streams in written order, from that offset on, at most `limit` of them."""
        if type(offset) is not int or offset < 0 or (limit is not None and (type(limit) is not int or limit < 0)):
            raise ValueError('read_bytes(): offset and limit are whole numbers')
        kept = self._record.kept
        with self._jobs.lock:
            pieces = kept.read(offset, job_kept.SIZE if limit is None else limit)
            if not pieces or pieces[-1][1] + len(pieces[-1][2]) >= kept.total:
                self._jobs.mark_read(self._record)
        return b''.join(data for _stream, _at, data in pieces)

    def read(self):
        """All its output so far as text; what was not kept is named in a line."""
        return self._text(0, None, True)

    def head(self, lines=limits.JOB_LINES):
        """The first lines of its output."""
        return ''.join(self._text(0, limits.JOB_PAGE_MOST, False).splitlines(True)[:_count(lines)])

    def tail(self, lines=limits.JOB_LINES):
        """The last lines of its output."""
        count = _count(lines)
        text = self._text(-limits.JOB_PAGE_MOST, None, False)
        return ''.join(text.splitlines(True)[-count:]) if count else ''

    @_leaving
    def _text(self, start, end, with_gaps):
        """From `start` (negative: before the end) to `end` (None: all there is)."""
        kept = self._record.kept
        with self._jobs.lock:
            total = kept.total
            if end is None or end >= total:
                self._jobs.mark_read(self._record)
                end = total
            return job_kept.text_of(kept, max(0, total + start) if start < 0 else start, end, with_gaps)

    @_leaving
    def __repr__(self):
        record = self._record
        with self._jobs.lock:
            if not record.has_finished:
                state = 'running for %.1f s' % self.duration
            elif record.timed_out:
                state = 'timed out after %.1f s' % record.duration
            elif record.code is None:
                state = 'finished, its exit code is unknown'
            else:
                state = 'exit code %d after %.1f s' % (record.code, record.duration)
            return '<job %s %s: %s, %d bytes of output>' % (record.job, record.command[:limits.COMMAND], state, record.kept.total)

    def __reduce_ex__(self, _protocol):
        raise TypeError('a job cannot be saved or copied: it is a process')


def _count(lines):
    if type(lines) is not int or lines < 0:
        raise ValueError('lines is a whole number, not %r' % (lines,))
    return lines
