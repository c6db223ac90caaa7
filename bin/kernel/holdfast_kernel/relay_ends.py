"""The ends of kernels of this machine: the operations `signal`, `remains` and `remove` of a relay.

Nothing is signalled that was not identified, and nothing is removed of a kernel that may live."""

import os
import shutil
import signal as signals
import time

from . import frames, limits, processes, relay_process
from .relay import run_directory


def signal(head, _home, _rest):
    """`state`: gone, or sent and not gone yet, or unknown."""
    held = relay_process.hold(head['process'])
    if isinstance(held, str):
        return {'type': 'signalled', 'state': held}, b''
    there = held.kill(head['signal'])
    gone = not there or held.is_dead(limits.RELAY_DEATH if head['signal'] == signals.SIGKILL else 0.0)
    held.close()
    return {'type': 'signalled', 'state': 'gone' if gone else 'sent'}, b''


def remains(head, home, _rest):
    """What a dead kernel left: its exit file, spool and journal as frames 1 to 3, those that are not there empty."""
    directory = run_directory(home, head)
    if relay_process.state_of(head['process']) != 'gone':
        return {'type': 'failed', 'message': 'kernel %s is not known to be gone' % head['kernel']}, b''
    until = time.monotonic() + limits.RELAY_EXIT_FILE
    while not os.path.exists(os.path.join(directory, 'exit')) and _nursery_lives(head, home) and time.monotonic() < until:
        time.sleep(0.02)
    ended = 0
    if not os.path.exists(os.path.join(directory, 'exit')):
        ended = _end_leftovers(head['kernel'])  # no nursery has
    files = [_content(os.path.join(directory, name)) for name in ('exit', 'spool', 'journal')]
    data = b''.join(frames.encode(seq, 0, content) for seq, content in enumerate(files, 1))
    return {'type': 'remains', 'ended': ended, 'state': _state(os.path.join(home, head['state']))}, data


def remove(head, home, _rest):
    """The run directory, with its kernel ended first. One whose process nobody recorded ends by itself within a second of that."""
    if head['process']['pid']:
        held = relay_process.hold(head['process'])
        if not isinstance(held, str):
            held.kill()
            held = 'gone' if held.is_dead(limits.RELAY_DEATH) else 'alive'
        if held != 'gone':
            return {'type': 'failed', 'message': 'kernel %s is not known to be gone' % head['kernel']}, b''
    shutil.rmtree(run_directory(home, head), ignore_errors=True)
    return {'type': 'removed'}, b''


def _content(path):
    """Of a regular file: a cell can put anything in its place."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return b''
    with open(fd, 'rb') as file:
        return file.read(limits.SPOOL_SIZE)


def _state(path):
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return {'bytes': found.st_size, 'written_at': int(found.st_mtime * 1000)}


def _nursery_lives(head, home):
    """Whether somebody who would write the exit file listens."""
    from . import sockets
    try:
        sockets.connect(os.path.join(home, 'nursery', head['nursery'][2:]), 'nursery.sock').close()
    except OSError:
        return False
    return True


def _end_leftovers(kernel):
    """Ends what bears the kernel's mark; how many there were."""
    held = []
    for name in os.listdir('/proc'):
        if not name.isdigit() or int(name) == os.getpid() or not processes.is_marked(int(name), kernel):
            continue
        try:
            handle = processes.Handle(int(name))
        except OSError:
            continue
        if processes.is_marked(handle.pid, kernel):  # looked at again: now the pidfd holds what was looked at
            held.append(handle)
        else:
            handle.close()
    for number in (signals.SIGTERM, signals.SIGKILL):
        for handle in held:
            handle.kill(number)
        until = time.monotonic() + limits.TERM_SECONDS
        for handle in held:
            handle.is_dead(max(0.0, until - time.monotonic()))
    for handle in held:
        handle.close()
    return len(held)
