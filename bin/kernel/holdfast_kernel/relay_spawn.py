"""Starts a kernel on this machine: the operation `spawn` of a relay. Nurseries are kept by what they are for, in a directory each; a relay
that finds none alive starts one. Repeating a spawn is harmless: a nursery answers with the kernel that it has."""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import time

from . import frames, handshake, limits, sockets
from .relay import run_directory


class SpawnRefused(Exception):
    """No kernel was started; the text is for people."""


def spawn(head, home, _rest):
    try:
        return _spawned(head, home), b''
    except (SpawnRefused, OSError) as error:
        return {'type': 'refused', 'message': str(error)}, b''


def _spawned(head, home):
    environment = environment_of(head)
    python = interpreter_of(head, environment)
    directory = run_directory(home, head)
    os.makedirs(directory, 0o700, exist_ok=True)
    os.makedirs(os.path.join(home, 'state'), 0o700, exist_ok=True)
    _write_private(os.path.join(directory, 'token'), head['token'])
    key = _key(head, python, environment)
    nursery = os.path.join(home, 'nursery', key)
    os.makedirs(nursery, 0o700, exist_ok=True)
    with open(os.path.join(nursery, 'lock'), 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # held to the end: of two attaches the older one would be shut
        connection = _Nursery(nursery, head)
        if not connection.attach():
            _start(head, home, nursery, python, environment)
            if not connection.attach():
                raise SpawnRefused('a nursery of %s was started and does not answer' % python)
        cwd = head['cwd'] or environment.get('HOME') or '/'
        tools = {'tools': head['tools'], 'tools_module': head['tools_module']} if head['tools'] else {}
        answer = connection.ask(dict(tools, **{'type': 'spawn', 'kernel': head['kernel'], 'token': head['token'], 'home': head['home'],
                                 'directory': directory, 'env': environment, 'cwd': cwd, 'state': os.path.join(home, head['state']),
                                 'failpoints': '', 'grace_ms': head['grace_ms'], 'first_grace_ms': head['first_grace_ms'],
                                 'interrupt_grace_ms': head['interrupt_grace_ms']}))
        connection.close()
    return {'type': 'spawned', 'pid': answer['pid'], 'start_time': answer['start_time'], 'boot_id': handshake.boot_id(),
            'pid_namespace': os.stat('/proc/self/ns/pid').st_ino, 'nursery': 'y-' + key, 'python': connection.python or python,
            'program': head['program']}


def interpreter_of(head, environment):
    python = shutil.which(head['python'], path=environment.get('PATH', '/usr/bin:/bin'))
    if python is None:
        raise SpawnRefused('cannot find the interpreter %s; name one that is there with python' % head['python'])
    return python


def environment_of(head):
    """A kernel's variables: what is usual of this machine's own, what the daemon passes by name, then the session's."""
    usual = head['usual']

    def is_usual(name):
        if any(word in name.upper() for word in usual['secret_words']):
            return False
        return name in usual['names'] or name.startswith(tuple(usual['prefixes']))

    chosen = {name: value for name, value in os.environ.items() if is_usual(name) or name in head['pass_env']}
    chosen.update(head['env'])
    return {name: value for name, value in chosen.items() if not name.startswith('HOLDFAST_')}


def _key(head, python, environment):
    """What kernels of one nursery have in common."""
    of_interpreter = {name: value for name, value in environment.items() if name.startswith(tuple(head['usual']['interpreter_prefixes']))}
    material = json.dumps([python, head['program'], head['preload'], of_interpreter], sort_keys=True)
    return hashlib.sha256(material.encode()).hexdigest()[:32]


def _write_private(path, text):
    fd = os.open(path + '.tmp', os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(fd, 'w') as file:
        file.write(text)
    os.rename(path + '.tmp', path)


def _token(nursery):
    try:
        with open(os.path.join(nursery, 'token')) as file:
            return file.read()
    except FileNotFoundError:
        return None


def _start(head, home, nursery, python, environment):
    token = os.urandom(32).hex()
    _write_private(os.path.join(nursery, 'token'), token)
    program = os.path.join(os.path.dirname(home), 'program', head['program'], 'nursery.py')
    config = {'nursery': os.path.basename(nursery), 'token': token, 'home': head['home'], 'directory': nursery, 'program': head['program'],
              'preload': head['preload'], 'failpoints': '', 'idle_ms': head['nursery_idle_ms'], 'protocol': limits.PROTOCOL}
    started = subprocess.Popen([python, program], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd='/',
                               env=environment, start_new_session=True)
    try:
        _, said = started.communicate(json.dumps(config).encode(), timeout=limits.RELAY_NURSERY)
    except subprocess.TimeoutExpired:
        os.killpg(started.pid, 9)
        started.communicate()
        raise SpawnRefused('cannot start a nursery with %s: it was not ready within %g s' % (python, limits.RELAY_NURSERY))
    if started.returncode != 0:
        raise SpawnRefused('cannot start a nursery with %s: exit code %d: %s'
                           % (python, started.returncode, said.decode('utf-8', 'replace').strip()[-1000:]))


class _Nursery:
    """An attached nursery. What it says of other kernels is acked and dropped: their exit files say it as well."""

    def __init__(self, directory, head):
        self._directory = directory
        self._head = head
        self._connection = None
        self._decoder = frames.Decoder()
        self._frames = []
        self._seq = 0  # of the last frame that it took
        self._received = 0  # of the last one that came from it
        self.python = None

    def attach(self):
        """False if nobody listens there."""
        token = _token(self._directory)
        if token is None:
            return False
        try:
            self._connection = sockets.connect(self._directory, 'nursery.sock')
        except OSError:
            return False
        self._connection.settimeout(limits.RELAY_HANDSHAKE)
        attach = {'type': 'attach', 'kernel': os.path.basename(self._directory), 'token': token, 'home': self._head['home'],
                  'incarnation': self._head['incarnation'], 'ack': 0, 'grace_ms': 0, 'protocol': limits.PROTOCOL}
        self._connection.sendall(frames.encode(0, 0, frames.to_payload(attach)))
        hello = frames.from_payload(self._next().payload)
        if hello['type'] != 'hello':
            raise SpawnRefused('its nursery refuses: %s' % hello.get('message'))
        self.python = hello.get('python')
        self._seq = hello['ack']
        self._received = hello['first'] - 1
        return True

    def _next(self):
        while not self._frames:
            try:
                data = self._connection.recv(limits.READ_SIZE)
            except OSError as error:
                raise SpawnRefused('its nursery did not answer: %s' % error)
            if not data:
                raise SpawnRefused('its nursery closed the connection')
            self._frames += self._decoder.feed(data)
        return self._frames.pop(0)

    def ask(self, message):
        """What it answers about that kernel."""
        self._send(self._seq + 1, frames.to_payload(message))
        until = time.monotonic() + limits.RELAY_SPAWN
        while time.monotonic() < until:
            frame = self._next()
            if frame.seq == 0:
                continue
            self._received = max(self._received, frame.seq)
            said = frames.from_payload(frame.payload)
            if said.get('kernel') != message['kernel'] or said['type'] not in ('spawned', 'spawn_failed'):
                continue
            if said['type'] == 'spawn_failed':
                self._send(0, b'')
                raise SpawnRefused(said['message'])
            return said
        raise SpawnRefused('its nursery did not answer in time')

    def _send(self, seq, payload):
        self._connection.sendall(frames.encode(seq, self._received, payload))

    def close(self):
        self._send(0, b'')
        self._connection.close()
