"""Forking one kernel: checks, socket and pipes before the fork; what the parent keeps of it after.

`fork` returns a Child in the parent; in the child it does not return: the kernel runs above the nursery's frames.
"""

import os
import time

from . import failpoints, handshake, limits, processes, sockets


class SpawnFailed(Exception):
    """No kernel was forked; the text says why."""


class Child:
    """A kernel as its nursery sees it."""

    __slots__ = ('kernel', 'directory', 'pid', 'start_time', 'handle', 'grace', 'born', 'note', '_directory_fd', '_readers')

    def __init__(self, spec, pid, directory_fd, readers):
        self.kernel = spec['kernel']
        self._directory_fd = directory_fd
        self.directory = '/proc/self/fd/%d' % directory_fd  # wherever it is moved to
        self.pid = pid
        self.start_time = handshake.start_time(pid)
        self.handle = processes.Handle(pid)
        self.grace = max(spec['grace_ms'], spec['first_grace_ms']) / 1000.0
        self.born = time.monotonic()
        self.note = None  # what the nursery did to it, for its exit file
        self._readers = readers  # (stream name, read end of the kernel's pipe); read only after its death

    def use_readers(self, readers):
        """Others in the place of those of the same streams."""
        names = [name for name, _fd in readers]
        for name, fd in self._readers:
            if name in names:
                os.close(fd)
        self._readers = tuple(one for one in self._readers if one[0] not in names) + tuple(readers)

    def drain(self):
        """What the dead kernel had not read of its own output pipes."""
        rest = []
        for name, fd in self._readers:
            data = b''
            while len(data) < limits.REST:
                try:
                    piece = os.read(fd, limits.REST - len(data))
                except OSError:
                    break
                if not piece:
                    break
                data += piece
            if data:
                rest.append({'stream': name, 'text': data.decode('utf-8', 'replace')})
        return rest

    def close(self):
        self.handle.close()
        os.close(self._directory_fd)
        for _name, fd in self._readers:
            os.close(fd)
        self._readers = ()


_TEXTS = ('kernel', 'token', 'home', 'directory', 'cwd')
_TIMES = ('grace_ms', 'first_grace_ms', 'interrupt_grace_ms')


def check(message, program, nursery):
    """The spec of a spawn message, complete; SpawnFailed names what is wrong with it."""
    spec = dict(message)
    for field in _TEXTS:
        if type(spec.get(field)) is not str or '\0' in spec[field]:
            raise SpawnFailed('spawn: %s is no text' % field)
    for field in _TIMES:
        if type(spec.get(field)) is not int or spec[field] < 0:
            raise SpawnFailed('spawn: %s is no whole number' % field)
    if not is_environment(spec.get('env')):
        raise SpawnFailed('spawn: env is no table of texts')
    state = spec.setdefault('state', None)
    if state is not None and (type(state) is not str or not os.path.isabs(state) or '\0' in state):
        raise SpawnFailed('spawn: state is no absolute path')
    tools = spec.setdefault('tools', ())
    if not all(type(name) is str and name.isidentifier() for name in (spec.get('tools_module') or '_',) + tuple(tools)):
        raise SpawnFailed('spawn: tools are no names')
    spec['program'] = program
    spec['nursery'] = nursery  # its directory: a clone of the kernel asks it to be kept
    spec['failpoints'] = spec.get('failpoints') or ''
    try:
        failpoints.parse(spec['failpoints'])
    except ValueError as error:
        raise SpawnFailed('spawn: %s' % error)
    # With access(), not os.path: its functions would touch pages of the nursery that no kernel needs.
    if not spec['cwd'] or not os.access(spec['cwd'] + '/', os.F_OK):
        raise SpawnFailed('cannot start in %s: no such directory' % spec['cwd'])
    if not os.access(spec['cwd'], os.X_OK):
        raise SpawnFailed('cannot start in %s: permission denied' % spec['cwd'])
    if os.access(spec['directory'] + '/exit', os.F_OK):
        raise SpawnFailed('kernel %s has ended already' % spec['kernel'])
    return spec


def open_directory(path):
    """A descriptor to name files of a run directory by, however long its kernel lives."""
    return os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)


def is_environment(env):
    """Whether it is a table of texts that can be variables."""
    return type(env) is dict and all(type(value) is str and name and not set('=\0') & set(name) and '\0' not in value
                                     for name, value in env.items())


def fork(spec, become):
    """Forks the kernel of a checked spec. SpawnFailed if it cannot be.

    The child calls `become(spec, listener, pipes)` from here. Unwinding the nursery's frames would write to a page of each of their
    objects; as they stay, nothing that they hold is collected, and no socket is closed under a number that is the kernel's by then."""
    listener = None
    descriptors = []
    try:
        listener = sockets.listen(spec['directory'], 'kernel.sock', replace=True)
        for _stream in (1, 2):
            descriptors += os.pipe()
        descriptors.append(open_directory(spec['directory']))
        pid = os.fork()
    except OSError as error:
        for fd in descriptors:
            os.close(fd)
        if listener is not None:
            listener.close()
        raise SpawnFailed('cannot start kernel %s: %s' % (spec['kernel'], error))
    if pid == 0:
        become(spec, listener, {1: descriptors[0:2], 2: descriptors[2:4]})
    listener.close()
    os.close(descriptors[1])
    os.close(descriptors[3])
    os.set_blocking(descriptors[0], False)
    os.set_blocking(descriptors[2], False)
    return Child(spec, pid, descriptors[4], (('stdout', descriptors[0]), ('stderr', descriptors[2])))
