"""Carries frames to a kernel of this machine and brings what comes out: the operation `carry` of a relay.

Attaches, writes the frames, and waits: until what was asked for is there, until a limit, or until a newer attach takes the connection
over. Acks nothing by itself: only a daemon that has recorded a frame may ack it, so whatever this relay read and could not deliver comes
again with the next one.
"""

import _socket
import os
import select
import time

from . import frames, limits, sockets
from .relay import run_directory

# What is worth a return while something else goes on. Not `started`: a warm cell would cost two commands.
_NEWS = ('done', 'answer', 'background', 'call', 'call_cancel', 'job_finished', 'bad_frame', 'startup_error')


def carry(head, home, rest):
    directory = run_directory(home, head)
    try:
        with open(os.path.join(directory, 'token')) as file:
            token = file.read()
        connection = sockets.connect(directory, 'kernel.sock')
    except OSError as error:
        return _answer(_state_of(head['process'], 0.0), str(error)), b''
    if not sockets.peer_is_trusted(connection):
        return _answer('closed', 'another user listens on its socket'), b''
    trip = _Trip(connection, head, home)
    attach = dict(head['attach'], type='attach', token=token)
    end = trip.run(frames.encode(0, 0, frames.to_payload(attach)), rest)
    connection.close()
    if end == 'closed':
        end = _state_of(head['process'], limits.RELAY_DEATH)
    return _answer(end, '', len(trip.cells), len(trip.requests), len(trip.jobs)), b''.join(trip.came)


def _state_of(process, seconds):
    from . import relay_process  # not for a trip that goes well: it takes longer to load than a cell to run
    return relay_process.state_of(process, seconds)


def _answer(end, message, cells=0, requests=0, jobs=0):
    return {'type': 'carried', 'end': 'closed' if end == 'alive' else end, 'message': message, 'cells': cells, 'requests': requests,
            'jobs': jobs}


class _Trip:
    def __init__(self, connection, head, home):
        self._connection = connection
        self._fd = connection.fileno()
        self._wait = head['wait_ms'] / 1000.0
        self._here = (head['daemon_home'].rstrip('/') + '/', home + '/')  # a path of the daemon's home, and what it is here
        self._decoder = frames.Decoder()
        self._out = b''
        self._last = 0  # seq of the last frame that this relay carries in
        self._acked = 0
        self._news_came = False
        self._size = 0  # bytes in `came`
        self._ends_by = None  # the kernel has said, or was told, that it ends: by then its connection should be closed
        self._unshown_since = None  # when the first frame came that somebody may want to see before its cell is done
        self.cells = set()  # that are not done
        self.requests = set()  # that are not answered
        self.jobs = set()  # that have not finished
        self.came = []  # frames as they came, to be brought back

    def run(self, attach, rest):
        """How it ended: done, limit, refused, closed."""
        now = time.monotonic()
        until = now + self._wait
        self._out = attach
        handshake_until = now + limits.RELAY_HANDSHAKE
        said = False  # whether hello has come
        quiet = None  # until when a kernel with nothing to do is listened to
        while True:
            now = time.monotonic()
            limit = until if said else handshake_until
            if said:
                if self._is_done():
                    # What a kernel had kept for this attach comes right behind its hello, and what belongs to a result came before it.
                    if quiet is None:
                        quiet = now + (0.0 if self._news_came else limits.RELAY_QUIET)
                    limit = min(limit, quiet)
                else:
                    quiet = None
                if self._ends_by is not None:
                    limit = min(limit, self._ends_by)
                elif self._unshown_since is not None:
                    limit = min(limit, self._unshown_since + limits.RELAY_UNSHOWN)
                if self._size >= limits.RELAY_BYTES or len(self.came) >= limits.RELAY_FRAMES:
                    return 'done'
            readable, writable, _ = select.select([self._fd], [self._fd] if self._out else [], [], max(0.0, limit - now))
            if writable:
                self._write()
            if not readable:
                if writable or time.monotonic() < limit:
                    continue
                return 'done' if said and (limit != until or self._is_done()) else 'limit'
            data = self._read()
            if not data:
                return 'closed'
            for frame in self._decoder.feed(data):
                if said:
                    self._take(frame)
                    continue
                said = True
                message = frames.from_payload(frame.payload)
                self._keep(frame)
                if message['type'] != 'hello':
                    return 'refused'
                self._acked = message['ack']
                self.cells.update(cell['cell'] for cell in message['cells'])
                self.jobs.update(job['job'] for job in message['jobs'])
                self._out += self._looked_at(rest)

    def _is_done(self):
        if self._ends_by is not None:
            return time.monotonic() >= self._ends_by
        return not self._out and self._acked >= self._last and (self._news_came or not (self.cells or self.requests))

    def _looked_at(self, rest):
        """The frames to be carried in; learns what they ask for."""
        carried = []
        for frame in frames.Decoder().feed(rest):
            self._last = max(self._last, frame.seq)
            payload = frame.payload
            message = frames.from_payload(payload)
            if message['type'] == 'execute':
                self.cells.add(message['cell'])
            elif message['type'] == 'shutdown':
                self._ends_by = time.monotonic() + limits.RELAY_END
            elif message['type'] == 'request':
                self.requests.add(message['id'])
                if str(message.get('path', '')).startswith(self._here[0]):
                    message['path'] = self._here[1] + message['path'][len(self._here[0]):]
                    payload = frames.to_payload(message)
            carried.append(frames.encode(frame.seq, frame.ack, payload))
        return b''.join(carried)

    def _write(self):
        try:
            self._out = self._out[self._connection.send(self._out, _socket.MSG_NOSIGNAL | _socket.MSG_DONTWAIT):]
        except BlockingIOError:
            pass
        except OSError:
            self._out = b''  # reading tells what became of the connection

    def _read(self):
        try:
            return self._connection.recv(limits.READ_SIZE)
        except OSError:
            return b''

    def _keep(self, frame):
        payload = frame.payload if frame.payload is not None else b''
        self._size += len(payload)
        self.came.append(frames.HEADER.pack(len(payload), frame.seq, frame.ack) + payload)

    def _take(self, frame):
        self._keep(frame)
        self._acked = max(self._acked, frame.ack)
        if not frame.payload:
            return
        if self._unshown_since is None:
            self._unshown_since = time.monotonic()
        if frame.payload.startswith((b'{"type":"output"', b'{"type":"display"')):
            return
        try:
            message = frames.from_payload(frame.payload)
        except frames.BadFrame:
            self._news_came = True  # the daemon's to judge
            return
        kind = message['type']
        if kind == 'started':
            self.cells.add(message['cell'])
        elif kind == 'done':
            self.cells.discard(message['cell'])
            if message.get('kernel_ended'):
                self._ends_by = time.monotonic() + limits.RELAY_DEATH
        elif kind == 'answer':
            self.requests.discard(message['id'])
        elif kind == 'job_started':
            self.jobs.add(message['job'])
        elif kind == 'job_finished':
            self.jobs.discard(message['job'])
        self._news_came = self._news_came or kind in _NEWS
