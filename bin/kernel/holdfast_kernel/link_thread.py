"""Who owns the link: the main thread between cells, a second thread while a cell runs for more than some milliseconds.

The owner holds one lock. The main thread lends it with a timer armed; if the cell is still running when the timer fires, the link
thread takes the lock and drives the link until the main thread wants it back. The timer stays armed when a cell ends early: a quick
sequence of cells costs one call to the timer and one wake-up of the thread each 5 ms, not two calls a cell.
"""

import os
import select
from _signal import SIG_BLOCK, pthread_sigmask
from _thread import allocate_lock, stack_size, start_new_thread

from os import read, write  # bound here, as below: a cell may replace those of the module
from time import monotonic  # bound here: a cell may replace those of the module

from . import limits, polling, system


class LinkThread:
    def __init__(self, poller, drive, on_failure):
        """`drive()` serves the link while `is_wanted_back` is false; `on_failure(error)` hears of what it raised."""
        self._poller = poller  # the link's; the wake descriptor is in it
        self._drive = drive
        self._on_failure = on_failure
        self._ownership = allocate_lock()  # held by the owner of the link
        self._ownership.acquire()
        self.is_wanted_back = False
        self.is_driving = False
        self._generation = 0  # of the thread; an older one that wakes up ends
        self._is_armed = False  # whether the timer will wake the thread; it is not disarmed, a quick sequence of cells shares it
        self._lent_at = 0.0  # monotonic
        self._open()

    def _open(self):
        self._timer = system.Timer(limits.TAKEOVER)
        self.wake_fd = system.place(system.eventfd())
        self._identities = (system.identity(self._timer.fd), system.identity(self.wake_fd))
        self._poller.register(self.wake_fd, select.POLLIN)
        self._wake_poll = polling.Poller()
        self._wake_poll.register(self.wake_fd, select.POLLIN)
        self._generation += 1
        self._is_armed = False

    def start(self):
        """Returns once the thread runs; RuntimeError if it does not: one that finds no memory for its first call ends without a word."""
        begun = allocate_lock()
        begun.acquire()
        before = stack_size(limits.THREAD_STACK)
        try:
            # Not threading.Thread: users shall not see it among theirs.
            start_new_thread(self._run, (self._generation, self._timer.fd, begun.release))
        finally:
            stack_size(before)
        if not begun.acquire(True, limits.THREAD_START):
            raise RuntimeError('the link thread does not begin')

    def lend(self):
        """The main thread, about to run a cell, lets the link thread take over when the cell runs long."""
        self._lent_at = monotonic()
        self._ownership.release()
        # After the release: the thread that wakes up for an earlier cell and still finds the lock taken has said so by then.
        if self._is_armed:
            return
        self._is_armed = True
        if not self._timer.arm():
            self.take_back()
            self.rebuild()
            self._is_armed = self._timer.arm()
            self._ownership.release()

    def take_back(self):
        """The main thread is the owner again."""
        if not self._ownership.acquire(False):
            self.is_wanted_back = True
            self.wake()
            while not self._ownership.acquire(True, limits.BUSY_TICK):
                self.wake()
            self.is_wanted_back = False
            self.nap(0)

    def borrow(self):
        """Any thread becomes the owner for a moment, if there is none: a cell runs and has not run for long. False otherwise."""
        return self._ownership.acquire(False)

    def give_back(self):
        self._ownership.release()
        if not self._is_armed:  # it fired meanwhile, and the thread found the ownership taken
            self._is_armed = self._timer.arm()

    def wake(self):
        """Ends the link thread's sleep; called from any thread."""
        try:
            write(self.wake_fd, system.ONE)
        except OSError:
            pass  # full: it is awake; closed by a cell: it looks by itself within BUSY_TICK

    def nap(self, seconds):
        """Sleeps until woken, deaf to all else: for the owner. Asks before it reads: a cell may have made the descriptor blocking."""
        if self._wake_poll.poll(seconds * 1000):
            self.clear_wake()

    def clear_wake(self):
        try:
            read(self.wake_fd, 8)
        except OSError:
            pass

    def is_whole(self):
        """Whether the descriptors are still ours."""
        return (system.identity(self._timer.fd), system.identity(self.wake_fd)) == self._identities

    def rebuild(self):
        """New descriptors and a new thread for those that a cell closed. Called by the main thread as owner."""
        try:
            self._poller.unregister(self.wake_fd)
        except (KeyError, OSError):
            pass
        self._open()
        self.start()

    def abandon(self):
        """In a child of a cell's fork: there is no link thread; its descriptors are closed."""
        self._generation += 1
        self.is_driving = False
        if self.is_whole():
            os.close(self._timer.fd)
            os.close(self.wake_fd)

    def _run(self, generation, timer_fd, begun):
        try:
            begun()
            # Signals belong to the main thread: only there they interrupt a blocking call of a cell.
            pthread_sigmask(SIG_BLOCK, system.SIGNALS)
            sleep = polling.Poller()
            sleep.register(timer_fd, select.POLLIN)
            while generation == self._generation:
                events = sleep.poll(60000)
                if generation != self._generation:
                    return
                if events and events[0][1] & select.POLLNVAL:
                    if not self._renew_timer():
                        return
                    sleep.unregister(timer_fd)
                    timer_fd = self._timer.fd
                    sleep.register(timer_fd, select.POLLIN)
                elif events:
                    self._take_over(timer_fd)
        except BaseException as error:
            self._on_failure(error)

    def _renew_timer(self):
        """A cell closed the timer, perhaps an earlier one than runs now. False: the next cell that needs it starts another thread."""
        self._is_armed = False
        if not self._ownership.acquire(False):
            return False
        try:
            self._timer = system.Timer(limits.TAKEOVER)
            self._identities = (system.identity(self._timer.fd), self._identities[1])
            self._is_armed = self._timer.arm()
        except OSError:
            return False  # the check after the cell will say so
        finally:
            self._ownership.release()
        return True

    def _take_over(self, timer_fd):
        # First: a cell that is lent the link from now on arms the timer itself.
        self._is_armed = False
        try:
            read(timer_fd, 8)
        except OSError:
            return  # not due, or a cell has just closed it: the next poll says so
        if not self._ownership.acquire(False):
            return  # no cell runs
        left = self._lent_at + limits.TAKEOVER - monotonic()
        if left > 0.001:  # the timer was armed for an earlier cell
            self._is_armed = True
            self._timer.arm()
            self._ownership.release()
            return
        self.is_driving = True
        try:
            if not self.is_wanted_back:
                self._drive()
        finally:
            self.is_driving = False
            self._ownership.release()
