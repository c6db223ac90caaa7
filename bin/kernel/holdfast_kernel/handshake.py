"""Who may attach: the checks of an `attach` and the answer to it. Pure, save for reading this process's own identity."""

import hmac
import os
import sys

from . import frames, limits


class Identity:
    """What tells this process from any other one, also after its pid was given away."""

    __slots__ = ('pid', 'start_time', 'boot_id', 'pid_namespace')

    def __init__(self):
        self.pid = os.getpid()
        self.start_time = start_time(self.pid)
        self.boot_id = boot_id()
        self.pid_namespace = os.stat('/proc/self/ns/pid').st_ino


def start_time(pid):
    """Field 22 of /proc/PID/stat; OSError if there is no such process."""
    return int(_read('/proc/%d/stat' % pid).rpartition(b')')[2].split()[19])


def boot_id():
    return _read('/proc/sys/kernel/random/boot_id').decode().strip()


def _read(path):
    """A small file of the kernel's. Not open(): its objects would cost each new interpreter some pages."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, 4096)
    finally:
        os.close(fd)


class Refusal(Exception):
    """An attach that is refused: `reason` is one of the wire's, the text is for people."""

    def __init__(self, reason, message):
        Exception.__init__(self, message)
        self.reason = reason


def _whole(message, field):
    value = message.get(field)
    if type(value) is not int or value < 0:
        raise Refusal('bad_attach', 'attach: %s is no whole number' % field)
    return value


class Attach:
    """What an attach with the right token says, each field of its kind."""

    __slots__ = ('kernel', 'home', 'protocol', 'incarnation', 'ack', 'grace')

    def __init__(self, message):
        for field in ('kernel', 'home'):
            if type(message.get(field)) is not str:
                raise Refusal('bad_attach', 'attach: %s is no text' % field)
        self.kernel = message['kernel']
        self.home = message['home']
        self.protocol = _whole(message, 'protocol')
        self.incarnation = _whole(message, 'incarnation')
        self.ack = _whole(message, 'ack')
        self.grace = _whole(message, 'grace_ms') / 1000.0


class Handshake:
    """The rules of one kernel or nursery. Refuses without changing anything."""

    __slots__ = ('kernel', '_token', '_home', 'program', 'identity', 'epoch')

    def __init__(self, kernel, token, home, program, identity):
        self.kernel = kernel
        self._token = token
        self._home = home  # '' until the first attach fixes it
        self.program = program
        self.identity = identity
        self.epoch = 0  # successful attaches

    def check(self, payload, window):
        """The Attach in this first frame of a peer, the window resumed for it; Refusal otherwise."""
        try:
            message = frames.from_payload(payload)
        except frames.BadFrame as error:
            raise Refusal('bad_attach', str(error))
        if message['type'] != 'attach':
            raise Refusal('bad_attach', 'first frame is %.40s, wanted attach' % message['type'])
        # The token before all else: to a stranger every other answer would tell something.
        token = message.get('token')
        if type(token) is not str or not hmac.compare_digest(token.encode('utf-8', 'replace'), self._token.encode()):
            raise Refusal('wrong_token', 'token does not fit')
        attach = Attach(message)
        if attach.protocol != limits.PROTOCOL:
            raise Refusal('unsupported', 'protocol %d, wanted %d' % (attach.protocol, limits.PROTOCOL))
        if attach.kernel != self.kernel:
            raise Refusal('bad_attach', 'attach is for %.128s, this is %s' % (attach.kernel, self.kernel))
        if self._home and attach.home != self._home:
            raise Refusal('other_home', 'this kernel belongs to another home')
        if not window.resume(attach.ack):
            raise Refusal('bad_attach', 'ack %d was never sent' % attach.ack)
        self._home = attach.home
        self.epoch += 1
        return attach

    def hello(self, window, cells, jobs, dropped):
        identity = self.identity
        return {'type': 'hello', 'protocol': limits.PROTOCOL, 'program': self.program, 'epoch': self.epoch, 'ack': window.ack,
                'first': window.first, 'boot_id': identity.boot_id, 'pid_namespace': identity.pid_namespace, 'pid': identity.pid,
                'start_time': identity.start_time, 'ready': True, 'cells': cells, 'jobs': jobs, 'dropped': dropped,
                'python': sys.executable}
