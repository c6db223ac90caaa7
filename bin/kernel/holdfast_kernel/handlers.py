"""Signal handlers and audit hooks that cells set, kept from harming the kernel.

Such a handler runs wherever the main thread is. If that is the kernel's own code, an exception of the handler would end the kernel; it is
raised where that code returns to the cell instead (`Interrupts.leave_kernel`), and goes to kernel.log where no cell runs. A cell sees
`signal.signal` and `signal.getsignal` as ever. Handlers that are set past these two are as they are.

An audit hook can never be taken away again, and by raising forbids what it hears of. It does not hear of what the kernel does by
itself: compiling the next cell would be forbidden too. Hooks that C code sets hear of all.
"""

import functools
import sys
from _thread import get_ident
from sys import _getframe as getframe  # bound here: a cell may replace that of the module

from .interrupts import is_called_by_kernel, is_in_kernel

_present = None  # the Interrupts of this kernel


def install():
    """Once, in the nursery."""
    shared = sys.modules['signal']  # what cells import; this package has a copy of its own
    set_handler, get_handler = shared.signal, shared.getsignal

    @functools.wraps(set_handler)
    def guarding(signalnum, handler):
        return _own(set_handler(signalnum, _Guarded(handler) if callable(handler) else handler))

    @functools.wraps(get_handler)
    def unguarding(signalnum):
        return _own(get_handler(signalnum))

    shared.signal = guarding
    shared.getsignal = unguarding
    sys.addaudithook = _guarding_hooks(sys.addaudithook)


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


def _own(handler):
    return handler.handler if type(handler) is _Guarded else handler
