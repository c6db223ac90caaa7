"""A select.poll() that works whatever limit of descriptors a cell sets: poll(2) takes no more than that many, select(2) does not ask.

select(2) knows no numbers from 1024 on; the kernel's own are below.
"""

from errno import EINVAL
from select import POLLIN, POLLNVAL, POLLOUT, poll, select  # bound here: a cell may replace those of the module

from . import system


class Poller:
    """`register`, `modify`, `unregister` and `poll` (milliseconds, or None) as select.poll() has them, for POLLIN and POLLOUT."""

    __slots__ = ('_poll', '_masks', 'try_poll')

    def __init__(self):
        self._poll = poll()
        self.try_poll = self._poll.poll  # the same without a call of Python's; OSError where only the other one works
        self._masks = {}  # descriptor -> what is waited for

    def register(self, fd, mask):
        self._poll.register(fd, mask)
        self._masks[fd] = mask

    modify = register

    def unregister(self, fd):
        del self._masks[fd]
        self._poll.unregister(fd)

    def poll(self, timeout=None):
        try:
            return self.try_poll(timeout)
        except OSError as error:
            if error.errno != EINVAL:
                raise
        return self._select(timeout)

    def _select(self, timeout):
        closed = [(fd, POLLNVAL) for fd in self._masks if system.identity(fd) is None]
        if closed:
            return closed
        readable, writable, _ = select([fd for fd, mask in self._masks.items() if mask & POLLIN],
                                       [fd for fd, mask in self._masks.items() if mask & POLLOUT], (),
                                       None if timeout is None else timeout / 1000.0)
        return [(fd, POLLIN * (fd in readable) | POLLOUT * (fd in writable)) for fd in self._masks if fd in readable or fd in writable]
