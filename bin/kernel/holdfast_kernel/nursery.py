"""A nursery: forks kernels on request, keeps them, and reports how they ended.

Single-threaded: one epoll over its link, its kernels' pidfds and SIGCHLD. Collaborators: Link, spawning, reaper.
"""

import os
import select
import signal
import time

from . import adoption, failpoints, frames, limits, pipe_readers, places, sockets, spawning, system
from .oom import OomCounter
from .overdue import Overdue
from .reaper import Ending, exit_record, reserve_exit, write_exit


class Nursery:
    def __init__(self, config, log, become):
        """`become(spec, listener, pipes)` makes a forked child the kernel; it does not return."""
        self._program = config['program']
        self._path = config['directory']
        # To see that it was removed: nobody can reach the socket that was in it. (A moved one is there.)
        self._directory = os.open(config['directory'], os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._idle_limit = config['idle_ms'] / 1000.0
        self._log = log
        self._become = become
        self.poller = select.epoll()
        self._link = None
        self._children = {}  # kernel id -> Child, alive or ending
        self._by_pidfd = {}  # pidfd -> Child, alive
        self._unreserved = []  # directories of children in which there is no room reserved for an exit file yet
        self._endings = []  # Ending of each dead kernel that is not done with
        self._shutdown = False  # ends as soon as it is childless
        self._overdue = Overdue(log)
        self._oom = OomCounter()
        self._detached_since = time.monotonic()  # None while a daemon is attached
        self._idle_since = None  # since when it has had neither child nor daemon; None while it has one

    def serve(self, link):
        """Serves until idle for long enough."""
        self._link = link
        wake_reader, wake_writer = os.pipe()
        for fd in (wake_reader, wake_writer):
            os.set_blocking(fd, False)
        signal.signal(signal.SIGCHLD, system.ignore_signal)
        signal.set_wakeup_fd(wake_writer, warn_on_full_buffer=False)
        self.poller.register(wake_reader, select.EPOLLIN)
        self._reap_adopted()
        while not self._is_finished():
            for fd, events in self.poller.poll(self._timeout()):
                if fd == wake_reader:
                    os.read(wake_reader, 4096)
                    self._reap_adopted()
                elif fd in self._by_pidfd:
                    self._on_death(fd)
                else:
                    link.handle(fd, events)
            self._advance_endings()
            self._listen_again()
            link.flush()
            while self._unreserved:  # once the spawn is answered
                reserve_exit(self._unreserved.pop())

    def _listen_again(self):
        """Makes the socket's file again if it was removed: no kernel could be forked any more."""
        if self._link.is_attached:
            return
        listener = sockets.made_again(self._directory, 'nursery.sock')
        if listener is not None:
            self._link.replace_listener(listener)
            self._log.write('socket-removed nursery.sock: made again')

    def _is_finished(self):
        if self._children:
            self._idle_since = None
            return False
        if os.fstat(self._directory).st_nlink == 0:
            self._log.write('nursery-ended its directory was removed')
            return True
        if self._shutdown:
            self._log.write('nursery-ended shutdown')
            return True
        now = time.monotonic()
        if self._link.is_attached:
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = now
        elif now - self._idle_since >= self._idle_limit:
            self._log.write('nursery-ended idle for %d ms' % (self._idle_limit * 1000))
            return True
        return False

    def _timeout(self):
        """Seconds for the poller; None for ever."""
        now = time.monotonic()
        timeouts = [self._link.expire(now), self._overdue.look(self._alive(), self._detached_since)]
        if self._endings:
            timeouts.append(limits.LADDER_TICK)
        if not self._link.is_attached:
            timeouts.append(limits.DETACHED_CHECK)
        if self._idle_since is not None:
            timeouts.append(max(0.0, self._idle_since + self._idle_limit - now) + 0.001)
        return min((timeout for timeout in timeouts if timeout is not None), default=None)

    # Requests.

    def on_message(self, seq, message):
        kind = message['type']
        if kind == 'spawn':
            self._on_spawn(message)
        elif kind == 'kill':
            child = self._children.get(message.get('kernel'))
            if child is not None:
                child.handle.kill()
        elif kind == 'shutdown':
            self._shutdown = True
        else:
            self.on_bad_frame(seq, 'unknown type %.40s' % kind)

    def on_bad_frame(self, seq, text):
        self._push({'type': 'bad_frame', 'seq': seq, 'message': text})

    def _push(self, message):
        self._link.window.push(frames.to_payload(message), must=True)

    def _on_spawn(self, message):
        kernel = message.get('kernel')
        child = self._children.get(kernel) if type(kernel) is str else None
        if child is None:
            try:
                if failpoints.active is not None:
                    failpoints.active.hit('nursery.before_spawn')
                child = self._fork(spawning.check(message, self._program, places.directory_now(self._path, self._directory)))
            except (spawning.SpawnFailed, failpoints.FailpointError) as error:
                self._log.write('spawn-failed %.128s: %s' % (kernel, error))
                self._push({'type': 'spawn_failed', 'kernel': kernel if type(kernel) is str else '', 'message': str(error)})
                return
        self._push({'type': 'spawned', 'kernel': child.kernel, 'pid': child.pid, 'start_time': child.start_time})

    def _fork(self, spec):
        child = spawning.fork(spec, self._become)
        self._keep(child)
        self._log.write('kernel-spawned %s pid %d' % (child.kernel, child.pid))
        if failpoints.active is not None:
            try:
                failpoints.active.hit('nursery.after_fork')
            except failpoints.FailpointError:
                child.handle.kill()
                raise
        return child

    def _keep(self, child):
        self._children[child.kernel] = child
        self._by_pidfd[child.handle.fd] = child
        self.poller.register(child.handle.fd, select.EPOLLIN)
        self._unreserved.append(child.directory)

    def answer_first(self, payload, connection):
        """The answer to a kernel that asks for something; None if the first frame is none of those."""
        try:
            message = frames.from_payload(payload)
        except frames.BadFrame:
            return None
        act = {'adopt': self._adopt, 'pipes': self._keep_pipes}.get(message['type'])
        if act is None:
            return None
        try:
            return act(message, connection)
        except spawning.SpawnFailed as error:
            self._log.write('%s-refused %s' % (message['type'], error))
            return {'type': 'refused', 'reason': 'bad_attach', 'message': str(error)}

    def _adopt(self, message, connection):
        child = adoption.child_of(message, connection, self._children)
        self._keep(child)
        self._log.write('kernel-adopted %s pid %d' % (child.kernel, child.pid))
        self._push({'type': 'spawned', 'kernel': child.kernel, 'pid': child.pid, 'start_time': child.start_time})
        return {'type': 'adopted', 'kernel': child.kernel, 'pid': child.pid}

    def _keep_pipes(self, message, connection):
        pipe_readers.keep(message, connection, self._children)
        return {'type': 'kept'}

    # Deaths.

    def _on_death(self, pidfd):
        child = self._by_pidfd.pop(pidfd)
        self.poller.unregister(pidfd)
        self._log.write('kernel-died %s pid %d' % (child.kernel, child.pid))
        self._endings.append(Ending(child, self._kernel_pids, time.monotonic(), self._log))

    def _alive(self):
        return {child.kernel: child for child in self._by_pidfd.values()}

    def _kernel_pids(self):
        return {child.pid for child in self._children.values()}

    def _advance_endings(self):
        if not self._endings:
            return
        now = time.monotonic()
        for ending in [ending for ending in self._endings if ending.advance(now)]:
            self._endings.remove(ending)
            self._finish(ending)
        self._reap_adopted()  # also after the last one: its kernel hid what it left behind

    def _finish(self, ending):
        """Nothing is left of the kernel: its exit file, then its number is given back, then the daemon hears of it."""
        child = ending.child
        status = os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        record = exit_record(ending, status, self._oom)
        try:
            if failpoints.active is not None:
                failpoints.active.hit('nursery.before_exit_written')
            write_exit(child.directory, record)
            if failpoints.active is not None:
                failpoints.active.hit('nursery.after_exit_written')
        except (OSError, failpoints.FailpointError) as error:
            self._log.write('exit-not-written kernel %s: %s' % (child.kernel, error))
        os.waitpid(child.pid, 0)
        child.close()
        del self._children[child.kernel]
        self._push(dict(record, type='exited'))

    def _reap_adopted(self):
        """Takes the status of dead processes that came to us because a kernel or its child died."""
        kernels = self._kernel_pids()
        while True:
            try:
                status = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT | os.WNOHANG)
            except ChildProcessError:
                return
            if status is None or status.si_pid in kernels:
                return  # a dead kernel hides the others until it is reaped itself; they are looked for again then
            os.waitpid(status.si_pid, 0)

    # What the link reports.

    def hello_state(self):
        return [], [], 0

    def on_attached(self, attach):
        self._detached_since = None

    def on_lost(self):
        self._detached_since = time.monotonic()

    def on_acked(self, acked):
        pass

    def on_accept_failed(self, error):
        self._log.write('accept-failed %s' % error)
        system.raise_descriptor_limit()
        time.sleep(0.05)  # the listener stays readable: do not spin
