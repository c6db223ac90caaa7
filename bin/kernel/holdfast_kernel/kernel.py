"""A kernel: runs cells one after the other in the main thread and serves its link meanwhile.

Collaborators: Link (frames), Output (what cells write), Runner (code), Interrupts (SIGINT), LinkThread (who owns the link), Spool.
Everything here but `on_fork_in_child`, `notify_output` and `send_displays` is called by the owner of the link only.
"""

import os
import select
import signal
from collections import OrderedDict, deque

from time import monotonic, time as wall_clock  # bound here: a cell may replace those of the module

from . import failpoints, frames, limits, polling, strays, system
from .cells import Outcome
from .delivery import Delivery
from .execution import Execution, of_request
from .last_words import end_forked_child, end_process, end_without_link
from .link_thread import LinkThread
from .outbox import Outbox
from .pump import Pump
from .requests import Request, Requests
from .watch import Watch


def _milliseconds():
    return int(wall_clock() * 1000)


class Kernel:
    def __init__(self, spec, descriptors, output, displays, streams, runner, interrupts, spool, jobs, log):
        self._descriptors = descriptors
        self._output = output
        self._displays = displays
        self._streams = streams
        self._runner = runner
        self._interrupts = interrupts
        self._spool = spool
        self._jobs = jobs
        self._log = log
        self._grace = spec['first_grace_ms'] / 1000.0  # until the first attach; then the daemon's
        self._watch = Watch(interrupts, runner.awaiting, spec['interrupt_grace_ms'] / 1000.0)
        self._detached_since = monotonic()  # None while a daemon is attached
        self._queue = deque()  # executions received and not started, in order
        self._background = interrupts.background  # cell -> Execution that awaits while others run
        self._executing = None  # the Execution that holds the main thread
        self.last_generation = 0  # highest one received
        self._kept = OrderedDict()  # generation -> payload of its done, the last KEPT_RESULTS
        self._unchecked = 0  # cells since descriptors and children were looked at, at least 1 if there may be something to see
        self._shutdown = None  # (exit code, why) once this kernel shall end
        self._strays = strays.Watch()
        self.poller = polling.Poller()
        self._thread = LinkThread(self.poller, self._drive, lambda error: end_without_link(log, error))
        self._link = self._window = self._delivery = self._pump = None  # set by use_link
        self.requests = Requests(lambda payload: self._window.push(payload, must=True), log)
        self.last_request = Request('', {}, lambda _message: None)  # saves the namespace at the end of the grace, if it is to be
        self._outbox = Outbox(self._thread, lambda: self._link.flush())
        jobs.use(self._outbox, lambda: self._delivery, self.requests)

    def serve(self, link, first=None):
        """Serves until this kernel ends; does not return. `first`: a Request that nobody made, before all else."""
        self.use_link(link)
        self._thread.start()
        if first is not None:
            self._outcome_of(first)
        while True:
            self.turn(None)

    def use_link(self, link):
        self._link, self._window = link, link.window
        self._delivery = Delivery(link.window, self._spool, self._log)
        self._pump = Pump(self._output, self._displays, link.window, self.poller)

    def turn(self, patience):
        """Runs the cells that wait, then waits for events and serves them: `patience` seconds at most, or None."""
        while self._queue or self.requests.waiting:
            if self.requests.waiting:  # they came first: later they would have been refused
                request = self.requests.waiting.popleft()
                self.requests.finish(request, *self._outcome_of(request))
                self._link.flush()
            else:
                self._run(self._queue.popleft())
        if self._background:
            return self._await_background()
        if self._shutdown is not None:
            self._end(*self._shutdown)
        if self._unchecked:
            # Not at once: the next cell of a quick sequence would wait for it.
            if self._unchecked < limits.CHECK_CELLS and self._step(limits.CHECK_DELAY if patience is None else patience):
                return
            self._check_descriptors()
            self._pump.watch_pipes()
        self._step(self._idle_timeout() if patience is None else patience)

    def notify_output(self):
        """Output is there to be sent; called under the output's lock, from any thread."""
        if self._thread.is_driving or self._executing is None:  # the owner sleeps, perhaps
            self._thread.wake()

    def send_displays(self):
        self._outbox.hasten(lambda: self._pump.pump(limits.OUTPUT_WINDOW))

    # Cells, on the main thread.

    def _run(self, execution):
        self._executing = execution
        execution.started_at = _milliseconds()
        self._delivery.push('started', frames.started_payload(execution.cell, execution.generation, execution.started_at))
        self._descriptors.put_streams_right()
        execution.output = self._output.begin(execution.cell, execution.output_limit)
        self._streams.install()
        interrupts = self._interrupts
        interrupts.install()
        interrupts.begin(execution)
        execution.began = monotonic()
        if execution.timeout:
            execution.deadline = execution.began + execution.timeout
        if execution.requested is not None:
            interrupts.retry()
        self._spool.mark_busy(None if execution.deadline is None or self._background else execution.deadline + self._watch.grace)
        self._thread.lend()
        outcome = self._runner.run(execution, self._is_wanted)
        while outcome is None and not execution.leaves:
            self._take_back(None)
            self._finish_background()
            self._thread.lend()
            outcome = self._runner.go_on(execution, self._is_wanted)
        if outcome is None:
            self._background[execution.cell] = execution
        interrupts.end()
        self._take_back(outcome)
        system.keep_recursion_usable()
        if outcome is not None:
            self._finish(execution, outcome)
        else:
            self._window.push(frames.to_payload({'type': 'background', 'cell': execution.cell}))
            self._spool.mark_busy(None)
        self._executing = None
        self._finish_background()
        if not self._link.attached_is_own():
            self._link.drop('a cell closed its descriptor')
        self._link.flush()
        self._output.part()
        self._unchecked += 1

    def _outcome_of(self, request):
        """In a cell's place: interrupted at its deadline, the link served meanwhile, the kernel ended if that does not help."""
        self._executing = stand_in = of_request(request, monotonic())
        self._interrupts.install()
        self._interrupts.begin(stand_in)
        self._thread.lend()
        outcome = self.requests.outcome(request)
        self._interrupts.end()
        self._take_back(None)
        self._executing = None
        self._unchecked += 1
        return outcome

    def _save_last(self):
        """At the end of the grace. False if a daemon came meanwhile."""
        self._outcome_of(self.last_request)
        return self._detached_since is not None and not self._queue

    def _is_wanted(self):
        """Whether the main thread has more to do than to await what it awaits."""
        executing = self._executing
        if executing.leaves if executing is not None else self._queue:
            return True
        return any(execution.outcome is not None for execution in self._background.values())

    def _await_background(self):
        """Nothing is to be run: the cells in the background have the main thread, the link thread serves the link."""
        self._check_descriptors()
        self._interrupts.install()
        self._thread.lend()
        self._runner.go_on(None, self._is_wanted)
        self._take_back(None)
        self._finish_background()
        self._link.flush()
        self._output.part()

    def _take_back(self, outcome):
        """The main thread is the owner of the link again. A child of a fork in a cell, or in a value that is restored, ends here,
        with the outcome of that cell."""
        if not self._output.is_here[0]:
            if not self._interrupts.forked:
                self.on_fork_in_child()  # a library forked, and Python was not told
            ended = [outcome] + [one.outcome for one in self._background.values()]
            end_forked_child(next((one for one in ended if one is not None), Outcome('ok')))
        self._thread.take_back()

    def _finish_background(self):
        """Makes the `done` of those that have ended in the background."""
        for execution in [one for one in self._background.values() if one.outcome is not None]:
            del self._background[execution.cell]
            self._finish(execution, execution.outcome)
        if self._executing is None and not self._background:
            self._spool.mark_idle()

    def _finish(self, execution, outcome, **more):
        """Makes the `done` of a cell and what has to precede it, ready to be sent."""
        duration = monotonic() - execution.began
        execution.is_done = True
        self._outbox.serve()  # what the cell did with its jobs
        counted = self._output.finish(execution.output)
        if self._output.has_unsent() or self._displays.has_pending():
            self._pump.pump(limits.WINDOW_BYTES, is_last=True)
        message = {'type': 'done', 'cell': execution.cell, 'generation': execution.generation, 'status': outcome.status,
                   'value': outcome.value, 'error': outcome.error, 'exit_code': outcome.exit_code, 'started_at': execution.started_at,
                   'finished_at': _milliseconds(), 'duration_ms': int(duration * 1000), 'displays': execution.display_count}
        message.update(counted)
        message.update(more)
        payload = frames.to_payload(message)
        self._kept[execution.generation] = payload
        if len(self._kept) > limits.KEPT_RESULTS:
            self._kept.popitem(False)
        self._delivery.push('done', payload)

    # The link, on the owner's thread.

    def _step(self, timeout):
        """Waits for events, at most that many seconds (None: for ever), and serves them; whether there were any."""
        drained = lost = False
        self._outbox.serve()
        happened = self.poller.poll(timeout if not timeout else int(timeout * 1000) + 1)
        for fd, events in happened:
            lost = lost or events & select.POLLNVAL
            if self._link.handle(fd, events):
                continue
            if fd == self._thread.wake_fd:
                if not events & select.POLLNVAL:
                    self._thread.clear_wake()
            elif not drained:
                drained = True
                self._output.drain()
                self._unchecked = self._unchecked or 1  # perhaps the end of a process that wrote there
        if lost:
            self._check_descriptors()
        if not self._queue and self._executing is None:  # else the cell's own frames, or _drive, carry output and ack
            self._output.rearm()
            self._pump.pump(limits.OUTPUT_WINDOW)
            self._link.flush()
            self._pump.watch_pipes()
        return bool(happened)

    def _check_descriptors(self):
        self._unchecked = 0
        self._strays.look(monotonic())
        try:
            self._descriptors.check(self._link, self._thread)
        except OSError as error:
            self._end(1, 'its descriptors were closed and cannot be rebuilt: %s' % error)

    def _idle_timeout(self):
        now = monotonic()
        timeout = self._strays.timeout(now, self._link.expire(now))
        if self._detached_since is None:
            return timeout
        left = self._detached_since + self._grace - now
        if self._descriptors.directory_is_gone():
            self._end(0, 'its run directory was removed')
        self._descriptors.listen_again(self._link)
        if left <= 0 and self._jobs.hold_kernel():
            left = limits.DETACHED_CHECK
        if left <= 0:
            if self._shutdown is None and self._save_last():
                self._end(0, 'nothing attached for %d ms' % (self._grace * 1000))
            return 0
        return min(limits.DETACHED_CHECK, left) if timeout is None else min(limits.DETACHED_CHECK, left, timeout)

    def _drive(self):
        """On the link thread: serves the link while a cell runs, and keeps the cell's deadline."""
        thread = self._thread
        while not thread.is_wanted_back:
            made = self._pump.pump(limits.OUTPUT_WINDOW)
            self._link.flush()
            if made and not self._output.is_flooded:
                # A cell that goes on writing is looked at now and then: to be woken by each line would slow it down.
                thread.nap(limits.OUTPUT_NAP)
            else:
                self._output.rearm()
                made = self._pump.pump(limits.OUTPUT_WINDOW)  # what was written before the rearming
            self._pump.watch_pipes()
            now = monotonic()
            timeout = self._watch_cells(now)
            pending = self._link.expire(now)
            if pending is not None:
                timeout = min(timeout, pending)
            if self._detached_since is not None and self._descriptors.directory_is_gone():
                self._jobs.end_all()
                os._exit(0)
            self._step(0 if made else timeout)

    def _watch_cells(self, now):
        """Keeps deadlines, ends the kernel with a cell that does not end; seconds until it must look again."""
        timeout, doomed = self._watch.look(now, self._executing)
        if doomed is not None:
            self._end_with_cell(doomed)
        return timeout

    def _end_with_cell(self, execution):
        """The cell goes on in spite of its interrupt: its result is written, then the kernel kills itself."""
        outcome = execution.outcome or Outcome.killed(execution.requested, self._watch.grace, execution is self._executing)
        self._log.write('cell-killed %s' % (outcome.error or {}).get('message', 'the event loop did not end with its cell'))
        if execution.request is not None:
            self.requests.refuse(execution.request.id, 'failed', outcome.error['message'])
        else:
            self._finish(execution, outcome, kernel_ended=True)
        self._link.flush_for(limits.LAST_WORDS)
        os.kill(os.getpid(), signal.SIGKILL)

    def _end(self, code, why):
        """The end of a kernel that ends by itself: its jobs first."""
        self._jobs.end_all()
        self._outbox.serve()
        self._link.flush_for(limits.LAST_WORDS)
        end_process(self._log, code, why)

    # What the link reports.

    def hello_state(self):
        executing = [] if self._executing is None or self._executing.request is not None else [self._executing]
        cells = list(self._background.values()) + executing + list(self._queue)
        return [{'cell': one.cell, 'generation': one.generation} for one in cells], self._jobs.live(), self._output.dropped

    def on_attached(self, attach):
        self._grace = attach.grace
        self._detached_since = None
        self._output.is_attached = True

    def on_lost(self):
        self._detached_since = monotonic()
        self._output.is_attached = False

    def on_acked(self, acked):
        self._spool.acknowledge(acked)

    def on_bad_frame(self, seq, text):
        self._window.push(frames.to_payload({'type': 'bad_frame', 'seq': seq, 'message': text}), must=True)

    def on_message(self, seq, message):
        try:
            kind = message['type']
            if kind == 'execute':
                self._on_execute(message)
            elif kind == 'request':
                self.requests.on_request(message, bool(self.hello_state()[0]))
            elif kind == 'interrupt':
                reason = 'timeout' if message.get('reason') == 'timeout' else 'interrupt'
                if not self._interrupts.request(message.get('cell'), reason):
                    # It may have come in one piece with its execute, before the cell could begin.
                    for execution in self._queue:
                        if execution.cell == message.get('cell'):
                            execution.requested = reason
            elif kind == 'shutdown':
                self._shutdown = (0, 'shutdown: %.200s' % message.get('reason', ''))
                self._queue.clear()
                for execution in list(self._background.values()) + [self._executing]:
                    if execution is not None:
                        self._interrupts.request(execution.cell, 'interrupt')
            else:
                raise frames.BadFrame('unknown type %.40s' % kind)
        except frames.BadFrame as error:
            self._log.write('bad-frame frame %d: %s' % (seq, error))
            self.on_bad_frame(seq, str(error))

    def _on_execute(self, message):
        execution = Execution(message)
        if failpoints.active is not None:
            try:
                failpoints.active.hit('kernel.after_execute_received')
            except failpoints.FailpointError as error:
                raise frames.BadFrame('failpoint %s' % error)
        if execution.generation > self.last_generation:
            self.last_generation = execution.generation
            self._queue.append(execution)
            if self._executing is None:
                self._runner.awaiting.leave()
            return
        payload = self._kept.get(execution.generation)
        if payload is not None:
            self._delivery.push('done', payload)

    def on_accept_failed(self, error):
        """A cell may have lowered the limit of descriptors: raised again if it can be; a kernel that nobody can reach ends."""
        if system.raise_descriptor_limit():
            return
        self._link.stop_listening()
        if self._shutdown is None:
            self._shutdown = (1, 'cannot accept a connection: %s' % error)

    def on_fork_in_child(self):
        """The child of a fork in a cell keeps nothing of the kernel's."""
        self._interrupts.forked = True
        self._output.become_forked_child()
        self._jobs.become_forked_child()
        self._link.abandon()
        self._thread.abandon()
        self._runner.awaiting.become_forked_child()
        self._descriptors.abandon(self._output.pipe_fds())
