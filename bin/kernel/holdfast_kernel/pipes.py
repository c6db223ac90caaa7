"""The pipes behind descriptors 1 and 2, and whose is what comes through them.

The present ones are the newest cell's. When a cell leaves processes behind that have them, they stay that cell's for good, and the next
cell gets others (`part`). Collaborators: Output, which reads and locks; Offspring, which knows whether there can be such processes.
"""

import os
import select

from os import close, dup2, fstat, pipe, waitid  # bound here, as below: a cell may replace those of the module
from resource import RUSAGE_CHILDREN, getrusage

from . import limits, polling, processes, system

_LOOK = os.WEXITED | os.WNOHANG | os.WNOWAIT
_ALL = os.P_ALL
_NUMBERS = (1, 2)


class Offspring:
    """Whether this process has had children since it was last asked: whatever way they were started, also if they are gone."""

    __slots__ = ('_faults', '_known')

    def __init__(self):
        self._faults = getrusage(RUSAGE_CHILDREN).ru_minflt  # grows with each child that is reaped
        self._known = frozenset()  # children that lived when it was last asked

    def is_new(self):
        faults = getrusage(RUSAGE_CHILDREN).ru_minflt
        try:
            waitid(_ALL, 0, _LOOK)
            living = frozenset(processes.children(os.getpid()))
        except ChildProcessError:
            living = frozenset()
        is_new = faults != self._faults or not living <= self._known
        self._faults, self._known = faults, living
        return is_new


class Pipe:
    __slots__ = ('stream', 'fd', 'identity', 'cell', 'decoders')

    def __init__(self, stream, fd):
        self.stream = stream
        self.fd = fd  # its read end, non-blocking
        self.identity = system.identity(fd)
        self.cell = None  # whose processes have it, once it was left to them; None: the newest cell's
        self.decoders = {}  # as those of a cell


def _new(stream, numbers):
    """A new pipe, which these descriptors write to from now on."""
    reader, writer = pipe()
    one = Pipe(stream, system.place(reader))
    os.set_blocking(one.fd, False)
    for number in numbers:
        dup2(writer, number)
    close(writer)
    return one


def _has_copies(one):
    """Whether this process has the write end under some number."""
    fds = [int(name) for name in os.listdir('/proc/self/fd')]
    return any(fd != one.fd and system.identity(fd) == one.identity for fd in fds)


class Pipes:
    __slots__ = ('by_fd', 'poll', 'try_poll', '_present', '_poller', '_left_poller', '_left', '_ended', '_offspring')

    def __init__(self, readers):
        """`readers`: {stream: non-blocking read end}."""
        self.by_fd = {}  # read end -> Pipe, of all that are read
        self._present = {}  # stream -> Pipe
        self._left = []  # Pipes that were left to a cell, at most LEFT_PIPES
        self._ended = []  # Pipes that are read no more; the owner of the link closes them, when nothing polls them
        self._poller = polling.Poller()  # of the present ones
        self._left_poller = polling.Poller()
        self.poll, self.try_poll = self._poller.poll, self._poller.try_poll
        self._offspring = Offspring()
        for stream, fd in readers.items():
            self._use(Pipe(stream, fd))

    def _use(self, one):
        if one.fd in self.by_fd:
            self.forget(self.by_fd[one.fd])  # a cell closed that one: its number was free
        self._present[one.stream] = one
        self.by_fd[one.fd] = one
        self._poller.register(one.fd, select.POLLIN)

    def ready(self):
        """The read ends that have something to say."""
        ready = self.poll(0)
        return [fd for fd, _events in (ready + self._left_poller.poll(0) if self._left else ready)]

    def ready_of(self, cell):
        """Those of a cell's own that do."""
        return [fd for fd, _events in self._left_poller.poll(0) if self.by_fd[fd].cell is cell] if self._left else []

    def forget(self, one):
        """It is at its end, or a cell closed it: then it is renewed after the cell."""
        if self.by_fd.get(one.fd) is not one:
            return
        del self.by_fd[one.fd]
        if one in self._left:
            self._left.remove(one)
            self._left_poller.unregister(one.fd)
        else:
            self._poller.unregister(one.fd)
        self._ended.append(one)

    def close_ended(self):
        while self._ended:
            one = self._ended.pop()
            if system.identity(one.fd) == one.identity and one.fd not in self.by_fd:
                close(one.fd)

    def renew(self, stream, fd):
        """Reads a stream from another pipe from now on."""
        self.forget(self._present[stream])
        self._use(Pipe(stream, fd))

    def is_whole(self, stream):
        """Whether the stream's pipe is read and is still the same one."""
        one = self._present[stream]
        return self.by_fd.get(one.fd) is one and system.identity(one.fd) == one.identity

    def are_led(self):
        """Whether descriptors 1 and 2 write to the present pipes, each to its own."""
        try:
            return fstat(1)[1:3] == self._present[1].identity and fstat(2)[1:3] == self._present[2].identity
        except OSError:
            return False

    def misled(self):
        """Those of descriptors 1 and 2 that write to none of the present pipes, and cannot be made to again here."""
        left = []
        for number in _NUMBERS:
            found = system.identity(number)
            if found != self._present[number].identity and not any(found == one.identity for one in self._present.values()):
                if not self.is_whole(number) or not self._take_again(self._present[number], (number,)):
                    left.append(number)
        return left

    def may_be_shared(self):
        """Whether children have come to be since this was asked last."""
        return self._offspring.is_new()

    def part(self, cell):
        """Leaves to that cell the pipes that other processes have; [(stream, bytes)] that was written meanwhile.

        Which ones that are shows when this process lets go of them: those that nobody has are taken again. So are those of which a cell
        has kept a copy: what later cells write to that is to be theirs."""
        shown = {number: one for number in _NUMBERS for one in self._present.values()
                 if one.fd in self.by_fd and system.identity(number) == one.identity}
        if not shown or len(self._left) + len(_NUMBERS) > limits.LEFT_PIPES:
            return []
        fresh = {}  # Pipe -> the one in its place
        try:
            for one in [one for one in self._present.values() if one in shown.values()]:
                fresh[one] = _new(one.stream, [number for number, its in shown.items() if its is one])
        except OSError:
            pass  # no descriptors are left: what is not replaced stays the newest cell's
        return [text for one, other in fresh.items() for text in self._replace(one, other, cell, shown)]

    def _replace(self, one, other, cell, shown):
        is_left = not self._poll_once(one.fd) & select.POLLHUP and not _has_copies(one)
        if not is_left and self._take_again(one, [number for number, its in shown.items() if its is one]):
            text = self._rest(other)
            close(other.fd)
            return [(one.stream, text)] if text else []
        one.cell = cell
        self._poller.unregister(one.fd)
        self._left_poller.register(one.fd, select.POLLIN)
        self._left.append(one)
        self._use(other)
        return []

    @staticmethod
    def _poll_once(fd):
        poller = select.poll()
        poller.register(fd, select.POLLIN)
        return next((events for _fd, events in poller.poll(0)), 0)

    @staticmethod
    def _take_again(one, numbers):
        """Makes these descriptors write ends of the pipe."""
        try:
            writer = os.open('/proc/self/fd/%d' % one.fd, os.O_WRONLY | os.O_CLOEXEC)
        except OSError:
            return False
        for number in numbers:
            dup2(writer, number)
        if writer in numbers:  # it was closed
            os.set_inheritable(writer, True)
        else:
            close(writer)
        return True

    @staticmethod
    def _rest(other):
        try:
            return os.read(other.fd, limits.PIPE_READ)
        except BlockingIOError:
            return b''

    def present_fds(self):
        """{stream: read end} of those that the next cell writes to."""
        return {stream: one.fd for stream, one in self._present.items() if one.fd in self.by_fd}
