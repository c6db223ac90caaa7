"""The thread that keeps the jobs: sees their ends, keeps their deadlines, ends their groups.

It lives while there is a job to keep, depends on no event loop and on no cell, and blocks in poll only. All state is guarded by the lock
of Jobs. Collaborators: JobStreams (bytes), job_groups (processes).

The ladder of a group that is to end: TERM, after JOB_TERM seconds KILL, again each tick until it is empty.
"""

import os
import select
import signal
from _signal import SIG_BLOCK, pthread_sigmask
from _thread import stack_size, start_new_thread

from os import close, read, write  # bound here, as below: a cell may replace those of the module
from time import monotonic, sleep

from . import job_groups, job_streams, limits, polling, system
from .job_records import ENDED, FINISHED, GONE, RUNNING


class JobKeeper:
    def __init__(self, lock, on_finished, on_due, log):
        """`on_finished(record)` and `on_due(record)` are called with the lock held: a job is FINISHED; its announcement is due."""
        self._lock = lock
        self._on_finished = on_finished
        self._on_due = on_due
        self._log = log
        self._streams = job_streams.JobStreams(log)
        self._records = []  # those that are not GONE, or whose pipes somebody still has
        self._reserved = 0  # jobs that are being started: the thread stays for them
        self._is_running = False
        self._wake_fd = -1
        self._wake_identity = None
        self._next_tick = 0.0
        self._look_due = 0.0  # when finished jobs' groups are looked at again
        self._look_earliest = 0.0  # but not before: looking must not become the kernel's main work

    # Called with the lock held, from any thread.

    def reserve(self):
        """A job is about to be kept; makes the thread. RuntimeError or OSError if it cannot be."""
        if not self._is_running:
            self._wake_fd = system.place(system.eventfd())
            self._wake_identity = system.identity(self._wake_fd)
            before = stack_size(limits.THREAD_STACK)
            try:
                start_new_thread(self._run, ())
            except BaseException:
                self._close_wake()
                raise
            finally:
                stack_size(before)
            self._is_running = True
        self._reserved += 1

    def unreserve(self):
        self._reserved -= 1
        self.wake()

    def keep(self, record):
        self._records.append(record)
        self.wake()

    def wake(self):
        if self._is_running and system.identity(self._wake_fd) == self._wake_identity:
            try:
                write(self._wake_fd, system.ONE)
            except OSError:
                pass  # full: it is awake

    def end_group(self, record, now):
        """Begins the ladder; the thread goes on with it."""
        if record.state != GONE and record.ladder is None:
            record.ladder = 'term'
            record.ladder_began = now
            record.ladder_until = now + limits.JOB_TERM
            job_groups.send(record.pid, record.mark, signal.SIGTERM)
            self._look_due = now
            self.wake()

    def has_room(self):
        """Whether another job can be kept; what has just ended, and pipes of jobs that are gone, make room for it."""
        if self._is_full():
            self._look_at_groups([record for record in self._records if record.has_finished])
        for record in [record for record in self._records if record.state == GONE]:
            if not self._is_full():
                break
            job_streams.close_all(record)
            if record.announce_at is not None:
                self._on_due(record)  # nobody looks at it any more
            self._records.remove(record)
        return not self._is_full()

    def _is_full(self):
        return len(self._records) + self._reserved >= limits.LIVE_JOBS

    def forget_thread(self):
        """In a child of a cell's fork: there is no thread."""
        self._is_running = False
        self._close_wake()
        for record in self._records:
            job_streams.close_all(record)
        self._records = []

    def _close_wake(self):
        if self._wake_fd >= 0 and system.identity(self._wake_fd) == self._wake_identity:
            close(self._wake_fd)
        self._wake_fd = -1
        self._wake_identity = None

    # The thread.

    def _run(self):
        pthread_sigmask(SIG_BLOCK, system.SIGNALS)
        while True:
            try:
                if not self._turn():
                    return
            except BaseException as error:  # a cell's recursion limit, exhausted memory: the jobs are kept all the same
                self._log.write('job-keeper-failed %s: %s' % (type(error).__name__, error))
                sleep(limits.LADDER_TICK)

    def _turn(self):
        with self._lock:
            now = monotonic()
            timeout = self._advance(now)
            if not self._records and not self._reserved:
                self._is_running = False
                self._close_wake()
                return False
            poll, actions = self._watched(now)
        happened = poll.poll(int(timeout * 1000) + 1)
        with self._lock:
            for fd, events in happened:
                action = actions.get(fd)
                if action is not None:
                    action[0](*action[1:], events)
        return True

    def _watched(self, now):
        """(poll object, {fd: (action, record, fd)}) of all that is to be waited for."""
        poll = polling.Poller()
        actions = {}

        def watch(fd, events, *action):
            poll.register(fd, events)
            actions[fd] = action

        if system.identity(self._wake_fd) != self._wake_identity:
            self._wake_fd = system.place(system.eventfd())  # a cell closed it
            self._wake_identity = system.identity(self._wake_fd)
        watch(self._wake_fd, select.POLLIN, self._on_wake)
        for record in self._records:
            self._streams.watch(record, now, watch)
            fd = record.process_fd
            if record.state == RUNNING and fd is not None and system.identity(fd) == record.identities.get(fd):
                watch(fd, select.POLLIN, self._on_process)  # else its end is seen at a tick
        return poll, actions

    def _on_wake(self, events):
        if system.identity(self._wake_fd) == self._wake_identity:  # else _watched makes another
            try:
                read(self._wake_fd, 8)
            except OSError:
                pass

    def _on_process(self, events):
        pass  # _advance looks

    # Time.

    def _advance(self, now):
        """Looks at all jobs; seconds until it has to be done again."""
        until = now + limits.JOB_TICK
        is_tick = now >= self._next_tick
        if is_tick:
            self._next_tick = until
        for record in list(self._records):
            self._streams.look_at_descriptors(record)
            if is_tick:
                record.kept.trim()
            if record.state == RUNNING:
                self._look_at_leader(record, now)
            if record.state != GONE:
                self._keep_time(record, now)
            if record.state == ENDED:
                self._drain(record, now)
            if record.announce_at is not None and now >= record.announce_at:
                self._on_due(record)
            until = min(until, record.next_due(now + limits.JOB_TICK))
        self._let_go([record for record in self._records if record.state == GONE])
        lingering = [record for record in self._records if record.has_finished and record.state != GONE]
        if lingering:
            if now >= max(self._look_due, self._look_earliest):
                self._look_at_groups(lingering)
            until = min(until, max(self._look_due, self._look_earliest))
        return max(0.0, until - monotonic())

    def _look_at_leader(self, record, now):
        seen, how = job_groups.look_at_leader(record.pid)
        if seen == job_groups.RUNNING:
            return
        record.leader_seen = seen
        if how is not None:
            record.exit_code, record.signal = how
        record.state = ENDED
        record.ended_at = now

    def _keep_time(self, record, now):
        """Deadline and ladder."""
        if record.deadline is not None and now >= record.deadline:
            record.deadline = None
            record.timed_out = record.state == RUNNING
            self.end_group(record, now)
        if record.ladder is None:
            return
        if now >= record.ladder_until:
            record.ladder = 'kill'
            record.ladder_until = now + limits.LADDER_TICK
            job_groups.send(record.pid, record.mark, signal.SIGKILL)
        if now >= record.ladder_began + limits.JOB_STOP_SECONDS:
            record.ladder = None  # it waits for a device: whoever waits for its end is told; it is looked at further on
            self._log.write('job-left-behind %s: its group does not end' % record.job)
            record.tell_gone()

    def _drain(self, record, now):
        """A job has finished when its output has ended, or when what there was of it is taken."""
        if record.streams and now < record.ended_at + limits.JOB_DRAIN:
            return
        if record.streams and now < record.ended_at + limits.JOB_DRAIN_MOST and job_streams.has_more(record, now):
            return
        record.state = FINISHED
        record.duration = record.ended_at - record.began
        self._look_due = now
        self._on_finished(record)

    def _look_at_groups(self, records):
        """Those whose group is empty are gone."""
        began = monotonic()
        living = job_groups.living([record.pid for record in records])
        for record in records:
            if not living[record.pid] and record.state != GONE:
                if record.leader_seen == job_groups.ENDED:
                    job_groups.reap(record.pid)
                record.state = GONE
                record.ladder = None
        self._let_go([record for record in records if record.state == GONE])
        now = monotonic()
        self._look_due = now + (limits.LADDER_TICK if any(record.ladder for record in records) else limits.GROUP_LOOK)
        self._look_earliest = now + 5 * (now - began)

    def _let_go(self, records):
        """Nothing of these lives; their pipes are kept while somebody who left the group has them."""
        for record in records:
            record.kept.trim()
            record.tell_gone()
            if record.process_fd is not None:
                job_streams.close_own(record, record.process_fd)
                record.process_fd = None
            if not record.streams and record.feed is None and record.announce_at is None:
                self._records.remove(record)
