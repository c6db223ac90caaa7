"""Signal handlers that cells set, kept from harming the kernel.

Such a handler runs wherever the main thread is. If that is the kernel's own code, an exception of the handler would end the kernel; it is
raised where that code returns to the cell instead (`Interrupts.leave_kernel`), and goes to kernel.log where no cell runs. A cell sees
`signal.signal` and `signal.getsignal` as ever. Handlers that are set past these two are as they are.
"""

import functools
import sys

from .interrupts import is_in_kernel

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


def _own(handler):
    return handler.handler if type(handler) is _Guarded else handler
