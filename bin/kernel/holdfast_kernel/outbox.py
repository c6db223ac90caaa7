"""What threads that do not own the link want done by its owner: frames to be numbered, spooled and sent.

Collaborators: LinkThread (who owns the link), a Kernel that calls `serve` as the owner. Actions are done in the order of their posting.
"""

from _thread import allocate_lock
from collections import deque

from time import monotonic  # bound here: a cell may replace those of the module

from . import limits


class NotDone(Exception):
    """The owner of the link did not get to an action in time; it will not be done any more."""


class _Action:
    __slots__ = ('act', 'done')

    def __init__(self, act, done):
        self.act = act  # None once it was given up
        self.done = done  # a lock that is held until the action is done, or None if nobody waits


class Outbox:
    __slots__ = ('_thread', '_flush', '_waiting')

    def __init__(self, thread, flush):
        """`flush()` sends what the actions made; called by whoever owns the link then."""
        self._thread = thread
        self._flush = flush
        self._waiting = deque()  # _Actions, oldest first

    def post(self, act):
        """Has `act()` done by the owner soon; from any thread, never waits for it."""
        self._waiting.append(_Action(act, None))
        self._hurry()

    def post_and_wait(self, act):
        """The same, and returns when it is done; NotDone after OUTBOX_SECONDS: the owner itself waits for this very thread."""
        done = allocate_lock()
        done.acquire()
        action = _Action(act, done)
        self._waiting.append(action)
        until = monotonic() + limits.OUTBOX_SECONDS
        while True:
            self._hurry()
            if done.acquire(True, limits.OUTBOX_TICK):
                return
            if monotonic() >= until:
                action.act = None
                if not done.acquire(False):
                    raise NotDone('the kernel did not record it within %g s' % limits.OUTBOX_SECONDS)
                return

    def hasten(self, act):
        """The same, but waits only for the link thread, and not when that does not get to it: what is not done then is done in its turn."""
        if not self._thread.is_driving:
            return self.post(act)
        try:
            self.post_and_wait(act)
        except NotDone:
            pass

    def serve(self):
        """Does what waits. Called by the owner of the link."""
        waiting = self._waiting
        if not waiting:
            return
        while waiting:
            action = waiting.popleft()
            act = action.act
            if act is not None:
                act()
            if action.done is not None:
                action.done.release()
        self._flush()

    def _hurry(self):
        """Between the lending and the taking over nobody owns the link: then this thread is its owner for a moment."""
        if self._thread.borrow():
            try:
                self.serve()
            finally:
                self._thread.give_back()
        else:
            self._thread.wake()
