"""Threads write as the cell that started them: whoever starts a thread hands it its label, so a thread's own threads inherit it.

What a pool of concurrent.futures works on bears the label of the cell that submitted it, whichever cell made the pool. Threads that are
started by C code have no label. No frame of ours comes into the thread: a label is handed over in a context, which C code enters.
"""

import _thread
import functools
import threading
from contextvars import Context

from . import import_hooks
from .execution import current

_STARTERS = ('start_new_thread', 'start_new', 'start_joinable_thread')  # each may be missing, by version of Python


def install():
    """Once, in the nursery; modules that have bound the functions before, as those of the kernel, start threads without a label."""
    for name in _STARTERS:
        original = getattr(_thread, name, None)
        if original is None:
            continue
        labelling = (_joinable if name == 'start_joinable_thread' else _plain)(original)
        setattr(_thread, name, labelling)
        if getattr(threading, '_' + name, None) is original:
            setattr(threading, '_' + name, labelling)
    import_hooks.after_import('concurrent.futures.thread', _label_work)


def _runner():
    """What calls a function with the label of the code that runs here; None if that has none."""
    execution = current.get()
    if execution is None:
        return None
    context = Context()
    context.run(current.set, execution)
    return context.run


def _plain(original):
    @functools.wraps(original)
    def start_new_thread(function, *more):
        run = _runner()
        if run is None or not callable(function) or not more or type(more[0]) is not tuple:  # the original says what is wrong
            return original(function, *more)
        return original(run, (function,) + more[0], *more[1:])

    return start_new_thread


def _joinable(original):
    @functools.wraps(original)
    def start_joinable_thread(function, *more, **options):
        run = _runner()
        if run is None or not callable(function):
            return original(function, *more, **options)
        return original(functools.partial(run, function), *more, **options)

    return start_joinable_thread


def _label_work(module):
    """A pool's threads outlive the cell that made it, and work for others."""
    class _WorkItem(module._WorkItem):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            self.execution = current.get()

        def run(self):
            token = current.set(self.execution or current.get())
            try:
                super().run()
            finally:
                current.reset(token)

    module._WorkItem = _WorkItem
