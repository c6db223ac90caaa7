"""Trace and profile functions that cells set see what cells do; the kernel's own code between cells does without them.

One that prints would make output of each step that sends output, without end. It goes on with the next cell, as it does from line to
line of a script.
Such a function may raise wherever it is called, also by what a signal handler raises in it: both calls are made where that is an error
of the cell, on the main thread.
"""

from sys import getprofile, gettrace, setprofile, settrace  # bound here: a cell may replace those of the module

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
