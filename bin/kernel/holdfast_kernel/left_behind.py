"""What a fork of a session leaves with the original: threads (which forbid it), processes, connections.

In the clone connections are cut: two processes on one connection would take each other's answers. Their numbers stay taken, by something
that fails, so that an old object never meets a new file under its number.
"""

import _socket
import atexit
import os
import socket
import stat
import sys

from . import limits, processes, sockets, system

_PACKAGE = __name__.rpartition('.')[0]


def threads():
    """The names of the threads that are neither the main one nor the kernel's."""
    threading = sys.modules.get('threading')
    named = {thread.ident: thread.name for thread in threading.enumerate()} if threading is not None else {}
    found = []
    for ident, frame in sys._current_frames().items():
        outermost = frame
        while outermost.f_back is not None:
            outermost = outermost.f_back
        if not outermost.f_globals.get('__name__', '').startswith(_PACKAGE) and not _is_main(outermost):
            found.append(str(named.get(ident, 'thread %d' % ident))[:limits.VARIABLE_NAME])
    return sorted(found)


def _is_main(outermost):
    """The main thread's outermost frame is the nursery's script."""
    return outermost.f_code.co_name == '<module>'


def live_processes(known):
    """[{kind, pid, command}] of this process's living children, without those pids."""
    found = []
    for pid in processes.children(os.getpid()):
        state = processes.stat(pid)
        if pid not in known and state is not None and state[0] not in 'ZX':
            found.append({'kind': 'process', 'pid': pid, 'command': processes.command(pid)})
    return found[:limits.LEFT_LISTED]


def open_descriptors():
    """The numbers from 3 on that are open."""
    return [fd for fd in sorted(int(name) for name in os.listdir('/proc/self/fd')) if fd > 2 and system.identity(fd) is not None]


def cut(descriptors, own_pids, streams):
    """Cuts what is shared with the original's peers; [{kind, descriptor, what}] of the connections. Files stay open.

    `own_pids`: of the original and the process between; `streams`: {identity of the original's descriptor 1 or 2: number}, whose copies follow the clone's."""
    named = []
    dead = _Dead()
    for fd in descriptors:
        mode = os.fstat(fd).st_mode
        inheritable = os.get_inheritable(fd)
        if stat.S_ISSOCK(mode):
            what = _socket_text(fd, own_pids)
            if what is not None and len(named) < limits.LEFT_LISTED:
                named.append({'kind': 'connection', 'descriptor': fd, 'what': what})
            os.dup2(dead.socket, fd, inheritable)
        elif stat.S_ISFIFO(mode):
            if system.identity(fd) in streams:
                os.dup2(streams[system.identity(fd)], fd, inheritable)
            else:
                os.dup2(dead.end_of_pipe(fd), fd, inheritable)
        elif os.readlink('/proc/self/fd/%d' % fd).startswith('anon_inode:'):
            os.dup2(dead.null, fd, inheritable)  # an epoll of the original, for one, must not be changed from here
    dead.close()
    return named


class _Dead:
    """Descriptors that fail."""

    def __init__(self):
        self._socket = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
        self.socket = self._socket.fileno()
        self.null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        self._read_end, writer = os.pipe()
        reader, self._write_end = os.pipe()
        os.close(writer)
        os.close(reader)

    def end_of_pipe(self, fd):
        """One that reads the end of file, or one whose reader is gone, as the descriptor is for."""
        with open('/proc/self/fdinfo/%d' % fd) as file:
            flags = next(int(line.split()[1], 8) for line in file if line.startswith('flags:'))
        return self._read_end if flags & os.O_ACCMODE == os.O_RDONLY else self._write_end

    def close(self):
        self._socket.close()
        for fd in (self.null, self._read_end, self._write_end):
            os.close(fd)


def _socket_text(fd, own_pids):
    """What a socket is connected to, or where it listens; None for one end of a pair within the process."""
    with socket.socket(fileno=os.dup(fd)) as one:
        try:
            peer = one.getpeername()
        except OSError:
            return 'socket at %.200s' % (one.getsockname() or 'no address',)
        if one.family == socket.AF_UNIX and not peer and not one.getsockname():
            peer_pid = sockets.peer_of(one)[0]
            return None if peer_pid in own_pids else 'socket to process %d' % peer_pid
        return 'socket to %.200s' % (peer,)


def disown():
    """In the clone: exit handlers, child processes and the event loop are the original's."""
    atexit._clear()
    weakref = sys.modules.get('weakref')
    if weakref is not None:
        for info in list(weakref.finalize._registry.values()):
            info.atexit = False
        weakref.finalize._registered_with_atexit = False
    multiprocessing = sys.modules.get('multiprocessing.process')
    if multiprocessing is not None:
        multiprocessing._children.clear()
        multiprocessing._dangling.clear()
    events = sys.modules.get('asyncio.events')
    try:
        if events is not None:
            events.set_event_loop(None)  # its selector is the original's: the first await makes another one
    except Exception:
        pass  # a policy of a cell's own
