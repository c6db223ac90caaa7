"""Deadlines and interrupts of the cells that run: on the thread that serves the link meanwhile, so no cell can hold them up.

Decides and asks; who is past all patience is returned to the caller, which ends the kernel with it.
"""

from . import limits


class Watch:
    __slots__ = ('_interrupts', '_awaiting', 'grace', '_ended', '_ended_at')

    def __init__(self, interrupts, awaiting, grace):
        self._interrupts = interrupts
        self._awaiting = awaiting
        self.grace = grace  # seconds that an interrupted cell has to end
        self._ended = None  # the Execution that was seen to have its outcome while the loop still turned for it
        self._ended_at = 0.0  # when that was first seen, monotonic

    def look(self, now, executing):
        """(seconds until it must look again, the Execution that did not end or None). `executing`: holds the main thread, or None."""
        timeout = limits.BUSY_TICK
        for execution in [executing] + list(self._interrupts.background.values()):
            if execution is None:
                continue
            if execution.outcome is not None:
                if execution is executing and self._is_unheard(execution, now):
                    return 0, execution
                continue
            if execution is executing and self._interrupts.foreground is not execution:
                continue  # its code has ended just now
            self._make_due(execution, now)
            if execution.requested is None:
                timeout = min(timeout, self._until_next(execution, now))
                continue
            # One that awaits while another holds the main thread is not to blame before it was cancelled.
            if execution.kill_at is None and (execution is executing or executing is None or execution.delivered):
                execution.kill_at = now + self.grace
            if execution.kill_at is not None:
                if now >= execution.kill_at:
                    return 0, execution
                timeout = min(timeout, execution.kill_at - now)
                if execution.delivered and execution.task is not None and not execution.is_forced:
                    if now >= execution.kill_at - self.grace / 4:
                        execution.is_forced = True
                        self._awaiting.force(execution)
                    else:
                        timeout = min(timeout, execution.kill_at - self.grace / 4 - now)
            if not execution.delivered:
                self._interrupts.retry()
                timeout = min(timeout, limits.INTERRUPT_RETRY)
        return timeout, None

    def _is_unheard(self, execution, now):
        """Whether the loop goes on turning, past all patience, for a cell that has ended. It is told again before."""
        if self._ended is not execution:
            self._ended, self._ended_at = execution, now
        elif self._awaiting.is_running and now >= self._ended_at + limits.BUSY_TICK:
            self._awaiting.halt(execution)
            if now >= self._ended_at + self.grace / 2:  # code of another task holds the loop
                self._interrupts.retry()
            return now >= self._ended_at + limits.BUSY_TICK + self.grace
        return False

    def _make_due(self, execution, now):
        if execution.deadline is not None and now >= execution.deadline:
            self._interrupts.request(execution.cell, 'timeout')
        if self._may_leave(execution) and now >= execution.began + execution.background_after:
            execution.leaves = True
            self._awaiting.leave()

    def _until_next(self, execution, now):
        timeout = limits.BUSY_TICK if execution.deadline is None else execution.deadline - now
        if self._may_leave(execution):
            timeout = min(timeout, execution.began + execution.background_after - now)
        return max(0.0, timeout)

    def _may_leave(self, execution):
        """Whether it is to go to the background once its time has come."""
        return (execution.background_after and execution.task is not None and not execution.leaves and execution.requested is None
                and len(self._interrupts.background) < limits.BACKGROUND_CELLS)
