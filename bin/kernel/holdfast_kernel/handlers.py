"""Signal handlers, audit hooks, functions at forks and the switch interval that cells set, kept from harming the kernel.

Such a handler runs wherever the main thread is. If that is the kernel's own code, an exception of the handler would end the kernel; it is
raised where that code returns to the cell instead (`Interrupts.leave_kernel`), and goes to kernel.log where no cell runs. A cell sees
`signal.signal` and `signal.getsignal` as ever. Handlers that are set past these two are as they are.

An audit hook can never be taken away again, and by raising forbids what it hears of. It does not hear of what the kernel does by
itself: compiling the next cell would be forbidden too. Hooks that C code sets hear of all.

What is registered for forks is not called for the children in which values are looked at and saved (forking.py): one that hangs would
cost each of them. For the fork of a session it is, and is interrupted if it takes too long.
"""

import functools
import sys
from _signal import SIG_DFL, SIGINT
from _thread import get_ident
from sys import _getframe as getframe  # bound here: a cell may replace that of the module

from . import limits
from .interrupts import door, is_called_by_kernel, is_in_kernel

_present = None  # the Interrupts of this kernel
is_own_fork = False  # while this process forks a child of the kernel's own


def install():
    """Once, in the nursery."""
    shared = sys.modules['signal']  # what cells import; this package has a copy of its own
    set_handler, get_handler = shared.signal, shared.getsignal

    @functools.wraps(set_handler)
    def guarding(signalnum, handler):
        if signalnum == SIGINT and handler == SIG_DFL and _present is not None and not _present.forked:
            handler = _present.handle  # by default an interrupt, and each deadline, would end the kernel
        return _own(set_handler(signalnum, _Guarded(handler) if callable(handler) else handler))

    @functools.wraps(get_handler)
    def unguarding(signalnum):
        return _own(get_handler(signalnum))

    shared.signal = guarding
    shared.getsignal = unguarding
    sys.addaudithook = _guarding_hooks(sys.addaudithook)
    sys.setswitchinterval = _bounding(sys.setswitchinterval)
    shared = sys.modules['os']
    shared.register_at_fork = _guarding_forks(shared.register_at_fork)


def use(interrupts, log):
    """In a kernel, once its Interrupts are there."""
    global _present
    _present = interrupts
    interrupts.on_unraised = lambda error: log.write('handler-raised %.200s between cells' % type(error).__name__)


class _Guarded:
    __slots__ = ('handler',)

    def __init__(self, handler):
        self.handler = handler

    def __call__(self, number, frame):
        present = _present
        if present is None or present.forked or not is_in_kernel(frame):
            return self.handler(number, frame)
        try:
            self.handler(number, frame)
        except BaseException as error:
            present.put_off(error)


def _guarding_hooks(add_hook):
    deciding = set()  # threads; what a decision looks at is audited in turn

    @functools.wraps(add_hook)
    def addaudithook(hook):
        def hear(event, arguments):
            thread = get_ident()
            if thread in deciding:
                return
            deciding.add(thread)
            try:
                is_ours = is_called_by_kernel(getframe(1))
            except ValueError:
                is_ours = False  # in C code alone: a thread's function
            finally:
                deciding.discard(thread)
            if not is_ours:
                hook(event, arguments)

        return add_hook(hear)

    return addaudithook


def _guarding_forks(register):
    @functools.wraps(register)
    def register_at_fork(**functions):
        return register(**{when: _at_forks_of_cells(one) if callable(one) else one for when, one in functions.items()})

    return register_at_fork


def _at_forks_of_cells(function):
    @door
    def call():
        if not is_own_fork:
            function()

    return call


def _bounding(set_interval):
    """With a long interval a cell that computes would keep its deadline's thread from running."""
    @functools.wraps(set_interval)
    def setswitchinterval(interval):
        set_interval(min(interval, limits.SWITCH_INTERVAL))

    return setswitchinterval


def _own(handler):
    return handler.handler if type(handler) is _Guarded else handler
