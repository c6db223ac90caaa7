"""SIGINT: ends the cell that it is meant for, never harms the kernel's own code.

The handler walks the interrupted frames from the innermost out. What comes first decides: a cell's frame, or a door (a kernel function
that only calls into user code): KeyboardInterrupt, if the running code belongs to the cell that is meant. The turn of the event loop:
the cell's task is cancelled. Other kernel code: the interrupt is pending; it is raised when that code returns to the cell
(`leave_kernel`), and the link thread sends the signal again until it was delivered.
"""

# Bound here: a cell may replace them.
from _signal import SIG_UNBLOCK, SIGINT, pthread_kill, pthread_sigmask as set_mask, signal as set_handler
from _thread import get_ident

from . import limits
from .execution import current

CELL_PREFIX = '<cell '
PACKAGE = __name__.rpartition('.')[0]
_SIGINT_ALONE = (SIGINT,)
_CELL, _LOOP, _KERNEL = 'cell', 'loop', 'kernel'  # whose frame was met
_doors = set()  # code objects of the kernel's functions in which KeyboardInterrupt may be raised
_turns = set()  # code objects of the kernel's functions that run the event loop


def door(function):
    """Marks a function that does nothing but call user code; its caller is ready for KeyboardInterrupt."""
    _doors.add(function.__code__)
    return function


def turn(function):
    """Marks a function that runs the event loop: below it nothing is a cell's own but what its frames say."""
    _turns.add(function.__code__)
    return function


def is_marked(code):
    return code in _doors or code in _turns


class Interrupts:
    __slots__ = ('_main', 'foreground', 'background', 'pending', '_raised', 'on_unraised', 'forked')

    def __init__(self):
        self._main = get_ident()
        self.foreground = None  # the Execution that holds the main thread
        self.background = {}  # cell -> Execution whose task lives on while others hold the main thread
        self.pending = None  # the Execution whose signal met kernel code
        self._raised = None  # what a cell's own handler raised in kernel code, until that returns to the cell
        self.on_unraised = None  # called with it if there is no cell (any more) to which that could return
        self.forked = False  # this process is the child of a fork in a cell: its kernel is the parent

    def install(self):
        """Makes SIGINT ours, again before each cell: one may have taken its handler, also behind Python's back, or blocked it."""
        set_handler(SIGINT, self.handle)
        set_mask(SIG_UNBLOCK, _SIGINT_ALONE)

    def begin(self, execution):
        self.pending = None
        self.foreground = execution

    def end(self):
        """The foreground cell's code has ended, or awaits in the background: from now on no signal meets it here."""
        self.foreground = None
        self.pending = None
        if self._raised is not None:
            self._give_up()

    def request(self, cell, reason):
        """Asks for the interrupt of that cell, from any thread; False if it neither executes nor awaits."""
        foreground = self.foreground
        execution = foreground if foreground is not None and foreground.cell == cell else self.background.get(cell)
        if execution is None:
            return False
        if execution.requested is None:
            execution.requested = reason
            self.retry()
        return True

    def retry(self):
        """Sends the signal; again if it has not reached its cell yet."""
        pthread_kill(self._main, SIGINT)

    def handle(self, _number, frame):
        if self.forked:
            raise KeyboardInterrupt
        if self.foreground is None and not self.background:
            return
        met = _whose(frame)
        if met is _LOOP:
            return self._cancel(True)
        running = self._running()
        if running is None or not running.is_interrupt_due and self._is_due():
            return self._cancel(False)  # it is for one that awaits: it ends when this one yields
        if running.requested is not None and running.delivered:
            return  # a retry that crossed the delivery
        if met is _KERNEL:
            self.pending = running
            return
        self._deliver(running)

    def _running(self):
        """The execution whose code was interrupted. What outlived its cell counts as the foreground's: that one waits for it."""
        running = current.get()
        if running is not None and self.background.get(running.cell) is running:
            return running
        return self.foreground

    def _awaiting(self):
        executions = list(self.background.values())
        if self.foreground is not None:
            executions.append(self.foreground)
        return [execution for execution in executions if execution.task is not None]

    def _is_due(self):
        return any(execution.is_interrupt_due for execution in self._awaiting())

    def _cancel(self, is_turning):
        """Cancels the tasks that are to be interrupted; with no such wish a signal from elsewhere ends the foreground cell.

        `is_turning`: the loop itself was met, turning or in C code that it called: in that, KeyboardInterrupt after some patience."""
        due = [execution for execution in self._awaiting() if execution.is_interrupt_due]
        foreground = self.foreground
        if not due and is_turning and foreground is not None and foreground.task is not None and not foreground.delivered:
            due = [foreground]
        for execution in due:
            if execution.cancels == 0:
                _cancel_soon(execution)
            if is_turning:
                execution.cancels += 1
                if execution.cancels > limits.LOOP_RETRIES:
                    raise KeyboardInterrupt

    def _deliver(self, execution):
        self.pending = None
        execution.delivered = execution.requested is not None
        raise KeyboardInterrupt

    def put_off(self, error):
        """A handler of a cell's own raised that where kernel code was met; in the main thread."""
        self._raised = error
        if self.foreground is None:
            self._give_up()

    def _give_up(self):
        error, self._raised = self._raised, None
        if self.on_unraised is not None:
            self.on_unraised(error)

    def leave_kernel(self):
        """Called where kernel code that a cell called is about to return."""
        if self._raised is not None and get_ident() == self._main:
            error, self._raised = self._raised, None
            raise error
        if self.pending is not None and get_ident() == self._main and self._running() is self.pending:
            self._deliver(self.pending)


def _cancel_soon(execution):
    """The loop cancels the task in its next turn, and is woken for it: this may come between two bytecodes of its select."""
    execution.cancels = 1
    try:
        execution.task.get_loop().call_soon_threadsafe(_cancel_now, execution)
    except RuntimeError:  # closed
        execution.delivered = True


def _cancel_now(execution):
    execution.delivered = True
    execution.has_stepped = False
    execution.task.cancel()


def is_in_kernel(frame):
    """Whether that frame is kernel code, in which no exception may come up."""
    return _whose(frame) is _KERNEL


def is_called_by_kernel(frame):
    """Whether the kernel is at work there, be it by way of others: no code of a cell's called for it."""
    if frame.f_globals.get('__name__', '').startswith(PACKAGE):
        return True
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(CELL_PREFIX) or code in _turns:
            return False
        if frame.f_globals.get('__name__', '').startswith(PACKAGE):
            return True
        frame = frame.f_back
    return False


def _whose(frame):
    while frame is not None:
        code = frame.f_code
        if code in _doors or code.co_filename.startswith(CELL_PREFIX):
            return _CELL
        if code in _turns:
            return _LOOP
        if frame.f_globals.get('__name__', '').startswith(PACKAGE):
            return _KERNEL
        frame = frame.f_back
    return _CELL
