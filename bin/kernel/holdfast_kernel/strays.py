"""Children of a fork in a cell that ran to the end of its code: nobody would wait for them, so the kernel takes their exit status.

They end under a name of their own, which a zombie still bears. All others (of subprocess and multiprocessing, those that end by exec or
os._exit) are left to the cells, which may ask for their status at any time.
"""

from os import P_ALL, WEXITED, WNOHANG, WNOWAIT, getpid, waitid, waitpid  # bound here: a cell may replace those of the module

from . import limits, processes

_NAME = b'holdfast-ended'  # at most 15 bytes


def mark():
    """In such a child, right before its end. Without it the child only stays a zombie until its kernel ends."""
    try:
        with open('/proc/self/comm', 'wb', 0) as file:
            file.write(_NAME)
    except OSError:
        pass


class Watch:
    """Looks for them after a cell, then ever more rarely while the kernel has children at all: nothing tells it of their ends."""

    def __init__(self):
        self._delay = 0.0
        self._at = None  # of the next look; None: no children, or all looks were made

    def look(self, now):
        """A cell has ended: at once, and then at the times that `timeout` keeps."""
        self._delay = limits.STRAY_FIRST
        self._at = now + self._delay if reap() else None

    def timeout(self, now, others):
        """Seconds to wait: `others`, or less. Looks if it is time to."""
        if self._at is None:
            return others
        if now >= self._at:
            self._delay *= 2
            self._at = now + self._delay if reap() and self._delay <= limits.STRAY_LAST else None
            if self._at is None:
                return others
        left = self._at - now
        return left if others is None else min(left, others)


def reap():
    """Takes the status of those that have ended, no others are touched. Whether any child may be left."""
    try:
        if waitid(P_ALL, 0, WEXITED | WNOHANG | WNOWAIT) is None:
            return True
        for pid in processes.children(getpid()):
            if _has_ended(pid):
                waitpid(pid, WNOHANG)
        return True
    except ChildProcessError:
        return False  # there are none, or a cell's thread was faster


def _has_ended(pid):
    try:
        with open('/proc/%d/stat' % pid, 'rb') as file:
            return b'(' + _NAME + b') Z' in file.read()
    except OSError:
        return False
