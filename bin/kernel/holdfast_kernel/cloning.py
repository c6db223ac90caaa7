"""The fork of a session: another kernel with a copy of this one's namespace.

    kernel --fork--> between --fork--> clone; between ends, the nursery becomes the clone's parent and keeps it (adoption.py)

The clone unwinds to kernel_main and goes on there as the kernel of its own id, directory and socket. It reports through a pipe; one that
does not within CLONE_SECONDS is killed. Refuses while threads of the user live: in the clone they would be gone, their locks held.
"""

import json
import os
import select

from os import _exit, close, pipe, read, waitpid, write  # bound here, as below: a cell may replace those of the module
from time import monotonic

from . import forking, handshake, left_behind, limits, processes, spawning, system
from .requests import Refused, Unwinding, text_field


class Became(Unwinding):
    """Raised in the clone, to be caught by kernel_main."""

    def __init__(self, spec, original, writer, between):
        Unwinding.__init__(self)
        self.spec = spec
        self.original = original  # the Original
        self.writer = writer  # of the pipe that the report goes to
        self.between = between  # pid of its first parent


class Original:
    """What the clone has of the kernel that was forked."""

    __slots__ = ('pid', 'namespace', 'context', 'log_fd')

    def __init__(self, namespace, context, log_fd):
        self.pid = os.getpid()
        self.namespace = namespace
        self.context = context  # of all cells: what they have set in context variables
        self.log_fd = log_fd


def clone(kernel, spec, namespace, context, log, message):
    """{pid, start_time, left_behind[]} of the clone; Refused if there is none. `spec`: of this kernel. In the clone: raises Became."""
    new = _spec_of(spec, message)
    new['cells_before'] = spec.get('cells_before', 0) + kernel.last_generation
    threads = left_behind.threads()
    if threads:
        raise Refused('failed', 'cannot fork while threads live: %.1000s; end them first' % ', '.join(threads))
    jobs = kernel.hello_state()[1]
    left = [dict(job, kind='job') for job in jobs] + left_behind.live_processes({job.get('pid') for job in jobs})
    try:
        report = _fork(new, Original(namespace, context, log.fd))
    except OSError as error:
        raise Refused('failed', 'cannot fork: %s' % error)
    return {'pid': report['pid'], 'start_time': report['start_time'], 'left_behind': left + report['connections']}


def _spec_of(spec, message):
    new = dict(spec, kernel=text_field(message, 'kernel', 128), token=text_field(message, 'token'),
               directory=text_field(message, 'directory'), failpoints='', state=message.get('state'))
    env = message.get('env', {})
    if not spawning.is_environment(env):
        raise Refused('failed', 'fork: env is no table of texts')
    for field in ('directory', 'state'):
        if new[field] is not None and (type(new[field]) is not str or not os.path.isabs(new[field])):
            raise Refused('failed', 'fork: %s is no absolute path' % field)
    if not os.access(new['directory'] + '/', os.W_OK):
        raise Refused('failed', 'cannot fork into %s: no such directory, or not to be written' % new['directory'])
    if new['kernel'] == spec['kernel'] or os.access(new['directory'] + '/spool', os.F_OK):
        raise Refused('failed', 'cannot fork into kernel %s: it is there already' % new['kernel'])
    new['env'] = env
    return new


def _fork(new, original):
    """The clone's report; Refused if it fails or is late."""
    reader, writer = pipe()
    reader, writer = system.place(reader), system.place(writer)
    try:
        began = monotonic()
        between = forking.fork_child(False)
    except OSError:
        close(reader)
        close(writer)
        raise
    if between == 0:
        close(reader)
        _be_between(new, writer, original)
    close(writer)
    handle, report = None, b''
    try:
        took = monotonic() - began
        if took > limits.CLONE_SECONDS:
            raise Refused('failed', 'cannot fork: what cells have registered by os.register_at_fork took %.1f s, at most %g s' % (
                took, limits.CLONE_SECONDS))
        until = began + took + limits.CLONE_SECONDS
        poll = select.poll()
        poll.register(reader, select.POLLIN)
        while report.count(b'\n') < 2:
            patience = until - monotonic()
            if patience <= 0:
                raise Refused('failed', 'cannot fork: the clone did not answer within %g s and was killed' % limits.CLONE_SECONDS)
            if not poll.poll(patience * 1000 + 1):
                continue
            data = read(reader, 65536)
            if not data:
                raise Refused('failed', 'cannot fork: the clone ended before it answered')
            report += data
            if handle is None and b'\n' in report:
                handle = _handle_of(int(report.split(b'\n')[0]), between)
        answer = json.loads(report.split(b'\n')[1])
        if 'error' in answer:
            raise Refused('failed', 'cannot fork: %s' % answer['error'])
        return answer
    except BaseException:
        for one in (handle, _handle_of(between, original.pid)):
            if one is not None:
                one.kill()
        raise
    finally:
        close(reader)
        if handle is not None:
            handle.close()
        try:
            waitpid(between, 0)
        except ChildProcessError:
            pass


def _handle_of(pid, parent):
    """That process, if it is the one that was forked: its parent is that one or, when that has ended, this kernel's own."""
    try:
        handle = processes.Handle(pid)
    except OSError:
        return None
    stat = processes.stat(pid)
    if stat is None or stat[1] not in (parent, os.getppid()):
        handle.close()
        return None
    return handle


def _be_between(new, writer, original):
    """The process between the two. Does not return; raises Became in the clone."""
    is_clone = False
    try:
        between = os.getpid()
        pid = forking.fork_child(False)
        is_clone = pid == 0
        if not is_clone:
            write(writer, b'%d\n' % pid)
    finally:
        if not is_clone:
            _exit(0)
    raise Became(new, original, writer, between)


def report(became, connections):
    """The clone says that it is there."""
    pid = os.getpid()
    _write(became.writer, {'pid': pid, 'start_time': handshake.start_time(pid), 'connections': connections})
    close(became.writer)


def report_failure(became, error):
    """The clone says that it will not be there."""
    _write(became.writer, {'error': '%s: %.500s' % (type(error).__name__, error)})


def _write(writer, message):
    data = memoryview((json.dumps(message) + '\n').encode())
    while data:
        data = data[write(writer, data):]
