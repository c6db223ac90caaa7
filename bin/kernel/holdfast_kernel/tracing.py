"""Trace and profile functions that cells set see what cells do; the kernel's own code between cells does without them.

One that prints would make output of each step that sends output, without end. It goes on with the next cell, as it does from line to
line of a script.
Such a function may raise wherever it is called, also by what a signal handler raises in it: both calls are made where that is an error
of the cell, on the main thread.

What is set for all threads (callbacks of `sys.monitoring`, `threading.settrace_all_threads`) meets the link thread as well: such a
function is called through one of ours, which leaves out what the kernel does.
"""

import functools
import sys
from sys import _getframe as getframe, getprofile, gettrace, setprofile, settrace  # bound here: a cell may replace those of the module

from .interrupts import is_called_by_kernel

own = None  # the profile function of the rehearsal, which is to see all (warming.py)
_put_off = []  # [(setter, function)] of those that were taken away and are to go on


def resume():
    while _put_off:
        setter, function = _put_off.pop()
        setter(function)


def suspend():
    for getter, setter in ((getprofile, setprofile), (gettrace, settrace)):
        function = getter()
        # One of C code, as cProfile's, is not callable, and could not be set again.
        if function is not own and callable(function):
            setter(None)
            _put_off.append((setter, function))


def install():
    """Once, in the nursery. All of it came with Python 3.12."""
    monitoring = getattr(sys, 'monitoring', None)
    if monitoring is not None:
        monitoring.register_callback = _guarding_callbacks(monitoring.register_callback)
    for name, set_here in (('_settraceallthreads', settrace), ('_setprofileallthreads', setprofile)):
        if hasattr(sys, name):
            setattr(sys, name, _guarding_all_threads(getattr(sys, name), set_here))


class _Callback:
    __slots__ = ('function', '_forget')

    def __init__(self, function, forget):
        self.function = function
        self._forget = forget

    def __call__(self, *details):
        if is_called_by_kernel(getframe(1)):
            return None
        try:
            return self.function(*details)
        except BaseException:
            self._forget()  # as the interpreter does with a trace function: it would fail each cell, that which takes it away, too
            raise


def _guarding_callbacks(register):
    @functools.wraps(register)
    def register_callback(tool_id, event, func):
        heard = _Callback(func, lambda: register(tool_id, event, None)) if callable(func) else func
        before = register(tool_id, event, heard)
        return before.function if type(before) is _Callback else before

    return register_callback


def _guarding_all_threads(set_everywhere, set_here):
    @functools.wraps(set_everywhere)
    def set_all(function):
        if not callable(function):
            return set_everywhere(function)

        def see(frame, event, argument):
            if not is_called_by_kernel(frame):
                return function(frame, event, argument)

        set_everywhere(see)
        set_here(function)

    return set_all
