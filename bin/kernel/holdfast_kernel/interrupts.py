"""SIGINT: raises KeyboardInterrupt in the cell it is meant for, never in the kernel's own code.

The handler walks the interrupted frames from the innermost out. A cell's frame, or a door (a kernel function that only calls into
user code), comes first: KeyboardInterrupt. Kernel code comes first: the interrupt is pending; it is raised when that code returns
to the cell (`leave_kernel`), and the link thread sends the signal again until it was delivered.
"""

import _signal
import signal
from _thread import get_ident

CELL_PREFIX = '<cell '
PACKAGE = __name__.rpartition('.')[0]
_doors = set()  # code objects of the kernel's functions in which KeyboardInterrupt may be raised


def door(function):
    """Marks a function that does nothing but call user code; its caller is ready for KeyboardInterrupt."""
    _doors.add(function.__code__)
    return function


def is_door(code):
    return code in _doors


class Interrupts:
    __slots__ = ('_main', 'cell', 'requested', 'pending', 'delivered', 'forked')

    def __init__(self):
        self._main = get_ident()
        self.cell = None  # the executing cell
        self.requested = None  # 'interrupt' or 'timeout', once one was asked for this cell
        self.pending = False  # the signal met kernel code
        self.delivered = False  # KeyboardInterrupt was raised in this cell on request
        self.forked = False

    def install(self):
        """Makes SIGINT ours, again before each cell."""
        if _signal.getsignal(_signal.SIGINT) != self.handle:
            _signal.signal(_signal.SIGINT, self.handle)

    def begin(self, cell):
        self.requested = None
        self.pending = False
        self.delivered = False
        self.cell = cell

    def end(self):
        """The cell's code has ended: from now on no interrupt meets it."""
        self.cell = None
        self.pending = False

    def request(self, cell, reason):
        """Asks for the interrupt of that cell, from any thread; False if it is not the executing one."""
        if cell != self.cell or cell is None:
            return False
        if self.requested is None:
            self.requested = reason
            signal.pthread_kill(self._main, signal.SIGINT)
        return True

    def retry(self):
        """Sends the signal again if it has not reached the cell yet."""
        if self.requested is not None and not self.delivered:
            signal.pthread_kill(self._main, signal.SIGINT)

    def handle(self, _number, frame):
        if self.forked:
            raise KeyboardInterrupt
        if self.cell is None or (self.requested is not None and self.delivered):
            return  # nothing to interrupt, or a retry that crossed the delivery
        while frame is not None:
            code = frame.f_code
            if code in _doors or code.co_filename.startswith(CELL_PREFIX):
                break
            if frame.f_globals.get('__name__', '').startswith(PACKAGE):
                self.pending = True
                return
            frame = frame.f_back
        self._deliver()

    def _deliver(self):
        self.pending = False
        self.delivered = self.requested is not None
        raise KeyboardInterrupt

    def leave_kernel(self):
        """Called where kernel code that a cell called is about to return."""
        if self.pending and self.cell is not None and get_ident() == self._main:
            self._deliver()
