"""The event loop of the cells that await: one that lives on from cell to cell, made at the first await; and their one context.

Whatever a cell does to the loop, the next cell has one: a loop that is closed or fails is replaced, one that was stopped goes on.
Tasks that a cell leaves behind go on whenever a later cell awaits. asyncio is taken from the nursery: it costs a kernel nothing.
"""

import asyncio
import contextvars
import selectors
from collections.abc import Coroutine
from asyncio import events

from . import limits, tracing
from .execution import current
from .interrupts import turn


class Steps(Coroutine):
    """A cell's coroutine whose steps all run in the one context of the cells, labelled with its execution.

    A task's own context is a copy (one cannot be given before Python 3.11): what a cell sets there would be lost to the next."""

    __slots__ = ('_execution', '_run', '_body')

    def __init__(self, execution, run, body):
        self._execution = execution
        self._run = run  # Context.run or the like
        self._body = body

    def send(self, value):
        return self._run(self._step, self._body.send, value)

    def throw(self, *error):
        return self._run(self._step, self._body.throw, *error)

    def close(self):
        return self._body.close()

    def __await__(self):
        return self._body.__await__()

    def _step(self, function, *arguments):
        current.set(self._execution)
        self._execution.has_stepped = True
        return function(*arguments)

    def force(self):
        """Cancels the coroutine past its task, which may be lost; from now on that finds it ended. Whether it has."""
        try:
            self.throw(asyncio.CancelledError())
        except StopIteration:
            self._run = _stop_iteration
            return True
        return False


def _stop_iteration(*_):
    raise StopIteration


class Awaiting:
    __slots__ = ('context', '_is_entered', '_loop', '_may_leave', '_is_stopping', 'is_running')

    def __init__(self, context=None):
        self.context = contextvars.Context() if context is None else context  # of all cells; in a clone that of the original's
        self._is_entered = False
        self._loop = None
        self._may_leave = False  # run() may return before its task is done
        self._is_stopping = False  # a stop is on its way: at most one, and none is left to a loop that a cell runs by itself
        self.is_running = False

    def in_context(self, function, *arguments):
        """Calls it in the context of the cells; in the present one if that is in use: a cell runs this very loop by itself."""
        if self._is_entered:
            return function(*arguments)
        self._is_entered = True
        try:
            return self.context.run(function, *arguments)
        finally:
            self._is_entered = False

    def start(self, execution, body):
        """Makes the task of a cell; `body` is a coroutine that raises nothing."""
        loop = self._usable_loop()
        execution.task = task = loop.create_task(Steps(execution, self.in_context, body))
        task.add_done_callback(lambda _task: self.leave())

    def run(self, execution, is_wanted):
        """Runs the loop until that execution's task is done; without one, or if `is_wanted()`, until leave() is called.

        The error that ended the loop, or None."""
        task = None if execution is None else execution.task
        loop = self._usable_loop() if task is None else task.get_loop()
        self._may_leave = False
        self.is_running = True
        stops = 0
        try:
            while (task is None or execution.outcome is None and not task.done()) and not is_wanted():
                try:
                    _turn(loop)
                except KeyboardInterrupt:
                    # It met a task that the cell started. The cell itself waits for that or for something else.
                    if task is not None and not task.done():
                        execution.delivered = True
                        task.cancel()
                except SystemExit:
                    pass  # of a task that nobody waits for: it keeps it
                if task is None and self._may_leave:
                    break
                stops += 1
                if stops > limits.LOOP_STOPS:
                    raise RuntimeError('the event loop does not run: it returned %d times' % stops)
            self.is_running = False
            if self._is_stopping:
                _turn(loop)
            tracing.suspend()
        except BaseException as error:
            tracing.suspend()
            self._forget()
            return error
        finally:
            self.is_running = False
        return None

    def is_usable(self, loop):
        """Whether it will still turn."""
        return not loop.is_closed() and loop not in _broken

    @staticmethod
    def error_of(task):
        """What a task that is done has raised."""
        try:
            return task.exception() or RuntimeError('the task of the cell ended without it')
        except asyncio.CancelledError as error:
            return error

    def leave(self):
        """Ends the present run() if its wish is met; called from any thread."""
        self._may_leave = True
        loop = self._loop
        if loop is not None and self.is_running and not self._is_stopping:
            self._is_stopping = True
            try:
                _call_soon_threadsafe(loop, self._stop, loop)
            except Exception:
                self._is_stopping = False  # closed, or broken by a cell: it does not run

    def _stop(self, loop):
        self._is_stopping = False
        loop.stop()

    @staticmethod
    def halt(execution):
        """Ends the run() of a task that has ended without that the loop was told: what tells it was lost. From the link thread."""
        loop = execution.task.get_loop()
        loop._stopping = True
        loop._write_to_self()

    def force(self, execution):
        """The task was cancelled, and nothing came of it: from the link thread."""
        try:
            _call_soon_threadsafe(execution.task.get_loop(), self._force, execution)
        except Exception:
            pass  # a loop that a cell has broken

    def _force(self, execution):
        """A task whose next step is lost (a trace function raised where the loop was about to plan it) can't be cancelled; nor can one that
        waits for another which does not end. One that takes steps is left alone: it does not want to end."""
        task = execution.task
        if not task.done() and not execution.has_stepped and task.get_coro().force():
            task._log_destroy_pending = False
            self.leave()

    def become_forked_child(self):
        """In a child of a fork in a cell: what runs goes on, all else that waits on the loop is the parent's alone, as is its selector."""
        loop = self._loop
        if loop is None:
            return
        try:
            loop._ready.clear()
            loop._scheduled.clear()
            self._is_stopping = False
            loop._selector = selectors.DefaultSelector()
            loop._make_self_pipe()
        except Exception:
            self._forget()

    def _usable_loop(self):
        loop = self._loop
        if loop is None or loop.is_closed() or loop.is_running():
            self._loop = loop = _current_loop() or asyncio.SelectorEventLoop()
            self._is_stopping = False
        try:
            events.set_event_loop(loop)  # asyncio.run() in a cell takes it away
        except Exception:
            pass  # a policy of the cell's own
        return loop

    def _forget(self):
        """The loop failed, its selector's descriptor closed perhaps: not closed, its numbers may be another's by now."""
        loop, self._loop = self._loop, None
        self._is_stopping = False
        _broken.append(loop)
        del _broken[:-4]


_call_soon_threadsafe = asyncio.SelectorEventLoop.call_soon_threadsafe  # a loop may have been given another one
_broken = []  # kept from being collected, which would warn of pending tasks and close descriptors


@turn
def _turn(loop):
    events._set_running_loop(None)  # a cell may have said that another one runs
    loop.run_forever()


def _current_loop():
    """The loop that cells have used so far without awaiting, made by the policy: what they made belongs to it (to 3.9)."""
    local = getattr(events.get_event_loop_policy(), '_local', None)
    loop = getattr(local, '_loop', None)
    if isinstance(loop, asyncio.SelectorEventLoop) and loop not in _broken and not loop.is_closed() and not loop.is_running():
        return loop
    return None
