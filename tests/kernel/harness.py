"""Plays the daemon: starts a real nursery in a temporary home, spawns kernels and speaks the wire with them.

Everything that a test starts is ended by its pid when the test is over, and that it is gone is checked.
"""

import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(ROOT, 'bin', 'kernel')
if PROGRAM not in sys.path:
    sys.path.insert(0, PROGRAM)
sys.dont_write_bytecode = True

HEADER = struct.Struct('>IQQ')
HOME = 'home-of-the-tests'
ACK_EACH = 256 * 1024  # bytes or 512 frames, well within what a kernel sends unconfirmed
PATIENCE = 20.0  # seconds until a test that waits for something fails


class Closed(Exception):
    """The other end closed the connection."""


class Connection:
    """A daemon's end of a link. Numbers its frames, acks what it takes, keeps every frame that came."""

    def __init__(self, path, state=None):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)  # blocking: with a timeout a full backlog would be EAGAIN
        self.socket.settimeout(PATIENCE)
        self.buffer = b''
        self.state = state if state is not None else {'received': 0, 'sent': 0}
        self.frames = []  # messages with their `seq`
        self.auto_ack = True
        self.unacked = 0  # bytes, and a part of ACK_EACH for each frame

    def send_raw(self, seq, payload, ack=None):
        self.socket.sendall(HEADER.pack(len(payload), seq, self.state['received'] if ack is None else ack) + payload)

    def send(self, message):
        self.state['sent'] += 1
        self.send_raw(self.state['sent'], json.dumps(message).encode())

    def read_frame(self, timeout=PATIENCE):
        """(seq, ack, payload) of the next frame; None after the timeout."""
        until = time.monotonic() + timeout
        while True:
            if len(self.buffer) >= 20:
                length, seq, ack = HEADER.unpack_from(self.buffer)
                if len(self.buffer) >= 20 + length:
                    payload = self.buffer[20:20 + length]
                    self.buffer = self.buffer[20 + length:]
                    return seq, ack, payload
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.socket], [], [], left)[0]:
                return None
            try:
                data = self.socket.recv(1 << 20)
            except ConnectionResetError:
                data = b''
            if not data:
                raise Closed()
            self.buffer += data

    def next(self, timeout=PATIENCE):
        """The next message with a payload, or None after the timeout."""
        while True:
            frame = self.read_frame(timeout)
            if frame is None:
                return None
            seq, _ack, payload = frame
            if not payload:
                continue
            message = json.loads(payload)
            message['seq'] = seq
            if seq:
                if seq <= self.state['received']:
                    continue
                assert seq == self.state['received'] + 1, 'gap: %d after %d' % (seq, self.state['received'])
                self.state['received'] = seq
                self.unacked += len(payload) + ACK_EACH // 512
                if self.auto_ack and self.unacked >= ACK_EACH:
                    self._ack_if_there()
            self.frames.append(message)
            return message

    def ack(self):
        self.send_raw(0, b'')

    def _ack_if_there(self):
        self.unacked = 0
        try:
            self.ack()
        except OSError:
            pass  # it was the kernel's last frame

    def wait_for(self, kind, timeout=PATIENCE, **fields):
        """The next message of that type with these fields; earlier ones are kept in `frames`."""
        until = time.monotonic() + timeout
        while True:
            message = self.next(max(0.0, until - time.monotonic()))
            if message is None:
                raise AssertionError('no %s %s within %g s; came: %s' % (kind, fields, timeout, self.frames[-5:]))
            if message['type'] == kind and all(message.get(name) == value for name, value in fields.items()):
                if self.auto_ack:
                    self._ack_if_there()
                return message

    def attach(self, kernel, token, home=HOME, incarnation=1, grace_ms=60000, ack=None, protocol=1):
        """hello or refused."""
        message = {'type': 'attach', 'kernel': kernel, 'token': token, 'home': home, 'incarnation': incarnation,
                   'ack': self.state['received'] if ack is None else ack, 'grace_ms': grace_ms, 'protocol': protocol}
        self.send_raw(0, json.dumps(message).encode(), ack=0)
        answer = self.next()
        if answer is not None and answer['type'] == 'hello':
            self.state['sent'] = max(self.state['sent'], answer['ack'])
        return answer

    def output(self, cell, stream=None):
        """The text of the output frames of a cell, put together by offset."""
        pieces = sorted((frame['offset'], frame['text']) for frame in self.frames
                        if frame['type'] == 'output' and frame['cell'] == cell and (stream is None or frame['stream'] == stream))
        return ''.join(text for _offset, text in pieces)

    def close(self):
        self.socket.close()


class Kernel:
    """One kernel and a connection to it."""

    def __init__(self, test, name, directory, token, pid):
        self.test = test
        self.name = name
        self.directory = directory
        self.token = token
        self.pid = pid
        self.state = {'received': 0, 'sent': 0}
        self.generation = 0
        self.connection = None
        self.hello = None

    def connect(self, **attach):
        connection = Connection(os.path.join(self.directory, 'kernel.sock'), self.state)
        self.test.addCleanup(connection.close)
        self.connection = connection
        self.hello = connection.attach(self.name, self.token, **attach)
        return connection

    def execute(self, code, cell=None, timeout_ms=0, output_limit=1 << 24, **more):
        """Sends the cell; its id."""
        self.generation += 1
        cell = cell or 'c-%d' % self.generation
        self.connection.send(dict(more, type='execute', cell=cell, generation=self.generation, code=code,
                                  timeout_ms=timeout_ms, output_limit=output_limit))
        return cell

    def run(self, code, timeout=PATIENCE, **options):
        """The done of the cell."""
        cell = self.execute(code, **options)
        return self.connection.wait_for('done', timeout, cell=cell)

    def ask(self, what, timeout=PATIENCE, request=None, **fields):
        """The answer to a request."""
        self.requests = getattr(self, 'requests', 0) + 1
        request = request or 'r-%d' % self.requests
        self.connection.send(dict(fields, type='request', id=request, what=what))
        return self.connection.wait_for('answer', timeout, id=request)

    def file(self, name):
        with open(os.path.join(self.directory, name), 'rb') as file:
            return file.read()


class NurseryTest(unittest.TestCase):
    """A test with a nursery of its own."""

    idle_ms = 60000
    nursery_failpoints = ''

    def setUp(self):
        self.home = tempfile.mkdtemp(prefix='hf-')
        self.pids = []
        self.addCleanup(shutil.rmtree, self.home, True)
        self.addCleanup(self.end_all)
        self.failpoint_log = os.path.join(self.home, 'failpoints')
        self.start_nursery()

    def start_nursery(self):
        self.nursery_directory = os.path.join(self.home, 'nursery')
        os.makedirs(self.nursery_directory, 0o700, exist_ok=True)
        self.nursery_token = 'ab' * 32
        done = self.launch(self.nursery_config())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.connect_nursery()
        self.pids.append(self.nursery_pid)

    def nursery_config(self):
        return {'nursery': 'n-1', 'token': self.nursery_token, 'home': HOME, 'directory': self.nursery_directory,
                'program': 'digest', 'preload': [], 'failpoints': self.nursery_failpoints, 'failpoint_log': self.failpoint_log,
                'idle_ms': self.idle_ms, 'protocol': 1}

    @staticmethod
    def launch(config):
        return subprocess.run([sys.executable, os.path.join(PROGRAM, 'nursery.py')], input=json.dumps(config).encode(),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE,
                              env=dict(os.environ, PYTHONDONTWRITEBYTECODE='1'))

    def connect_nursery(self):
        state = getattr(self, 'nursery_state', None)
        self.nursery = Connection(os.path.join(self.nursery_directory, 'nursery.sock'), state)
        self.nursery_state = self.nursery.state
        self.addCleanup(self.nursery.close)
        hello = self.nursery.attach('n-1', self.nursery_token)
        self.assertEqual(hello['type'], 'hello', hello)
        self.nursery_pid = hello['pid']
        return hello

    def spawn_message(self, name, **changes):
        directory = os.path.join(self.home, 'run', name)
        os.makedirs(directory, 0o700, exist_ok=True)
        message = {'type': 'spawn', 'kernel': name, 'token': 'cd' * 32, 'home': HOME, 'directory': directory, 'cwd': self.home,
                   'env': {'PATH': os.environ.get('PATH', ''), 'HOME': self.home, 'LANG': 'C.UTF-8'}, 'grace_ms': 60000,
                   'first_grace_ms': 60000, 'interrupt_grace_ms': 2000, 'failpoints': ''}
        message.update(changes)
        return message

    def spawn(self, name='k-1', connect=True, **changes):
        message = self.spawn_message(name, **changes)
        self.nursery.send(message)
        answer = self.nursery.wait_for('spawned', kernel=name)
        self.pids.append(answer['pid'])
        kernel = Kernel(self, name, message['directory'], message['token'], answer['pid'])
        if connect:
            kernel.connect()
            self.assertEqual(kernel.hello['type'], 'hello', kernel.hello)
        return kernel

    def wait_exit(self, kernel, timeout=PATIENCE):
        """The nursery's report of a death; the exit file says the same."""
        message = self.nursery.wait_for('exited', timeout, kernel=kernel.name)
        record = json.loads(kernel.file('exit'))
        self.assertEqual({name: message[name] for name in record}, record)
        return record

    def wait_until(self, claim, what, timeout=PATIENCE):
        until = time.monotonic() + timeout
        while not claim():
            self.assertLess(time.monotonic(), until, 'not within %g s: %s' % (timeout, what))
            time.sleep(0.005)

    @staticmethod
    def is_alive(pid):
        try:
            with open('/proc/%d/stat' % pid, 'rb') as file:
                return file.read().rpartition(b')')[2].split()[0] not in (b'Z', b'X')
        except OSError:
            return False

    def end_all(self):
        """Ends kernels first, so that the nursery ends what they left; then the nursery."""
        for pid in self.pids[::-1]:
            if self.is_ours(pid):
                os.kill(pid, signal.SIGKILL)
                if pid != self.nursery_pid:
                    until = time.monotonic() + 8
                    while os.path.exists('/proc/%d' % pid) and self.is_alive(self.nursery_pid) and time.monotonic() < until:
                        time.sleep(0.005)
        self.wait_until(lambda: not any(self.is_ours(pid) for pid in self.pids), 'the processes of the test are gone')

    def is_ours(self, pid):
        try:
            with open('/proc/%d/cmdline' % pid, 'rb') as file:
                return PROGRAM.encode() in file.read()
        except OSError:
            return False


class KernelTest(NurseryTest):
    """A test with one kernel."""

    spawning = {}  # what is not usual in its spawn

    def setUp(self):
        super().setUp()
        self.kernel = self.spawn(**self.spawning)

    def run_ok(self, code, **options):
        """The done of a cell that ends well."""
        done = self.kernel.run(code, **options)
        self.assertEqual(done['status'], 'ok', done)
        return done

    def value(self, code, **options):
        return self.run_ok(code, **options)['value']

    def interrupt(self, cell, reason='interrupt'):
        self.kernel.connection.send({'type': 'interrupt', 'cell': cell, 'reason': reason})
