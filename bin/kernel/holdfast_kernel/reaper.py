"""The end of one dead kernel: what it left behind is ended (TERM, 250 ms, KILL, verified), its exit file written.

A state machine that is advanced by time, so that one ladder does not delay another kernel's:

    looking --nothing left--> done          looking --something left, TERM sent--> term
    term --nothing left--> done             term --after TERM_SECONDS, KILL sent--> kill
    kill --nothing left--> done             kill --after KILL_SECONDS--> done (what is left is logged)

The kernel itself stays a zombie until then: that pins its pid, and with it the number of its session.
"""

import json
import os
import re
import signal
import time
from errno import ENOSPC

from . import limits, processes, texts, tracebacks

# Of what faulthandler writes.
_FRAME = '  File "'
_THREADS = ('Thread 0x', 'Current thread 0x')
_FATAL = 'Fatal Python error'

_WRITE = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC  # over what is there


class Ending:
    def __init__(self, child, live_pids, now, log):
        """`child`: the dead kernel; `live_pids()`: the pids of the nursery's other kernels."""
        self.child = child
        self._live_pids = live_pids
        self._log = log
        self._state = 'looking'
        self._until = now  # when the state's patience ends
        self._signalled = {}  # pid -> Handle
        self.ended = []  # [{pid, command}] of what was found
        self.rest = child.drain()

    def advance(self, now):
        """One step; True when nothing is left of the kernel."""
        left = self._left()
        if not left and not self._survivors():
            self._close()
            return True
        if self._state == 'looking':
            self._signal(left, signal.SIGTERM)
            self._state, self._until = 'term', now + limits.TERM_SECONDS
        elif self._state == 'term':
            self._signal([pid for pid in left if pid not in self._signalled], signal.SIGTERM)
            if now >= self._until:
                self._signal(left, signal.SIGKILL)
                self._state, self._until = 'kill', now + limits.KILL_SECONDS
        else:
            self._signal(left, signal.SIGKILL)
            if now >= self._until:
                self._log.write('left-behind kernel %s: %d processes do not end' % (self.child.kernel, len(left)))
                self._close()
                return True
        return False

    def _left(self):
        """The living processes that belong to the dead kernel."""
        known = self._live_pids()
        pending = [pid for pid in processes.children(os.getpid()) if pid not in known and pid != self.child.pid]
        found = []
        while pending:
            pid = pending.pop()
            pending += processes.children(pid)
            if self._belongs(pid):
                found.append(pid)
        return found

    def _belongs(self, pid):
        stat = processes.stat(pid)
        if stat is None or stat[0] in 'ZX':
            return False
        return stat[2] == self.child.pid or processes.is_marked(pid, self.child.kernel)

    def _survivors(self):
        return [handle for handle in self._signalled.values() if not handle.is_dead()]

    def _signal(self, pids, number):
        for pid in pids:
            handle = self._signalled.get(pid)
            if handle is not None and handle.is_dead():
                self._signalled.pop(pid).close()  # its number may be another's by now, or nobody's
                handle = None
            if handle is None:
                try:
                    handle = processes.Handle(pid)
                except OSError:
                    continue
                if not self._belongs(pid):  # looked at again: now the pidfd holds what was looked at
                    handle.close()
                    continue
                self._signalled[pid] = handle
                if len(self.ended) < limits.ENDED_LISTED:
                    self.ended.append({'pid': pid, 'command': processes.command(pid)})
            try:
                handle.kill(number)
            except OSError as error:
                self._log.write('signal-failed pid %d: %s' % (pid, error))

    def _close(self):
        for handle in self._signalled.values():
            handle.close()
        self._signalled = {}


def cause_of(status):
    """{cause, exit_code, signal} of a waitid result."""
    if status.si_code == os.CLD_EXITED:
        return {'cause': 'exit', 'exit_code': status.si_status, 'signal': None}
    return {'cause': 'signal', 'exit_code': None, 'signal': processes.signal_name(status.si_status)}


def exit_record(ending, status, oom):
    """The content of the exit file. `oom`: whether memory ran out meanwhile, by an OomCounter."""
    child = ending.child
    record = {'kernel': child.kernel, 'pid': child.pid, 'start_time': child.start_time}
    record.update(cause_of(status))
    ran_out = oom.has_grown(time.monotonic())
    if child.note is not None:
        record.update(cause='unresponsive', note=child.note)
    elif ran_out and record['signal'] == 'SIGKILL':
        record['cause'] = 'oom'
    record.update(log_tail=_log_tail(child.directory), rest=ending.rest, ended=ending.ended, at=int(time.time() * 1000))
    return record


def _log_tail(directory):
    try:
        with open(os.path.join(directory, 'kernel.log'), 'rb') as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - limits.LOG_READ))
            return log_tail(file.read().decode('utf-8', 'replace'))
    except OSError:
        return ''


def log_tail(text):
    """The end of a kernel's log: the program's own frames are left out of it, as of tracebacks, and threads that have no others.

    A trace that names only those is kept: the fault is the program's own."""
    lines = [line for line in text.splitlines(True) if not (line.startswith(_FRAME) and tracebacks.is_own(line[len(_FRAME):]))]
    if any(line.startswith(_FRAME) for line in lines):
        following = lines[1:] + ['']
        text = ''.join(line for line, after in zip(lines, following) if not line.startswith(_THREADS) or after.startswith('  '))
        text = re.sub(r'\n{3,}', '\n\n', text)
    fatal = text.rfind(_FATAL)
    return text[-limits.LOG_TAIL:] if fatal < 0 or len(text) <= limits.LOG_TAIL else texts.bounded(text[fatal:], limits.LOG_TAIL)


def reserve_exit(directory):
    """Takes the room of an exit file while there is some: a full disk is not to hide a cause of death."""
    try:
        fd = os.open(os.path.join(directory, 'exit.tmp'), _WRITE, 0o600)
    except OSError:
        return  # it is tried again when it is needed
    try:
        os.posix_fallocate(fd, 0, limits.EXIT_RESERVE)
    except OSError:
        pass
    finally:
        os.close(fd)


def write_exit(directory, record):
    """Atomically: a reader sees the whole file or none; on a full disk without the rest of the output. OSError if the directory is gone."""
    path = os.path.join(directory, 'exit')
    fd = os.open(path + '.tmp', _WRITE, 0o600)
    try:
        try:
            _write(fd, record)
        except OSError as error:
            if error.errno != ENOSPC:
                raise
            _write(fd, dict(record, rest=[], ended=[]))
        os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(path + '.tmp', path)


def _write(fd, record):
    data = json.dumps(record).encode()
    at = 0
    while at < len(data):
        at += os.pwrite(fd, data[at:], at)
    os.ftruncate(fd, len(data))
