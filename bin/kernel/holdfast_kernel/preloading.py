"""The modules of a preload list: imported once by the nursery, or by each kernel if they cannot be shared.

A fork takes one thread along, and a kernel closes what the nursery has open. So each module is tried in a child first: one that starts
threads or opens descriptors is left to the kernels, which import it before their first cell. Refuses a list with a module that fails.
"""

import importlib
import os
import sys

from . import system
from .interrupts import door

_DONE, _LEFT, _FAILED = b'd', b'l', b'f'  # first byte of a child's report
left = []  # names that each kernel imports for itself, in order


class CannotPreload(Exception):
    """The text names the module and says why."""


def import_all(names):
    """In the nursery, before it serves and while it has one thread."""
    for name in names:
        report = _tried(name)
        if report[:1] == _FAILED:
            raise CannotPreload('cannot preload %s: %s' % (name, report[1:].decode('utf-8', 'replace')))
        if report[:1] == _LEFT:
            left.append(name)
        else:
            importlib.import_module(name)


def _tried(name):
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        _try(name, writer)
    os.close(writer)
    with open(reader, 'rb') as pipe:
        report = pipe.read()
    status = os.waitpid(pid, 0)[1]
    return report or _FAILED + b'it ended the process with status %d' % status


def _try(name, writer):
    """The child. Does not return."""
    try:
        system.die_with_parent()
        before = _threads_and_descriptors()
        importlib.import_module(name)
        report = _DONE if _threads_and_descriptors() == before else _LEFT
    except BaseException as error:
        report = _FAILED + ('%s: %.500s' % (type(error).__name__, error)).encode('utf-8', 'backslashreplace')
    os.write(writer, report)
    os._exit(0)


def _threads_and_descriptors():
    return len(os.listdir('/proc/self/task')), sorted(fd for fd in map(int, os.listdir('/proc/self/fd')) if system.identity(fd) is not None)


def import_left(log):
    """In a kernel, in the place of a cell; what fails here is imported again, and fails, where a cell wants it."""
    for name in left:
        try:
            _import(name)
        except BaseException as error:
            log.write('preload-failed %.200s: %s: %.500s' % (name, type(error).__name__, error))
    return {}


@door
def _import(name):
    importlib.import_module(name)


def reseed():
    """In a kernel: kernels of one nursery shall not draw the same numbers. Python's own generator does this by itself."""
    numpy_random = sys.modules.get('numpy.random')
    if numpy_random is not None:
        numpy_random.seed()
