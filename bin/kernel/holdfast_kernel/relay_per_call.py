"""A cell without a kernel on this machine: the operations `per_call` and `per_call_order` of a relay.

The first attends the interpreter of per_call.py from its start to its end, within its one command, and ends it at its deadline; without a
source it only sees that one runs here. The second tells such a relay to interrupt or to kill. With the relay goes the interpreter.
"""

import codecs
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import time

from . import frames, limits, processes, relay_spawn, sockets
from .relay import run_directory

_ORDERS = 'orders.sock'
_STREAMS = ('stdout', 'stderr')


def per_call(head, home, rest):
    """ready, without a source; refused: nothing ran; ended: with its output as frames."""
    source = [frame.payload for frame in frames.Decoder().feed(rest)]
    directory = run_directory(home, {'kernel': head['call']})
    try:
        process, channel = _started(head, home)
    except (relay_spawn.SpawnRefused, OSError) as error:
        return {'type': 'refused', 'message': str(error)}, b''
    attendant = _Attendant(process, channel, head, source[0] if source else None)
    try:
        os.makedirs(directory, 0o700)
        attendant.orders = sockets.listen(directory, _ORDERS)
        return attendant.attend()
    except OSError as error:
        if attendant.has_begun:
            raise
        return {'type': 'refused', 'message': str(error)}, b''
    finally:
        attendant.end()
        shutil.rmtree(directory, ignore_errors=True)


def order(head, home, _rest):
    """`state`: taken, or absent where no such relay listens, yet or any more."""
    try:
        connection = sockets.connect(run_directory(home, {'kernel': head['call']}), _ORDERS, limits.RELAY_HANDSHAKE)
        if not sockets.peer_is_trusted(connection):
            raise PermissionError('another user listens there')
        connection.sendall(head['order'].encode())
        taken = connection.recv(1) == b'.'
        connection.close()
    except OSError:
        taken = False
    return {'type': 'ordered', 'state': 'taken' if taken else 'absent'}, b''


def _started(head, home):
    environment = relay_spawn.environment_of(head)
    python = relay_spawn.interpreter_of(head, environment)
    with open(os.path.join(os.path.dirname(home), 'program', head['program'], 'per_call.py')) as file:
        text = file.read()
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen([python, '-c', text], stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
                                   cwd=head['cwd'] or environment.get('HOME') or '/', start_new_session=True)
    return process, ours


class _Output:
    """Bytes of two pipes become pieces of text with offsets: the first RELAY_OUTPUT bytes, and of what is beyond the newest of each."""

    def __init__(self):
        self._decoders = [codecs.getincrementaldecoder('utf-8')('replace') for _ in _STREAMS]
        self._newest = [b'', b'']
        self._kept = []
        self.bytes = [0, 0]

    def add(self, which, data, final=False):
        text = self._decoders[which].decode(data, final)
        size = len(text.encode())
        at = sum(self.bytes)
        self.bytes[which] += size
        if not size:
            return
        if at < limits.RELAY_OUTPUT:
            if not self._kept or self._kept[-1][0] != which:
                self._kept.append((which, at, []))
            self._kept[-1][2].append(text)
        else:
            self._newest[which] = (self._newest[which] + text.encode())[-limits.TAIL:]

    def finish(self):
        for which in (0, 1):
            self.add(which, b'', True)
        end, kept = sum(self.bytes), len(self._kept)
        for which in (1, 0):
            text = self._newest[which].decode('utf-8', 'ignore')
            end -= len(text.encode())
            if text:
                self._kept.insert(kept, (which, end, [text]))
        said = ({'type': 'output', 'cell': '', 'stream': _STREAMS[which], 'offset': at, 'text': ''.join(texts)}
                for which, at, texts in self._kept)
        return b''.join(frames.encode(1, 0, frames.to_payload(each)) for each in said)


class _Attendant:
    """One interpreter, from its `ready` to its end."""

    def __init__(self, process, channel, head, source):
        self.orders = None  # where a relay of `order` connects
        self.has_begun = False
        self._process = process
        self._handle = processes.Handle(process.pid)
        self._channel = channel
        self._pipes = {process.stdout.fileno(): 0, process.stderr.fileno(): 1}
        self._source = source
        self._grace = head['interrupt_grace_ms'] / 1000.0
        self._timeout = head['timeout_ms'] / 1000.0
        self._unsent = b''
        self._said = b''  # on the channel: before the begin `ready`
        self._output = _Output()
        self._deadline = None
        self._kill_at = time.monotonic() + limits.RELAY_PER_CALL_START
        self._timed_out = False
        self._is_closed = False  # the channel
        channel.setblocking(False)
        for pipe in self._pipes:
            os.set_blocking(pipe, False)

    def attend(self):
        while not self._handle.is_dead():
            self._wait()
            self._exchange()
            self._read_pipes()
            if not self.has_begun and self._said == b'ready\n':
                if self._source is None:
                    return {'type': 'ready'}, b''
                self._begin()
            self._keep_time()
        self._exchange()
        self._read_pipes()
        code = self.end()
        self._read_pipes()  # what its children wrote until they were killed
        if not self.has_begun:
            return {'type': 'refused', 'message': 'its interpreter ended before it was ready, or was not ready in time'}, b''
        data = self._output.finish()
        reply = self._said.partition(b'\n')[0].decode('utf-8', 'replace') if self._has_replied() else None
        out_bytes, err_bytes = self._output.bytes
        return {'type': 'ended', 'reply': reply, 'exit_code': code, 'timed_out': self._timed_out, 'stdout_bytes': out_bytes,
                'stderr_bytes': err_bytes}, data

    def end(self):
        """Kills what is left of its group while its leader pins the number; the exit code, minus a signal's number."""
        if self._process.returncode is None:
            self._kill()
        code = self._process.wait()
        self._handle.close()
        return code

    def _wait(self):
        poll = select.poll()
        for fd in (self._handle.fd, self.orders.fileno(), *self._pipes):
            poll.register(fd, select.POLLIN)
        poll.register(1, 0)  # nobody reads the answer any more
        if not self._is_closed:
            poll.register(self._channel, select.POLLIN | (select.POLLOUT if self._unsent else 0))
        next_at = [at for at in (self._deadline, self._kill_at) if at is not None]
        ready = dict(poll.poll(max(0, min(next_at) - time.monotonic()) * 1000 + 1 if next_at else None))
        if 1 in ready:
            self._kill()
        if self.orders.fileno() in ready:
            self._take_order()

    def _take_order(self):
        try:
            fd, _ = self.orders._accept()
        except OSError:
            return
        with socket.socket(fileno=fd) as connection:
            connection.settimeout(limits.RELAY_ORDER)
            try:
                word = connection.recv(16) if sockets.peer_is_trusted(connection) else b''
                if word == b'interrupt':
                    if not self.has_begun:
                        return  # nothing is there to be interrupted yet: asked again
                    self._interrupt()
                elif word == b'kill':
                    self._kill()
                connection.sendall(b'.')
            except OSError:
                pass

    def _begin(self):
        self.has_begun = True
        self._kill_at = None
        self._said = b''
        self._unsent = struct.pack('>I', len(self._source)) + self._source
        if self._timeout:
            self._deadline = time.monotonic() + self._timeout

    def _has_replied(self):
        return self.has_begun and b'\n' in self._said

    def _exchange(self):
        had_replied = self._has_replied()
        try:
            if self._unsent:
                self._unsent = self._unsent[self._channel.send(self._unsent, socket.MSG_NOSIGNAL):]
            while not self._is_closed:
                data = self._channel.recv(limits.READ_SIZE)
                self._is_closed = not data
                self._said += data[:limits.RELAY_REPLY - len(self._said)]
        except BlockingIOError:
            pass
        except OSError:
            self._is_closed = True  # its end tells
        if self._has_replied() and not had_replied:
            # The outcome is known: what it does at its end has as long as an interrupted cell.
            self._deadline = None
            self._kill_after_grace()

    def _read_pipes(self):
        for _round in range(16):  # a flood does not keep from orders and clocks
            more = False
            for pipe, which in list(self._pipes.items()):
                try:
                    data = os.read(pipe, limits.PIPE_READ)
                except BlockingIOError:
                    continue
                except OSError:
                    data = b''
                if not data:
                    del self._pipes[pipe]
                    continue
                more = True
                if self.has_begun:  # what was written before is not the cell's
                    self._output.add(which, data)
            if not more:
                return

    def _interrupt(self):
        if not self._has_replied():
            self._handle.kill(signal.SIGINT)
            self._kill_after_grace()

    def _kill_after_grace(self):
        """A second interrupt does not put it off."""
        if self._kill_at is None:
            self._kill_at = time.monotonic() + self._grace

    def _kill(self):
        self._kill_at = None
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def _keep_time(self):
        now = time.monotonic()
        if self._deadline is not None and self._deadline <= now:
            self._deadline = None
            self._timed_out = not self._has_replied()
            self._interrupt()
        if self._kill_at is not None and self._kill_at <= now:
            self._kill()
