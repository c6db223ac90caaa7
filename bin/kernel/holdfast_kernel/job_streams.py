"""Moves the bytes of jobs: from their pipes to what is kept and to the job that reads them, from a Feed to their standard input.

Called by the keeper's thread, with the lock of Jobs held, when poll says that a descriptor is ready; never blocks. A descriptor that a
cell closed or replaced is given up: what it carried is lost, and said in the log; the job goes on, or gets SIGPIPE.
"""

import select

from os import close, read, write  # bound here, as below: a cell may replace those of the module
from time import monotonic

from . import job_kept, limits, polling, system
from .job_records import TAKEN


class JobStreams:
    __slots__ = ('_log',)

    def __init__(self, log):
        self._log = log

    def watch(self, record, now, watch):
        """Calls `watch(fd, events, action, record, fd)` for what this job's bytes wait for."""
        for fd, stream in record.streams.items():
            if may_read(record, stream, now):
                watch(fd, select.POLLIN, self._on_readable, record, fd)
        if record.feed is not None:
            # Without a byte to write: to hear that the reader is gone.
            watch(record.feed.fd, select.POLLOUT if record.feed.pieces else 0, self._on_writable, record)

    def look_at_descriptors(self, record):
        """Those that poll cannot speak of: a cell has put something else in their place, or nothing."""
        for fd in list(record.streams):
            if not _is_own(record, fd):
                self._on_lost(record, fd)
        if record.feed is not None and not _is_own(record, record.feed.fd):
            self._on_lost(record, record.feed.fd)

    def _on_readable(self, record, fd, events):
        stream = record.streams.get(fd)
        if stream is None:
            return
        if not may_read(record, stream, monotonic()):
            return  # since poll was asked a pipe() has begun
        if not _is_own(record, fd):
            return self._on_lost(record, fd)
        try:
            data = read(fd, limits.JOB_READ)
        except BlockingIOError:
            return
        except OSError:
            data = b''
        if not data:
            return self._end_stream(record, fd)
        record.kept.add(stream, data)
        if stream == job_kept.STDOUT and record.reader is not None:
            record.reader.add(data)

    def _end_stream(self, record, fd):
        stream = record.streams.pop(fd)
        close_own(record, fd)
        if stream == job_kept.STDOUT and record.reader is not None:
            record.reader.is_complete = True
            if not record.reader.pieces:
                end_feed(record.consumer)

    def _on_writable(self, record, events):
        feed = record.feed
        if feed is None:
            return
        if not _is_own(record, feed.fd):
            return self._on_lost(record, feed.fd)
        if events & (select.POLLERR | select.POLLHUP):
            return end_feed(record)
        try:
            while feed.pieces:
                piece = feed.pieces[0]
                written = write(feed.fd, piece[:limits.JOB_READ])
                feed.size -= written
                if written < len(piece):
                    feed.pieces[0] = piece[written:]
                else:
                    feed.pieces.popleft()
        except BlockingIOError:
            return
        except OSError:
            return end_feed(record)
        if feed.is_complete:
            end_feed(record)

    def _on_lost(self, record, fd):
        self._log.write('job-descriptor-lost %s: a cell closed descriptor %d' % (record.job, fd))
        if record.feed is not None and fd == record.feed.fd:
            end_feed(record)
        elif fd in record.streams:
            self._end_stream(record, fd)


def may_read(record, stream, now):
    """Whether there is room for what this stream gives."""
    if stream == job_kept.STDOUT:
        if record.consumer is TAKEN:
            return False
        if record.reader is not None:
            return record.reader.size < limits.JOB_PIPE_AHEAD  # the job that reads it is slow: this one waits
    if now < record.began + limits.JOB_UNPIPED:
        return record.kept.total + limits.JOB_READ <= job_kept.SIZE
    return True


def has_more(record, now):
    """Whether there is output that can be taken at once."""
    poll = polling.Poller()
    for fd, stream in record.streams.items():
        if may_read(record, stream, now):
            poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))


def end_feed(record):
    """The job's input is closed; the one that fed it finds nobody who reads, and gets SIGPIPE."""
    feed = record.feed
    if feed is None:
        return
    record.feed = None
    close_own(record, feed.fd)
    source = feed.source
    if source is not None and source.consumer is record:
        for fd in [fd for fd, stream in source.streams.items() if stream == job_kept.STDOUT]:
            del source.streams[fd]
            close_own(source, fd)


def close_own(record, fd):
    """Closes one of the kernel's ends, unless it is somebody else's by now."""
    identity = record.identities.pop(fd, None)
    if identity is not None and system.identity(fd) == identity:
        close(fd)


def close_all(record):
    for fd in list(record.identities):
        close_own(record, fd)
    record.streams.clear()
    record.feed = None


def _is_own(record, fd):
    return system.identity(fd) == record.identities.get(fd)
