"""Children of a fork in a cell that ran to the end of its code: nobody would wait for them, so the kernel takes their exit status.

They end under a name of their own, which a zombie still bears. All others (of subprocess and multiprocessing, those that end by exec or
os._exit) are left to the cells, which may ask for their status at any time.
"""

from os import P_ALL, WEXITED, WNOHANG, WNOWAIT, getpid, waitid, waitpid  # bound here: a cell may replace those of the module

from . import processes

_NAME = b'holdfast-ended'  # at most 15 bytes


def mark():
    """In such a child, right before its end. Without it the child only stays a zombie until its kernel ends."""
    try:
        with open('/proc/self/comm', 'wb', 0) as file:
            file.write(_NAME)
    except OSError:
        pass


def reap():
    """Takes the status of those that have ended. No others are touched."""
    try:
        if waitid(P_ALL, 0, WEXITED | WNOHANG | WNOWAIT) is None:
            return
        for pid in processes.children(getpid()):
            if _has_ended(pid):
                waitpid(pid, WNOHANG)
    except ChildProcessError:
        pass  # there are none, or a cell's thread was faster


def _has_ended(pid):
    try:
        with open('/proc/%d/stat' % pid, 'rb') as file:
            return b'(' + _NAME + b') Z' in file.read()
    except OSError:
        return False
