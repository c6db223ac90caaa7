"""Looking at processes through /proc and signalling them through pidfds, so that nothing is signalled that was not identified."""

import os
import select
import signal
import zlib

from . import limits, system


def children(pid):
    """The pids of a process's children, of all its threads."""
    found = []
    try:
        for thread in os.listdir('/proc/%d/task' % pid):
            with open('/proc/%d/task/%s/children' % (pid, thread)) as file:
                found += [int(word) for word in file.read().split()]
    except OSError:
        pass
    return found


def stat(pid):
    """(state, parent, session) of a process, or None."""
    try:
        with open('/proc/%d/stat' % pid, 'rb') as file:
            fields = file.read().rpartition(b')')[2].split()
    except OSError:
        return None
    return fields[0].decode(), int(fields[1]), int(fields[3])


def environment_has(pid, entry):
    """Whether its environment, as it was at its exec, has this NAME=value (bytes)."""
    try:
        with open('/proc/%d/environ' % pid, 'rb') as file:
            return entry in file.read().split(b'\0')
    except OSError:
        return False


def descent_mark(kernel):
    """The number that all processes of that kernel bear: see system.mark_descent."""
    name = kernel.encode()
    return 1 << 60 | (zlib.crc32(name) << 28 ^ zlib.crc32(name[::-1]))


def is_marked(pid, kernel):
    """Whether the process bears the number of that kernel, or its name in the environment."""
    return _bears(pid, descent_mark(kernel)) or environment_has(pid, b'HOLDFAST_KERNEL=' + kernel.encode())


def _bears(pid, mark):
    try:
        with open('/proc/%d/limits' % pid) as file:
            for line in file:
                if line.startswith('Max file locks'):
                    return line.split()[3] == str(mark)
    except (OSError, IndexError):
        pass
    return False


def signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return 'SIG%d' % number  # a real-time signal


def command(pid):
    try:
        with open('/proc/%d/cmdline' % pid, 'rb') as file:
            words = file.read(4096).rstrip(b'\0').replace(b'\0', b' ')
    except OSError:
        return ''
    return words.decode('utf-8', 'backslashreplace')[:limits.COMMAND]


class Handle:
    """A process held by its pidfd: the number cannot be given to another one between look and signal."""

    __slots__ = ('pid', 'fd')

    def __init__(self, pid):
        self.pid = pid
        self.fd = system.pidfd_open(pid)

    def is_dead(self, patience=0.0):
        """Whether it has ended, or does within that many seconds."""
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        return bool(poll.poll(int(patience * 1000)))

    def kill(self, number=signal.SIGKILL):
        """False if it is dead."""
        try:
            system.pidfd_send_signal(self.fd, number)
        except ProcessLookupError:
            return False
        return True

    def close(self):
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
