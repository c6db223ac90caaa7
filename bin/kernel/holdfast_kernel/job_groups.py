"""Process groups of jobs: who lives in them, and signals to them.

A group's number is pinned while its first process is our unreaped child; only then it is signalled as a group. A cell that reaps that
process, or has the system do it, takes the pin away: from then on only processes that bear the job's own mark are signalled, one by one
through pidfds. Thin: each function looks or acts once.
"""

import os
import signal

from os import WEXITED, WNOHANG, WNOWAIT, P_PID, killpg, waitid, waitpid  # bound here: a cell may replace those of the module

from . import processes

RUNNING, ENDED, UNKNOWN = 'running', 'ended', 'unknown'


def look_at_leader(pid):
    """(RUNNING, None), (ENDED, (exit code or None, signal name or None)), or (UNKNOWN, None): it is no child of ours any more."""
    try:
        status = waitid(P_PID, pid, WEXITED | WNOHANG | WNOWAIT)
    except OSError:
        return UNKNOWN, None
    if status is None or status.si_pid != pid:
        return RUNNING, None
    if status.si_code == os.CLD_EXITED:
        return ENDED, (status.si_status, None)
    return ENDED, (None, processes.signal_name(status.si_status))


def is_pinned(pid):
    return look_at_leader(pid)[0] != UNKNOWN


def reap(pid):
    """Gives the number of an empty group back."""
    try:
        waitpid(pid, WNOHANG)
    except OSError:
        pass


def living(groups):
    """{group: [pids]} of the processes in these groups that are not dead: one look at all of /proc."""
    found = {group: [] for group in groups}
    for name in os.listdir('/proc'):
        if not name.isdigit():
            continue
        try:
            fd = os.open('/proc/%s/stat' % name, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fields = os.read(fd, 4096).rpartition(b')')[2].split(None, 3)
            finally:
                os.close(fd)
        except OSError:
            continue
        if len(fields) > 2 and fields[0] not in (b'Z', b'X'):
            pids = found.get(int(fields[2]))
            if pids is not None:
                pids.append(int(name))
    return found


def send(group, mark, number):
    """Signals the group; `mark`: the NAME=value in the environment of its processes, for one whose number is not pinned."""
    if is_pinned(group):
        try:
            killpg(group, number)
            if number == signal.SIGTERM:
                killpg(group, signal.SIGCONT)  # a stopped process cannot end by a signal that it handles
        except OSError:
            pass
        return
    for pid in living([group])[group]:
        try:
            handle = processes.Handle(pid)
        except OSError:
            continue
        try:
            if processes.environment_has(pid, mark):  # looked at behind the pidfd: it is that process
                handle.kill(number)
        except OSError:
            pass
        finally:
            handle.close()


def signal_number(name):
    """Of a name that `processes.signal_name` gave."""
    try:
        return int(signal.Signals[name])
    except KeyError:
        return int(name[3:])
