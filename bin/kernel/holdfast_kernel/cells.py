"""Runs the code of one cell in the namespace of `__main__` and says how it ended.

Knows nothing of links, spools and streams. Never raises.
"""

import asyncio
import builtins

from . import source as sources
from . import figures, tracebacks, tracing
from .awaiting import Awaiting
from .execution import current
from .interrupts import CELL_PREFIX, door


_of_builtins = vars(builtins)  # a cell may change the module's class


class Outcome:
    """How a cell's code ended: status `ok error exit timeout interrupted`, and what goes with it."""

    __slots__ = ('status', 'value', 'error', 'exit_code')

    def __init__(self, status, value=None, error=None, exit_code=None):
        self.status = status
        self.value = value
        self.error = error
        self.exit_code = exit_code

    @classmethod
    def killed(cls, requested, grace, has_main_thread):
        """That of a cell with which the kernel ends, because it does not end itself."""
        status = 'timeout' if requested == 'timeout' else 'interrupted'
        message = ('the cell did not end within %d ms of its %s; its kernel was ended with it'
                   % (grace * 1000, 'timeout' if status == 'timeout' else 'interrupt'))
        stack = tracebacks.stack_of_main_thread() if has_main_thread else ''
        return cls(status, error={'name': 'KeyboardInterrupt', 'message': message, 'traceback': stack + 'KeyboardInterrupt: %s\n' % message})


@door
def _execute(code, namespace):
    exec(code, namespace)


@door
def _evaluate(code, namespace):
    return eval(code, namespace)


@door
async def _execute_awaiting(statements, expression, namespace):
    """Both parts of a cell of which one at least awaits; the value of the expression."""
    if statements is not None:
        result = eval(statements, namespace)
        if sources.awaits(statements):
            await result
    if expression is None:
        return None
    value = eval(expression, namespace)
    return await value if sources.awaits(expression) else value


class Runner:
    __slots__ = ('_namespace', '_interrupts', '_displays', '_sources', '_cells_before', 'awaiting')

    def __init__(self, namespace, interrupts, displays, cells_before=0, context=None):
        """`cells_before`: how many cells of another kernel have left code in the namespace; theirs and ours are told apart. `context`: their
        context, if the namespace was theirs."""
        self._namespace = namespace
        self._cells_before = cells_before
        self._interrupts = interrupts
        self._displays = displays
        self._sources = tracebacks.Sources()
        self.awaiting = Awaiting(context)

    def run(self, execution, is_wanted):
        """Runs a cell; its Outcome, or None if it awaits and `is_wanted()`: then its `outcome` comes in a later turn of the loop."""
        filename = '%s%d>' % (CELL_PREFIX, self._cells_before + execution.generation)
        try:
            source = sources.normalized(execution.code)
            self._sources.add(filename, source)
            statements, expression = sources.compiled(source, filename)
        except BaseException as error:
            return self._failed(execution, error, None)
        if not sources.awaits(statements) and not sources.awaits(expression):
            return self.awaiting.in_context(self._run_now, execution, statements, expression)
        body = self._run_awaiting(execution, statements, expression)
        try:
            self.awaiting.start(execution, body)
        except BaseException as error:  # no loop can be made: no descriptors are left, perhaps
            body.close()
            return self._failed(execution, error, None)
        return self.go_on(execution, is_wanted)

    def go_on(self, execution, is_wanted):
        """Awaits a cell, or with None those in the background: as run(). A loop that fails ends all that await."""
        self._lose(RuntimeError('the event loop was closed by a later cell'), execution)
        failure = self.awaiting.run(execution, is_wanted)
        if failure is not None:
            self._lose(failure, execution)
        for one in self._that_await(execution):
            if one.task.done():  # its coroutine does not raise; a trace function did, in one of its steps
                error = self.awaiting.error_of(one.task)
                one.outcome = self._failed(one, error, tracebacks.traceback_of(error))
        return None if execution is None else execution.outcome

    def _lose(self, failure, execution):
        """Ends with that error all executions that await on a loop that is of no use any more."""
        for one in self._that_await(execution):
            if not self.awaiting.is_usable(one.task.get_loop()):
                one.outcome = self._failed(one, failure, None)

    def _that_await(self, execution):
        executions = list(self._interrupts.background.values())
        return [one for one in (executions if execution is None else executions + [execution]) if one.outcome is None]

    def _run_now(self, execution, statements, expression):
        current.set(execution)
        try:
            self._interrupts.leave_kernel()
            value = None
            try:
                tracing.resume()
                if statements is not None:
                    _execute(statements, self._namespace)
                if expression is not None:
                    value = _evaluate(expression, self._namespace)
            finally:
                tracing.suspend()
            return self._ended(value)
        except BaseException as error:
            tracing.suspend()  # of two functions one may have raised in the first attempt
            return self._failed(execution, error, tracebacks.traceback_of(error))

    async def _run_awaiting(self, execution, statements, expression):
        try:
            tracing.resume()
            outcome = self._ended(await _execute_awaiting(statements, expression, self._namespace))
        except BaseException as error:
            outcome = self._failed(execution, error, tracebacks.traceback_of(error))
        tracing.suspend()  # what tells the loop of the end is the kernel's
        execution.outcome = outcome

    def _ended(self, value):
        text = None
        if value is not None:
            _of_builtins['_'] = value
            text = self._displays.value_text(value)
        if figures.may_be_open():
            self._displays.show_figures()
        return Outcome('ok', text)

    def _failed(self, execution, error, tb):
        try:
            if figures.may_be_open():
                self._displays.show_figures()
        except BaseException:
            pass  # the cell's own error was the first
        for _attempt in range(3):  # a describing __str__ may itself be interrupted
            try:
                return self._describe(execution, error, tb)
            except KeyboardInterrupt:
                if not execution.delivered:
                    break  # nobody's but its own
                error, tb = KeyboardInterrupt(), None
            except BaseException:
                break
        return Outcome('error', error=tracebacks.fallback(error))

    def _describe(self, execution, error, tb):
        kind = type(error)  # not isinstance(): that asks the error
        if issubclass(kind, SystemExit) and not execution.delivered:
            return self._exited(error, tb)
        if not execution.delivered:
            status = 'interrupted' if issubclass(kind, KeyboardInterrupt) else 'error'
            return Outcome(status, error=tracebacks.describe(error, tb))
        status = 'timeout' if execution.requested == 'timeout' else 'interrupted'
        if issubclass(kind, (KeyboardInterrupt, asyncio.CancelledError)):
            error = KeyboardInterrupt('the cell ran longer than its timeout' if status == 'timeout' else 'the cell was interrupted')
        return Outcome(status, error=tracebacks.describe(error, tb))

    @staticmethod
    def _exited(error, tb):
        """As the interpreter does: None is 0, a number is itself, all else is printed and means 1."""
        code = tracebacks.exit_code_of(error)
        if code is None:
            return Outcome('exit', exit_code=0)
        if issubclass(type(code), int):
            return Outcome('exit', exit_code=max(-2**31, min(2**31 - 1, int.__index__(code))))
        return Outcome('exit', error=tracebacks.describe(error, tb), exit_code=1)
