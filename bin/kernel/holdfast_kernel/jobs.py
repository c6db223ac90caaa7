"""run() and the jobs of this kernel: their table, their frames, what cells and the daemon ask of them.

Collaborators: job_start (fork and exec), JobKeeper (the thread), Outbox (frames go out through the link's owner), Job (what cells have).
A job is recorded (`job_started` in the spool) before it executes anything.
"""

import os
from _thread import RLock
from collections import OrderedDict

from time import monotonic, time as wall_clock  # bound here: a cell may replace those of the module

from . import handshake, job_kept, job_records, job_start, job_streams, limits, system
from .job_handle import Job
from .job_keeper import JobKeeper
from .outbox import NotDone
from .requests import LATER, Refused, text_field
from .ulids import ulid


def _milliseconds():
    return int(wall_clock() * 1000)


class Jobs:
    def __init__(self, kernel, files, current_cell, leave_kernel, log):
        """`files`: the Descriptors, for files in the run directory; `current_cell()`: the id of the cell whose code calls."""
        self._kernel = kernel
        self._files = files
        self._current_cell = current_cell
        self.leave_kernel = leave_kernel  # called before what a cell called returns to it
        self.lock = RLock()  # guards all records; a thread that holds it may run a finalizer of a cell, which may come here
        self._keeper = JobKeeper(self.lock, self._on_finished, self._announce, log)
        self._records = OrderedDict()  # id -> Record: the live ones, and the last KEPT_JOBS finished ones
        self._outbox = None  # set by `use`, as are the next two
        self._delivery = None
        self._requests = None
        self.is_forked = False  # in a child of a cell's fork: its jobs are the kernel's

    def use(self, outbox, delivery, requests):
        """`delivery()`: the Delivery that numbers frames; used through the outbox only."""
        self._outbox = outbox
        self._delivery = delivery
        self._requests = requests
        requests.serve('job_stop', self._on_stop, False)
        requests.serve('job_output', self._on_output, False)

    # What cells call.

    def run(self, program, *args, cwd=None, env=None, stdin=None, timeout=None, keep=False):
        """Starts a program as a job: no shell, each argument as it is, a process group of its own.

        cwd: its directory. env: variables beside those of this process; None removes one. stdin: text, bytes, another job (its
        standard output), or None: empty. timeout: seconds after which its group is ended. keep: it outlives this kernel.
        TypeError, ValueError or OSError if it cannot be started."""
        plan = job_start.Plan(program, args, cwd, env, bool(keep))
        source, data = _input(self, stdin)
        if timeout is not None and (type(timeout) not in (int, float) or not 0 < timeout < 1e9):
            raise ValueError('run(): timeout is a number of seconds above 0, not %r' % (timeout,))
        if self.is_forked:
            raise RuntimeError('run(): this process is a fork of a kernel; jobs are started from the kernel itself')
        with self.lock:
            if not self._keeper.has_room():
                raise RuntimeError('run(): %d jobs live already, at most %d; stop one, or wait for one' % ((limits.LIVE_JOBS,) * 2))
            self._keeper.reserve()
            try:
                if source is not None:
                    data = self._take_over(source)
            except BaseException:
                self._keeper.unreserve()
                raise
        record = None
        try:
            record = self._new_record(plan, timeout)
            plan.mark(record.job, self._kernel)
            self._start(record, plan, source, data)
        except BaseException:
            with self.lock:
                if source is not None and source.consumer is job_records.TAKEN:
                    source.consumer = None
                if record is not None and record.job not in self._records:
                    record.kept.remove(self._files.remove_file)
            raise
        finally:
            with self.lock:
                self._keeper.unreserve()
        self.leave_kernel()
        return Job(self, record)

    def _take_over(self, source):
        """What that job wrote to standard output so far; from now on it waits for its reader."""
        if source.consumer is not None:
            raise ValueError('run(): the output of %s goes to another job already' % source.job)
        if type(source.kept) is job_kept.Direct:
            raise ValueError('run(): the output of %s goes to a file, as it was started with keep=True' % source.job)
        if source.kept.dropped():
            raise ValueError('run(): %d bytes of the output of %s are not kept any more; a pipe is to be made at its start'
                             % (sum(end - start for start, end in source.kept.dropped()), source.job))
        data = b''.join(piece for stream, _at, piece in source.kept.read(0, job_kept.SIZE) if stream == job_kept.STDOUT)
        source.consumer = job_records.TAKEN
        return data

    def _new_record(self, plan, timeout):
        at = _milliseconds()
        job = 'j-' + ulid(at)
        kind = job_kept.Direct if plan.keep else job_kept.Kept
        kept = kind(self._files.open_file, 'jobs/%s.out' % job)
        return job_records.Record(job, self._current_cell(), plan, at, monotonic(), timeout, kept)

    def _start(self, record, plan, source, data):
        self._files.make_directory('jobs')
        output = system.place(record.kept.open_for_job()) if plan.keep else None
        try:
            started = job_start.fork(plan, bool(data) or source is not None, output)
        except OSError as error:
            raise _cannot_start(record, error) from None
        finally:
            if output is not None:
                os.close(output)
        record.pid = started.pid
        try:
            record.start_time = handshake.start_time(started.pid)
            message = job_records.started_frame(record)
            recorded = []
            self._outbox.post_and_wait(lambda: recorded.append(self._delivery().push_if_room(message)))
            if recorded != [True]:
                raise NotDone('its record has no room: the daemon has not taken the ones before it')
        except BaseException as error:
            started.abandon()
            _end_at_gate(started.pid)
            if isinstance(error, NotDone):
                raise RuntimeError('cannot start %s: %s' % (record.command[:limits.COMMAND], error)) from None
            raise
        self._adopt(record, started, source, data)
        try:
            started.release()
        except BaseException as error:
            with self.lock:
                record.is_read = True  # the cell is told by this exception
                self._keeper.end_group(record, monotonic())
            if isinstance(error, OSError):
                raise _cannot_start(record, error) from None
            raise
        finally:
            with self.lock:
                record.is_starting = False
                if record.has_finished:
                    self._announce(record)

    def _adopt(self, record, started, source, data):
        """From now on the keeper has the process and the pipes."""
        with self.lock:
            for fd, stream in ((started.stdout, job_kept.STDOUT), (started.stderr, job_kept.STDERR)):
                if fd is not None:
                    record.streams[fd] = stream
                    record.identities[fd] = system.identity(fd)
            try:
                record.process_fd = system.place(system.pidfd_open(started.pid))
                record.identities[record.process_fd] = system.identity(record.process_fd)
            except OSError:
                pass  # its end is seen at a tick
            if started.stdin is not None:
                record.feed = job_records.Feed(started.stdin, data, source)
                record.identities[started.stdin] = system.identity(started.stdin)
            if source is not None:
                self._connect(record, source)
            self._records[record.job] = record
            self._keeper.keep(record)
            self._mark_jobs()

    @staticmethod
    def _connect(record, source):
        """While the source waited nothing was read from it: what comes next follows what was taken over."""
        source.consumer = record
        if job_kept.STDOUT not in source.streams.values():
            record.feed.is_complete = True
            if not record.feed.pieces:
                job_streams.end_feed(record)

    # What the handles need, with the lock held.

    def begin_stop(self, record):
        if record.state == job_records.RUNNING and record.ladder is None:
            record.stopped = True
        self._keeper.end_group(record, monotonic())

    def mark_read(self, record):
        """A cell knows of the finish now; nothing before there is one."""
        if not record.has_finished or record.is_read or self.is_forked:
            return
        record.is_read = True
        if record.is_announced:
            self._outbox.post(lambda: self._delivery().push_unspooled({'type': 'jobs', 'read': [record.job]}))
        else:
            self._announce(record)

    # What the keeper tells, with the lock held.

    def _on_finished(self, record):
        if record.consumer is not None:
            record.is_read = True  # the end of a pipeline is what tells of it
        if record.is_starting:
            pass  # run() announces it, once it knows whether it tells of it itself
        elif (record.waiters or record.gone_waiters) and not record.is_read:
            record.announce_at = monotonic() + limits.JOB_READ_AT_ONCE
        else:
            self._announce(record)
        record.tell_finished()
        self._mark_jobs()
        self._forget_oldest()

    def _announce(self, record):
        if record.is_announced:
            return
        record.is_announced = True
        record.announce_at = None
        message = job_records.finished_frame(record, _milliseconds())
        self._outbox.post(lambda: self._delivery().push_message(message))

    def _forget_oldest(self):
        """Of those that are gone the newest are kept, with at most KEPT_JOB_BYTES of output."""
        gone = [record for record in self._records.values() if record.state == job_records.GONE and not record.streams]
        sizes = [min(record.kept.total, job_kept.SIZE) for record in gone]
        count, size = len(gone), sum(sizes)
        for record, its in zip(gone, sizes):
            if count <= limits.KEPT_JOBS and size <= limits.KEPT_JOB_BYTES:
                return
            count -= 1
            size -= its
            del self._records[record.job]
            record.kept.remove(self._files.remove_file)

    # What the kernel and its daemon ask.

    def live(self):
        """[{job, cell, command, ...}] of those that have not finished, for a hello."""
        return [job_records.live_entry(record) for record in self._snapshot() if not record.has_finished]

    def hold_kernel(self):
        """Whether a job lives that would end with the kernel: then it does not end at its grace."""
        return self._holding() > 0

    def _holding(self):
        return sum(not record.has_finished and not record.keep for record in self._snapshot())

    def _mark_jobs(self):
        self._delivery().mark_jobs(self._holding())

    def _snapshot(self):
        while True:
            try:
                return list(self._records.values())  # without the lock: the owner of the link does not wait for it
            except RuntimeError:
                continue  # changed meanwhile

    def _record_of(self, message):
        record = self._records.get(text_field(message, 'job', 128))
        if record is None:
            raise Refused('not_found', 'no job %s in this kernel' % message['job'])
        return record

    def _on_stop(self, message):
        record = self._record_of(message)
        request = message['id']

        def answer():
            if record.state == job_records.GONE:
                self._requests.answer(request, _stopped_fields(record))
            else:
                self._requests.refuse(request, 'failed', 'processes of group %d do not end' % record.pid)

        with self.lock:
            if record.state == job_records.GONE:
                return _stopped_fields(record)
            record.gone_waiters.append(lambda: self._outbox.post(answer))
            self.begin_stop(record)
        return LATER

    def _on_output(self, message):
        record = self._record_of(message)
        offset, limit = message.get('offset', 0), message.get('limit', limits.JOB_PAGE)
        if type(offset) is not int or offset < 0 or type(limit) is not int or not 0 < limit <= limits.JOB_PAGE_MOST:
            raise Refused('failed', 'job_output: offset is a whole number, limit one from 1 to %d' % limits.JOB_PAGE_MOST)
        with self.lock:
            total = record.kept.total
            final = record.is_final
            chunks, following = job_kept.page_of(record.kept, offset, limit, final)
            dropped = [{'from': start, 'to': end} for start, end in record.kept.dropped()]
        return {'chunks': chunks, 'next_offset': following, 'total_bytes': total, 'dropped': dropped, 'final': final}

    def end_all(self):
        """Ends all jobs but those that outlive their kernel, before it ends itself; returns when they are gone, or after a while."""
        with self.lock:
            records = [record for record in self._records.values() if record.state != job_records.GONE and not record.keep]
            for record in records:
                self.begin_stop(record)
        until = monotonic() + limits.JOB_END_SECONDS
        for record in records:
            Job(self, record).wait_until_gone(max(0.0, until - monotonic()))
        with self.lock:
            for record in records:
                if record.has_finished:
                    self._announce(record)  # it need not wait for a cell that reads it

    def become_forked_child(self):
        """In a child of a fork: its jobs are the kernel's; an open end of their pipes would keep them from ending."""
        self.lock = RLock()
        self.is_forked = True
        self._keeper.forget_thread()


def _input(jobs, stdin):
    """(Record whose output it is, bytes) of what run() was given."""
    if stdin is None:
        return None, b''
    if isinstance(stdin, Job):
        if stdin._jobs is not jobs:
            raise ValueError('run(): stdin is a job of another kernel')
        return stdin._record, b''
    if isinstance(stdin, str):
        return None, stdin.encode('utf-8', 'surrogateescape')
    if isinstance(stdin, (bytes, bytearray, memoryview)):
        return None, bytes(stdin)
    raise TypeError('run(): stdin is text, bytes, a job or None, not %s' % type(stdin).__name__)


def _cannot_start(record, error):
    return OSError(error.errno, 'cannot start %s: %s' % (record.command[:limits.COMMAND], error.strerror))


def _end_at_gate(pid):
    """A process that has executed nothing: it ends by itself when its gate is closed."""
    try:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    except OSError:
        pass


def _stopped_fields(record):
    return {'job': record.job, 'exit_code': record.exit_code, 'signal': record.signal, 'timed_out': record.timed_out,
            'stopped': record.stopped}
