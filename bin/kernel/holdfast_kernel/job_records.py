"""What the kernel knows of one job. Plain data with its few rules; Jobs owns the records, JobKeeper moves them on.

    running --its first process ended--> ended --output ended, or drained--> finished --its group is empty--> gone
"""

from collections import deque

from . import job_groups, job_kept, limits

RUNNING, ENDED, FINISHED, GONE = 'running', 'ended', 'finished', 'gone'
TAKEN = object()  # in the place of a consumer that is being started: nothing is read meanwhile


class Feed:
    """What a job gets on its standard input: bytes that wait, and perhaps another job that gives more."""

    __slots__ = ('fd', 'pieces', 'size', 'source', 'is_complete')

    def __init__(self, fd, data, source):
        self.fd = fd  # write end
        self.pieces = deque([memoryview(data)] if data else [])
        self.size = len(data)  # bytes in pieces
        self.source = source  # the Record whose standard output goes here, until that has ended; or None
        self.is_complete = source is None  # nothing comes after the pieces

    def add(self, data):
        self.pieces.append(memoryview(data))
        self.size += len(data)


class Record:
    __slots__ = ('job', 'cell', 'command', 'pid', 'start_time', 'keep', 'at', 'mark', 'began', 'deadline', 'state', 'leader_seen',
                 'exit_code', 'signal', 'ended_at', 'duration', 'timed_out', 'stopped', 'is_starting', 'is_read', 'is_announced',
                 'announce_at', 'kept', 'process_fd', 'streams', 'identities', 'feed', 'consumer', 'ladder', 'ladder_until',
                 'ladder_began', 'waiters', 'gone_waiters')

    def __init__(self, job, cell, plan, at, began, timeout, kept):
        self.job = job  # its id
        self.cell = cell  # the id of the cell that started it
        self.command = plan.command
        self.keep = plan.keep
        self.at = at  # Unix milliseconds of its start
        self.began = began  # monotonic, as all times below
        self.deadline = None if timeout is None else began + timeout
        self.mark = b'HOLDFAST_JOB=' + job.encode()  # in the environment of its processes
        self.pid = 0  # of its first process, and the number of its group; pinned until the state is GONE, see job_groups
        self.start_time = 0  # of that process
        self.state = RUNNING
        self.leader_seen = job_groups.RUNNING  # UNKNOWN: somebody else took the status: exit_code and signal stay None
        self.exit_code = None
        self.signal = None  # a name; as exit_code None while the first process runs
        self.ended_at = None  # when that was seen
        self.duration = None  # seconds, once FINISHED
        self.timed_out = False
        self.stopped = False
        self.is_starting = True  # whether run() has not returned yet
        self.is_read = False  # whether a cell knows of its finish
        self.is_announced = False  # whether job_finished was posted
        self.announce_at = None  # when it has to be, while a cell that waits for the finish may still read it
        self.kept = kept
        self.process_fd = None  # a pidfd of the first process
        self.streams = {}  # read end -> job_kept.STDOUT or STDERR; those that have not ended
        self.identities = {}  # descriptor -> what it was when it was made, of all that the kernel has of this job
        self.feed = None  # Feed, until its input is closed
        self.consumer = None  # the Record whose input is this one's standard output, until that one takes no more
        self.ladder = None  # None, 'term' or 'kill': how far the end of the group has gone
        self.ladder_until = 0.0  # when the next step is due
        self.ladder_began = 0.0
        self.waiters = []  # called once, with nothing, when it is FINISHED
        self.gone_waiters = []  # the same when it is GONE, or its group did not end in JOB_STOP_SECONDS

    @property
    def has_finished(self):
        return self.state in (FINISHED, GONE)

    @property
    def reader(self):
        """The Feed that its standard output goes to, or None."""
        return None if self.consumer is None or self.consumer is TAKEN else self.consumer.feed

    @property
    def code(self):
        """As subprocess says it: the exit code, minus the signal's number, or None: not known."""
        if self.signal is not None:
            return -job_groups.signal_number(self.signal)
        return self.exit_code

    @property
    def is_final(self):
        """Whether no more output can come."""
        return self.has_finished and not self.streams and (self.state == GONE or type(self.kept) is job_kept.Kept)

    def next_due(self, latest):
        """The earliest time, but at most `latest`, at which something has to be done about it."""
        due = [latest]
        if self.state == RUNNING and self.deadline is not None:
            due.append(self.deadline)
        if self.state == ENDED:
            due.append(self.ended_at + limits.JOB_DRAIN)
        if self.ladder is not None:
            due.append(self.ladder_until)
        if self.announce_at is not None:
            due.append(self.announce_at)
        return min(due)

    def tell_finished(self):
        _tell(self, 'waiters')

    def tell_gone(self):
        _tell(self, 'gone_waiters')


def _tell(record, name):
    waiters = getattr(record, name)
    setattr(record, name, [])
    for waiter in waiters:
        try:
            waiter()
        except Exception:
            pass  # of an event loop that is closed, or that a cell has changed: the others are told all the same


def started_frame(record):
    return {'type': 'job_started', 'job': record.job, 'cell': record.cell, 'command': record.command[:limits.JOB_COMMAND], 'pid': record.pid,
            'start_time': record.start_time, 'group': record.pid, 'keep': record.keep, 'at': record.at}


def finished_frame(record, at):
    return {'type': 'job_finished', 'job': record.job, 'cell': record.cell, 'exit_code': record.exit_code, 'signal': record.signal,
            'timed_out': record.timed_out, 'stopped': record.stopped, 'duration_ms': int(record.duration * 1000),
            'output_bytes': record.kept.total, 'read': record.is_read, 'at': at}


def live_entry(record):
    """Its line in a hello."""
    entry = started_frame(record)
    del entry['type']
    return entry
