"""The text of an exception: the cell's own lines, none of the kernel's.

Calls user code (__str__, __repr__ of exceptions), which may raise or run for ever: its caller is ready for KeyboardInterrupt.
"""

import linecache
import os
import traceback
from _thread import get_ident
from collections import OrderedDict
from sys import _current_frames

from . import hints, limits, texts
from .interrupts import door
from .namespace import type_name

_MAIN_THREAD = get_ident()  # imported there; a fork keeps the number
_PROGRAM = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Sources:
    """Cell sources in linecache, so that tracebacks and inspect find them; the oldest go when they are too many."""

    __slots__ = ('_sizes', '_total')

    def __init__(self):
        self._sizes = OrderedDict()  # filename -> characters
        self._total = 0

    def add(self, filename, source):
        lines = [line + '\n' for line in source.split('\n')]  # not splitlines(): the compiler knows no other end of a line
        try:
            if type(linecache.cache) is not dict:
                linecache.cache = {}  # what a cell put there may do anything
            linecache.cache[filename] = (len(source), None, lines, filename)
            self._sizes[filename] = len(source)
            self._total += len(source)
            while self._total > limits.SOURCES and len(self._sizes) > 1:
                oldest, size = self._sizes.popitem(False)
                self._total -= size
                linecache.cache.pop(oldest, None)
        except Exception:
            pass  # a cell put something odd there: tracebacks go without lines


def fallback(error):
    """The same of one that cannot be described."""
    name = _type_name(error)
    message = '<unprintable %s object>' % name
    return {'name': name, 'message': message, 'traceback': '%s: %s\n' % (name, message)}


def describe(error, tb):
    """{name, message, traceback} of an exception; never raises but KeyboardInterrupt."""
    name = _type_name(error)
    try:
        message = _call_str(error)
    except KeyboardInterrupt:
        raise
    except BaseException:
        message = '<unprintable %s object>' % name
    try:
        text = _format(error, tb)
    except KeyboardInterrupt:
        raise
    except BaseException as failure:
        text = '%s: %s\n[no traceback: formatting it raised %s]\n' % (name, message, _type_name(failure))
    hint = hints.hint(name, message)
    if hint is not None:
        message = '%s; %s' % (message, hint)
        text = '%s; %s\n' % (text.rstrip('\n'), hint)
    return {'name': name, 'message': texts.bounded(message, limits.MESSAGE), 'traceback': texts.bounded(text, limits.TRACEBACK)}


# Not by name: a cell's exception may answer for its attributes as it likes, by raising for one.
traceback_of = BaseException.__dict__['__traceback__'].__get__
exit_code_of = SystemExit.__dict__['code'].__get__


def _type_name(error):
    return type_name(error)[:200]


@door
def _call_str(error):
    return str.__str__(str(error))  # which may be of a subclass of str


@door
def _format(error, tb):
    report = traceback.TracebackException(type(error), error, tb)
    _strip(report)
    return ''.join(report.format())


def stack_of_main_thread():
    """Where the main thread stands, in the form of a traceback; empty if that cannot be told. For any thread."""
    try:
        frame = _current_frames()[_MAIN_THREAD]
        stack = traceback.StackSummary.extract(traceback.walk_stack(frame))
        lines = traceback.StackSummary.from_list([one for one in reversed(stack) if not is_own(one.filename)]).format()
        return texts.bounded('Traceback (most recent call last):\n' + ''.join(lines), limits.TRACEBACK)
    except BaseException:
        return ''


def _strip(report):
    """Takes the kernel's frames out of the report and of all it is linked with."""
    pending = [report]
    seen = set()
    while pending:
        one = pending.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        _shorten_marks(one)
        if one.stack:
            one.stack[:] = [frame for frame in one.stack if not is_own(frame.filename)]
        pending += [one.__cause__, one.__context__]
        pending += getattr(one, 'exceptions', None) or []


def _shorten_marks(report):
    """An error of syntax that a cell made may claim to be at column 10**10: as many marks would be written below its line."""
    text = getattr(report, 'text', None)
    end = len(text) + 1 if type(text) is str else 1
    for name in ('offset', 'end_offset'):
        column = getattr(report, name, None)
        if type(column) is int and column > end:
            setattr(report, name, end)


def is_own(filename):
    """Whether that file is one of the program."""
    return filename.startswith(_PROGRAM)

