"""One execute from its arrival to its `done`; and to which of them the running code belongs.

A contextvar labels code with its execution: it is set before a cell's code and before each step of a cell that awaits, and what a cell
starts on the loop inherits it, as threads do (thread_labels.py).
"""

from contextvars import ContextVar

from . import frames, limits

current = ContextVar('holdfast_cell', default=None)  # the Execution whose code runs; may have ended when a task outlives its cell


class Execution:
    __slots__ = ('cell', 'generation', 'code', 'timeout', 'output_limit', 'background_after', 'leaves', 'started_at', 'began', 'deadline', 'kill_at',
                 'requested', 'delivered', 'cancels', 'has_stepped', 'is_forced', 'task', 'outcome', 'output', 'display_count', 'is_done', 'request')

    def __init__(self, message):
        get = message.get
        self.cell = cell = get('cell')
        self.generation = generation = get('generation')
        self.code = code = get('code')
        timeout = get('timeout_ms', 0)
        background = get('background_after_ms', 0)
        self.output_limit = limit = get('output_limit', limits.OUTPUT_LIMIT)
        if (type(cell) is not str or type(code) is not str or not _is_whole(generation) or not _is_whole(timeout) or not _is_whole(limit)
                or not _is_whole(background)):
            raise frames.BadFrame('execute: a field is missing or of a wrong kind')
        self.timeout = timeout / 1000.0
        self.background_after = background / 1000.0  # from its start; 0: it stays in the foreground
        self.leaves = False  # that time has come: it goes to the background once it awaits
        self.started_at = 0  # Unix milliseconds
        self.began = 0.0  # monotonic, as the two below
        self.deadline = None  # when it is interrupted
        self.kill_at = None  # when it takes its kernel along; set with the first interrupt
        self.requested = None  # 'interrupt' or 'timeout', once one was asked for
        self.delivered = False  # KeyboardInterrupt was raised in it, or its task was cancelled
        self.cancels = 0  # how often the loop was asked to cancel its task
        self.has_stepped = False  # its task has taken a step since it was cancelled
        self.is_forced = False  # its coroutine was to be cancelled without its task
        self.task = None  # its asyncio task, if it awaits
        self.outcome = None  # how its task ended
        self.output = None  # what is counted of its output
        self.display_count = 0
        self.is_done = False  # its `done` was made
        self.request = None  # the requests.Request that runs in its place

    @property
    def is_interrupt_due(self):
        return self.requested is not None and not self.delivered


def of_request(request, now):
    """A request as what holds the main thread: interrupted like a cell after REQUEST_SECONDS, or sooner."""
    seconds = limits.FORK_SECONDS if request.message.get('what') == 'fork' else limits.REQUEST_SECONDS
    stand_in = Execution({'cell': 'request ' + request.id, 'generation': 0, 'code': ''})
    stand_in.request = request
    stand_in.began = now
    stand_in.deadline = now + seconds
    return stand_in


def _is_whole(value):
    return type(value) is int and value >= 0
