"""Starting one job: checks, then a fork that waits at a gate until the job is recorded, then exec.

    plan = Plan(...)            refuses what cannot be started: TypeError, ValueError, OSError as subprocess raises them
    started = fork(plan)        a process in a group of its own that has executed nothing of the user's
    started.release()           execs; OSError if that failed: the process is dead then, not reaped
    started.abandon()           instead: it ends without having executed anything
"""

import fcntl
import os
import shlex
import signal
import stat
import _signal

from os import close, environb, fork as fork_process, fsencode, pipe, read, write  # bound here: a cell may replace those of the module

from . import limits, system
from .interrupts import door

_F_SETPIPE_SZ = 1031
_MARKS = (b'HOLDFAST_JOB', b'HOLDFAST_KERNEL', b'HOLDFAST_KEEP')
_EXEC, _CHDIR, _SETUP = b'exec', b'chdir', b'setup'


class Plan:
    """What is to be executed, checked as far as that can be known beforehand."""

    __slots__ = ('argv', 'command', 'cwd', 'environment', 'candidates', 'keep')

    def __init__(self, program, args, cwd, env, keep):
        if isinstance(program, (list, tuple)):
            raise TypeError('run() takes the program and its arguments one by one: run(%s)' % ', '.join(map(repr, program)))
        self.argv = [_word(word) for word in (program,) + args]
        self.command = ' '.join(shlex.quote(os.fsdecode(word)) for word in self.argv)
        self.cwd = None if cwd is None else _path(cwd)
        self.keep = keep
        self.environment = _environment(env)
        if self.cwd is not None and not stat.S_ISDIR(os.stat(self.cwd).st_mode):
            raise NotADirectoryError(20, 'not a directory', os.fsdecode(self.cwd))
        self.candidates = self._find()

    def mark(self, job, kernel):
        """Puts the marks into its environment by which its processes are known: by the first anywhere, by the second with its kernel."""
        self.environment[b'HOLDFAST_JOB'] = job.encode()
        self.environment[b'HOLDFAST_KEEP' if self.keep else b'HOLDFAST_KERNEL'] = kernel.encode()

    def _find(self):
        """Paths of the program, in the order in which they are tried; the first is there and can be executed."""
        name = self.argv[0]
        if not name:
            raise ValueError('run(): the program is an empty text')
        if b'/' in name:
            paths = [name]
        else:
            paths = [os.path.join(folder, name) for folder in self.environment.get(b'PATH', b'/usr/bin:/bin').split(b':')]
        seen = None
        for index, path in enumerate(paths):
            full = path if self.cwd is None else os.path.join(self.cwd, path)
            try:
                is_file = stat.S_ISREG(os.stat(full).st_mode)
            except OSError as error:
                seen = seen or (error if error.errno not in (2, 20) else None)
                continue
            if is_file and os.access(full, os.X_OK):
                return paths[index:]
            seen = seen or PermissionError(13, 'it is no file that can be executed')
        if isinstance(seen, PermissionError):
            raise PermissionError(13, 'cannot start %s: permission denied, or no program' % self.command, os.fsdecode(name))
        hint = ''
        if any(blank in name for blank in (b' ', b'\n', b'|', b'>')) and len(self.argv) == 1:
            hint = "; run() uses no shell: run('ls', '-l'), or run('sh', '-c', %r)" % os.fsdecode(name)
        raise FileNotFoundError(2, 'no such program%s%s' % ('' if b'/' in name else ' in PATH', hint), os.fsdecode(name))


def _word(word):
    if type(word) in (int, float):
        word = str(word)
    if not isinstance(word, (str, bytes, os.PathLike)):
        raise TypeError('run(): program and arguments are texts, bytes, paths or numbers, not %s' % type(word).__name__)
    word = fsencode(word)
    if b'\0' in word:
        raise ValueError('run(): an argument holds a NUL character')
    return word


def _path(path):
    path = fsencode(path)
    if b'\0' in path:
        raise ValueError('run(): cwd holds a NUL character')
    return path


def _environment(env):
    environment = dict(environb)
    for name, value in dict(env or {}).items():
        name = fsencode(name)
        if not name or b'=' in name or b'\0' in name:
            raise ValueError('run(): %r is no name of an environment variable' % name)
        if value is None:
            environment.pop(name, None)
            continue
        value = _word(value)
        environment[name] = value
    for name in _MARKS:
        environment.pop(name, None)
    return environment


class Started:
    """A forked process at its gate, and the kernel's ends of its pipes."""

    __slots__ = ('pid', 'stdin', 'stdout', 'stderr', '_gate', '_failure')

    def __init__(self, pid, stdin, stdout, stderr, gate, failure):
        self.pid = pid
        self.stdin = stdin  # write end, or None
        self.stdout = stdout  # read end, or None: it writes to a file; as stderr
        self.stderr = stderr
        self._gate = gate
        self._failure = failure

    def release(self):
        """Lets it exec and waits for that; the end of file of a pipe that exec closes means success."""
        gate, self._gate = self._gate, None
        try:
            write(gate, b'g')
        except OSError:
            pass  # it was killed at its gate: the end of file says nothing else
        close(gate)
        report = b''
        try:
            while True:
                piece = _read(self._failure, 256)
                if not piece:
                    break
                report += piece
        finally:
            close(self._failure)
            self._failure = None
        if report:
            number, _blank, step = report.partition(b' ')
            raise OSError(int(number), '%s (%s)' % (os.strerror(int(number)), step.decode()))

    def abandon(self):
        """Closes everything: at its gate the process reads the end of file and ends."""
        for fd in (self._gate, self._failure, self.stdin, self.stdout, self.stderr):
            if fd is not None:
                close(fd)
        self._gate = self._failure = self.stdin = self.stdout = self.stderr = None


@door
def _read(fd, size):
    return read(fd, size)


def fork(plan, with_stdin, output_fd):
    """Forks the process of a plan. `with_stdin`: its input comes from the kernel; `output_fd`: a file for its output, or None: pipes."""
    fds = []
    try:
        gate = _pipe(fds)
        failure = _pipe(fds)
        stdin = _pipe(fds) if with_stdin else (_above(os.open(os.devnull, os.O_RDONLY), fds), None)
        stdout = (None, output_fd) if output_fd is not None else _pipe(fds)
        stderr = (None, output_fd) if output_fd is not None else _pipe(fds)
        mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, system.SIGNALS)
        try:
            pid = fork_process()
            if pid == 0:
                _become(plan, stdin[0], stdout[1], stderr[1], gate[0], failure[1])
        finally:
            _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)
    except BaseException:
        for fd in fds:
            close(fd)
        raise
    kept = {gate[1], failure[0], stdin[1], stdout[0], stderr[0]}
    for fd in fds:
        if fd not in kept:
            close(fd)
    if not plan.keep:
        try:
            os.setpgid(pid, pid)  # as the child does: whoever is first, the group is there
        except OSError:
            pass
    return Started(pid, _placed(stdin[1]), _placed(stdout[0]), _placed(stderr[0]), gate[1], failure[0])


def _pipe(fds):
    return tuple(_above(fd, fds) for fd in pipe())


def _above(fd, fds):
    """Not one of the standard numbers: a cell may have closed those."""
    if fd < 3:
        moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
        close(fd)
        fd = moved
    fds.append(fd)
    return fd


def _placed(fd):
    if fd is None:
        return None
    fd = system.place(fd)
    os.set_blocking(fd, False)
    try:
        fcntl.fcntl(fd, _F_SETPIPE_SZ, limits.JOB_READ)  # fewer turns of the keeper
    except OSError:
        pass  # the user's pipes have used up what there is of that
    return fd


def _become(plan, stdin, stdout, stderr, gate, failure):
    """In the child. Does not return; ends with 127 if it cannot exec."""
    step = _SETUP
    try:
        if not plan.keep:
            os.setpgid(0, 0)
        for number, fd in ((0, stdin), (1, stdout), (2, stderr)):
            os.dup2(fd, number)
        system.close_all_but([gate, failure])  # the gate's other end, too: it opens, or its kernel is dead
        if os.read(gate, 1) != b'g':
            os._exit(127)
        close(gate)
        if plan.keep:
            # Out of the kernel's session and without its number: nothing that ends what a kernel leaves takes it for its own.
            os.setsid()
            system.shed_descent()
        for number in system.SIGNALS:
            if number not in (signal.SIGKILL, signal.SIGSTOP):
                try:
                    _signal.signal(number, _signal.SIG_DFL)  # what is ignored would stay so over exec
                except (OSError, ValueError):
                    pass
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, system.SIGNALS)
        step = _CHDIR
        if plan.cwd is not None:
            os.chdir(plan.cwd)
        step = _EXEC
        problem = None
        for path in plan.candidates:
            try:
                os.execve(path, plan.argv, plan.environment)
            except OSError as error:
                if problem is None or problem.errno in (2, 20):
                    problem = error
        raise problem
    except BaseException as error:
        os.write(failure, b'%d %s' % (getattr(error, 'errno', None) or 5, step))
    finally:
        os._exit(127)
