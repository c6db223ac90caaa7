"""How a nursery comes to have the read ends of pipes that a kernel made for itself: what they hold when it dies is in its exit file.

The kernel names their numbers in a first frame on the nursery's socket and waits a little for the answer: what its next cell writes before
it crashes is to be kept. Without a nursery all goes on.
"""

import os

from . import adoption, limits, sockets, spawning


def tell(spec, readers, log):
    """Called by the kernel. `readers`: {stream: read end}, one or both."""
    message = {'type': 'pipes', 'kernel': spec['kernel'], 'readers': [[stream, fd] for stream, fd in sorted(readers.items())]}
    try:
        answer = adoption.exchange(spec, message, limits.PIPES_SECONDS)
    except OSError as error:
        answer = {'type': error}
    if answer['type'] != 'kept':
        log.write('pipes-not-kept by the nursery: %s %s' % (answer['type'], answer.get('message', '')))


def keep(message, connection, children):
    """Called by the nursery; spawning.SpawnFailed if it is not kept. `children`: kernel id -> Child."""
    child = children.get(message.get('kernel'))
    if child is None or child.pid != sockets.peer_of(connection)[0]:
        raise spawning.SpawnFailed('pipes: the peer is not kernel %.128s' % message.get('kernel'))
    opened = []
    try:
        for stream, number in message['readers']:
            path = '/proc/%d/fd/%d' % (child.pid, number)
            opened.append(({1: 'stdout', 2: 'stderr'}[stream], os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)))
    except (OSError, LookupError, TypeError, ValueError) as error:
        for _name, fd in opened:
            os.close(fd)
        raise spawning.SpawnFailed('pipes: %s' % error)
    child.use_readers(opened)
