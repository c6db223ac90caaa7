"""Whether the system has ended processes for want of memory: the counters that say so, of our cgroup or of the whole host.

A counter that has grown is no proof that it was this kernel: the cause is told as probable.
"""

import os

from . import limits

_CGROUPS = '/sys/fs/cgroup'


class OomCounter:
    def __init__(self, files=None):
        self._files = files  # None: those of the cgroup that this process is in whenever it is asked
        self._last = self._read()
        self._grew_at = None  # monotonic, as far as that was looked at

    def has_grown(self, now):
        """Whether a process was ended so since this was last asked, or lately: it may have been several."""
        before, self._last = self._last, self._read()
        if self._last > before:
            self._grew_at = now
        return self._grew_at is not None and now - self._grew_at < limits.OOM_SECONDS

    def _read(self):
        return max((_count_in(path) for path in self._files or _counter_files()), default=0)


def _counter_files():
    """Those of the cgroup that this process is in (version 2, 1), or of the host where none is to be seen."""
    candidates = []
    try:
        with open('/proc/self/cgroup') as file:
            for line in file:
                number, controllers, path = line.rstrip('\n').split(':', 2)
                if number == '0':
                    candidates.append(os.path.join(_CGROUPS, path.lstrip('/'), 'memory.events'))
                elif 'memory' in controllers.split(','):
                    candidates.append(os.path.join(_CGROUPS, 'memory', path.lstrip('/'), 'memory.oom_control'))
    except (OSError, ValueError):
        pass
    return [path for path in candidates if os.path.exists(path)] or ['/proc/vmstat']


def _count_in(path):
    """The number behind `oom_kill`; 0 if there is none."""
    try:
        with open(path) as file:
            for line in file:
                words = line.split()
                if len(words) == 2 and words[0] == 'oom_kill':
                    return int(words[1])
    except (OSError, ValueError):
        pass
    return 0
