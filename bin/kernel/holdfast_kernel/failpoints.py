"""Named places at which a test can kill, fail or delay this process.

A spec is `name=3*off->kill;name2=delay(50)`: per name a chain of `[N*]action[(argument)]` joined by `->`; each action is taken N
times (once if N is left out), the last one for ever. Actions: off, kill (SIGKILL to this process), error (FailpointError: that
step fails), delay(milliseconds). Unset, a place costs one `is None` test:

    if failpoints.active is not None:
        failpoints.active.hit('kernel.before_done_sent')
"""

import os
import re
import signal
import time

NAMES = frozenset((
    'kernel.before_hello_sent',
    'kernel.after_hello_sent',
    'kernel.after_execute_received',
    'kernel.before_started_spooled',
    'kernel.after_started_spooled',
    'kernel.before_started_sent',
    'kernel.after_started_sent',
    'kernel.before_output_sent',
    'kernel.after_output_sent',
    'kernel.before_done_spooled',
    'kernel.after_done_spooled',
    'kernel.before_done_sent',
    'kernel.after_done_sent',
    'kernel.before_ack_processed',
    'kernel.after_ack_processed',
    'kernel.before_ack_sent',
    'nursery.before_ack_processed',
    'nursery.after_ack_processed',
    'nursery.before_hello_sent',
    'nursery.after_hello_sent',
    'nursery.before_spawn',
    'nursery.after_fork',
    'nursery.before_spawned_sent',
    'nursery.after_spawned_sent',
    'nursery.before_exit_written',
    'nursery.after_exit_written',
    'nursery.before_exited_sent',
    'nursery.after_exited_sent',
))

_STEP = re.compile(r'(?:(\d+)\*)?(off|kill|error|delay)(?:\((\d+)\))?\Z')
_MAX_SPEC = 16 * 1024


class FailpointError(Exception):
    """The step at a failpoint is made to fail."""


class Registry:
    """The failpoints of one process."""

    def __init__(self, chains, log_path=None):
        self._chains = chains  # name -> [[times left or None, action, argument], ...], the last one with None
        self._log_path = log_path

    def hit(self, name):
        chain = self._chains.get(name)
        if chain is None:
            return
        step = chain[0]
        if step[0] is not None:
            step[0] -= 1
            if step[0] == 0:
                chain.pop(0)
        _times, action, argument = step
        if action == 'off':
            return
        self._record(name)
        if action == 'kill':
            os.kill(os.getpid(), signal.SIGKILL)
        elif action == 'delay':
            time.sleep(argument / 1000.0)
        else:
            raise FailpointError(name)

    def _record(self, name):
        if self._log_path is None:
            return
        try:
            fd = os.open(self._log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                os.write(fd, (name + '\n').encode())
            finally:
                os.close(fd)
        except OSError:
            pass


active = None  # the registry of this process, or None
default_log = None  # where kernels log, too: inherited from the nursery by the fork


def parse(spec):
    """The chains of a spec; ValueError names what is wrong."""
    if len(spec) > _MAX_SPEC:
        raise ValueError('failpoint spec of %d bytes, at most %d' % (len(spec), _MAX_SPEC))
    chains = {}
    for part in spec.split(';'):
        part = part.strip()
        if not part:
            continue
        name, equals, text = part.partition('=')
        name = name.strip()
        if name and not name.startswith(('kernel.', 'nursery.')):
            continue  # the gateway's own, which it has checked
        if name not in NAMES:
            raise ValueError('unknown failpoint %r' % name)
        if not equals:
            raise ValueError('failpoint %s: no action, wanted name=action' % name)
        chains[name] = _parse_chain(name, text)
    return chains


def _parse_chain(name, text):
    chain = []
    for part in text.split('->'):
        match = _STEP.match(part.strip())
        if match is None:
            raise ValueError('failpoint %s: %r is not [N*]off, kill, error or delay(ms)' % (name, part.strip()))
        times, action, argument = match.groups()
        if (argument is not None) != (action == 'delay'):
            raise ValueError('failpoint %s: delay takes milliseconds, the others nothing' % name)
        if times == '0':
            continue
        chain.append([int(times or 1), action, int(argument or 0)])
    if not chain:
        raise ValueError('failpoint %s: no action is left' % name)
    chain[-1][0] = None
    return chain


def install(spec, log_path=None, prefix=None):
    """Makes the spec this process's one, keeping the names that begin with the prefix; an empty spec removes all."""
    global active, default_log
    default_log = log_path = log_path or default_log
    chains = parse(spec or '')
    if prefix is not None:
        chains = {name: chain for name, chain in chains.items() if name.startswith(prefix)}
    active = Registry(chains, log_path) if chains else None
