"""Turns a freshly forked child of the nursery into a kernel: descriptors, environment, `__main__`, files, then serves."""

import _signal
import builtins
import faulthandler
import fcntl
import os
import sys
import time
import types

from . import (adoption, by_value, cloning, failpoints, figures, handlers, handshake, host_tools, import_hooks, inspecting,
               left_behind, limits, log, pipe_readers, preloading, processes, serving, sockets, system, thread_labels, tracing, unawaited)
from .cells import Runner
from .descriptors import Descriptors
from .displays import Displays
from .interrupts import Interrupts
from .jobs import Jobs
from .journal import Journal
from .kernel import Kernel
from .link import Link
from .output import Output
from .requests import Request
from .shell import Shell
from .spool import Spool
from .streams import Streams
from .window import Window

_OOM_SCORE_ADJ = 500
_present = []  # the Kernel of this process, if it is one

inspecting.install()
thread_labels.install()
unawaited.install()
handlers.install()
tracing.install()
import_hooks.after_import('multiprocessing.reduction', by_value.install)
import_hooks.after_import('matplotlib.pyplot', figures.on_pyplot)
import_hooks.after_import('IPython.display', lambda module: setattr(module, 'display', builtins.display))


def run(spec, listener, pipes):
    """`spec`: the spawn message; `listener`: the listening socket; `pipes`: {stream: (read end, write end)}. Does not return."""
    own_log = None
    try:
        own_log = log.Log(log.open_log(spec['directory'], 'kernel.log'))
        _become_kernel(spec, listener, pipes, own_log)
    except BaseException as error:
        if own_log is not None:
            own_log.write('kernel-failed %s: %s (%s)' % (type(error).__name__, error, _place(error)))
    finally:
        os._exit(70)


def _place(error):
    tb = error.__traceback__
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    return 'nowhere' if tb is None else '%s:%d' % (os.path.basename(tb.tb_frame.f_code.co_filename), tb.tb_lineno)


def _become_kernel(spec, listener, pipes, own_log):
    os.setsid()  # a signal to the kernel's own group must reach neither the nursery nor another kernel
    _raise_oom_score()
    system.mark_descent(processes.descent_mark(spec['kernel']))
    kernel, link = assemble(spec, listener, pipes, own_log, map_files(spec['directory']))
    os.register_at_fork(after_in_child=_on_fork_in_child)
    _present.append(kernel)
    preloading.reseed()
    first = Request('preload', {'what': 'preload'}, lambda _message: preloading.import_left(own_log)) if preloading.left else None
    while True:
        try:
            kernel.serve(link, first)
        except cloning.Became as became:
            kernel, link = _become_clone(became)
            first = None
            _present.append(kernel)


def _on_fork_in_child():
    """The child of a fork has no kernel any more."""
    while _present:
        _present.pop().on_fork_in_child()


def _become_clone(became):
    """(Kernel, Link) of the clone of a session: all of the original's is given up, but for its namespace and its files."""
    spec = became.spec
    try:
        os.setsid()
        system.mark_descent(processes.descent_mark(spec['kernel']))
        left_behind.disown()
        kept = [fd for fd in left_behind.open_descriptors() if fd != became.original.log_fd]
        pipes = {1: os.pipe(), 2: os.pipe()}
        streams = {system.identity(stream): pipes[stream][1] for stream in (1, 2)}
        connections = left_behind.cut([fd for fd in kept if fd != became.writer], (became.original.pid, became.between, os.getpid()), streams)
        own_log = log.Log(log.open_log(spec['directory'], 'kernel.log'))
        listener = sockets.listen(spec['directory'], 'kernel.sock', replace=True)
        kernel, link = assemble(spec, listener, pipes, own_log, map_files(spec['directory']), kept, became.original)
        adoption.ask(spec, became.between)
        cloning.report(became, connections)
        return kernel, link
    except BaseException as error:
        cloning.report_failure(became, error)
        os._exit(70)


def map_files(directory):
    """The memories of spool and journal."""
    return (system.map_new_file(directory + '/spool', limits.SPOOL_SIZE),
            system.map_new_file(directory + '/journal', limits.JOURNAL_SIZE))


def assemble(spec, listener, pipes, own_log, memories, kept=(), original=None):
    """(Kernel, Link) in this process, which has from now on the descriptors, signals, environment and `__main__` of a kernel.

    All that can be undone: the nursery rehearses it (warming.py), keeping its own descriptors, `kept`. A clone goes on with
    the namespace and the context of its `original`, and whatever else cells have set."""
    is_clone = original is not None
    if not is_clone:
        _reset_signals()
    directory_fd = os.open(spec['directory'], os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    readers, listener = _arrange_descriptors(listener, pipes, own_log, directory_fd, kept)
    directory_fd = system.place(directory_fd)
    own_log.fd = system.place(own_log.fd)
    faulthandler.enable(file=own_log.fd)
    listener.listen(limits.BACKLOG)  # again: SO_PEERCRED names who called it last
    failpoints.install(spec['failpoints'], prefix='kernel.')
    _use_environment(spec, is_clone)
    spool = Spool(memories[0])
    output = Output(Journal(memories[1]), readers, lambda: kernel.notify_output(),
                    lambda parted: pipe_readers.tell(dict(spec, nursery=descriptors.where(spec['nursery'])), parted, own_log))
    interrupts = Interrupts()
    handlers.use(interrupts, own_log)
    streams = Streams(output, interrupts.leave_kernel)
    displays = Displays(output, interrupts, lambda: kernel.send_displays())
    displays.install()
    namespace, context = (original.namespace, original.context) if is_clone else (_new_main(), None)
    if spec.get('tools') and not is_clone:
        host_tools.install(spec['tools_module'], spec['tools'])
    Shell(namespace, interrupts.leave_kernel).install()
    runner = Runner(namespace, interrupts, displays, spec.get('cells_before', 0), context)
    descriptors = Descriptors(spec['directory'], directory_fd, own_log, output)
    jobs = Jobs(spec['kernel'], descriptors, output.current_cell, interrupts.leave_kernel, own_log)
    builtins.run = jobs.run
    kernel = Kernel(spec, descriptors, output, displays, streams, runner, interrupts, spool, jobs, own_log)
    serving.register(kernel, namespace, runner.awaiting.context, spec, own_log, descriptors.where)
    identity = handshake.Identity()
    shakes = handshake.Handshake(spec['kernel'], spec['token'], spec['home'], spec['program'], identity)
    link = Link('kernel', listener, kernel.poller, Window(), shakes, kernel, own_log)
    interrupts.install()
    if not is_clone:
        os.umask(system.user_umask)
    own_log.write('kernel-started %s pid %d python %s' % (spec['kernel'], identity.pid, sys.version.split()[0]))
    return kernel, link


def _reset_signals():
    # The C module: the functions of `signal` make enum members of all they return.
    _signal.set_wakeup_fd(-1)
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
    _signal.signal(_signal.SIGTERM, _signal.SIG_DFL)
    _signal.signal(_signal.SIGHUP, system.ignore_signal)
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, system.SIGNALS)


def _arrange_descriptors(listener, pipes, own_log, directory_fd, kept):
    """Descriptors 0, 1, 2 as a cell sees them, nothing of the nursery's left, the kernel's own out of the way."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    for stream, (_reader, writer) in pipes.items():
        os.dup2(writer, stream)
    readers = {stream: reader for stream, (reader, _writer) in pipes.items()}
    system.close_all_but(list(readers.values()) + [listener.fileno(), own_log.fd, directory_fd] + list(kept))
    for stream, reader in readers.items():
        readers[stream] = system.place(reader)
        fcntl.fcntl(readers[stream], fcntl.F_SETFL, fcntl.fcntl(readers[stream], fcntl.F_GETFL) | os.O_NONBLOCK)
    return readers, system.place_socket(listener.detach())


def _use_environment(spec, is_clone):
    environment = os.environ  # empty: the nursery has emptied its own
    for name, value in spec['env'].items():
        environment[name] = value
    environment['HOLDFAST_KERNEL'] = spec['kernel']
    environment.setdefault('MPLBACKEND', figures.BACKEND)
    if 'TZ' in spec['env']:
        time.tzset()
    if is_clone:
        return
    _use_directory(spec)
    if sys.argv != ['']:
        sys.argv = ['']
    if '' not in sys.path[:1] and not getattr(sys.flags, 'safe_path', False):
        sys.path.insert(0, '')


def _use_directory(spec):
    """Also in sys.path: what PYTHONPATH names relatively was taken as below the nursery's directory."""
    named = [one for one in spec['env'].get('PYTHONPATH', '/').split(os.pathsep) if not os.path.isabs(one)]
    taken = [os.path.abspath(one) for one in named]
    os.chdir(spec['cwd'])
    for one, wrong in zip(named, taken):
        if wrong in sys.path:
            sys.path[sys.path.index(wrong)] = os.path.abspath(one)


def _raise_oom_score():
    try:
        fd = os.open('/proc/self/oom_score_adj', os.O_WRONLY | os.O_CLOEXEC)
        os.write(fd, b'%d' % _OOM_SCORE_ADJ)
        os.close(fd)
    except OSError:
        pass


def _new_main():
    """The namespace of the cells: a new `__main__`."""
    module = types.ModuleType('__main__')
    module.__builtins__ = builtins
    sys.modules['__main__'] = module
    return vars(module)
