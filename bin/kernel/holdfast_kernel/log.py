"""A log file of one process: one line an event, appended with one write, bounded."""

import os
import time

from . import limits


class Log:
    __slots__ = ('fd', '_left')

    def __init__(self, fd):
        self.fd = fd
        self._left = limits.LOG  # bytes that may still be written

    def write(self, line):
        """Never raises: a log that cannot be written must not stop what it speaks of."""
        try:
            now = time.time()
            stamp = time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))
            data = ('%s.%03dZ %s\n' % (stamp, now * 1000 % 1000, line)).encode('utf-8', 'backslashreplace')
            self._left -= len(data)
            if self._left >= 0:
                os.write(self.fd, data)
        except (OSError, MemoryError):
            pass


def open_log(directory, name):
    return os.open('%s/%s' % (directory, name), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
