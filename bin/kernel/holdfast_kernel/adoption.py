"""How a nursery comes to keep a kernel that it did not fork: the clone asks for it on the nursery's socket, with its first frame.

The nursery believes it what its socket says of its pid, and that it is a child of its own by then: the process between the two has ended.
"""

import os

from time import monotonic, sleep

from . import frames, limits, processes, sockets, spawning


class NotAdopted(Exception):
    """No nursery keeps this kernel; the text says why."""


def ask(spec, between):
    """Called by the clone: returns once its nursery keeps it. `between`: the pid of its first parent."""
    until = monotonic() + limits.CLONE_SECONDS
    while os.getppid() == between:
        if monotonic() > until:
            raise NotAdopted('its first parent does not end')
        sleep(0.0002)
    message = {'type': 'adopt'}
    message.update((name, spec[name]) for name in ('kernel', 'directory', 'grace_ms', 'first_grace_ms'))
    try:
        answer = exchange(spec, message, limits.CLONE_SECONDS)
    except OSError as error:
        raise NotAdopted('its nursery, which would keep the fork, does not answer: %s; kernel.stop saves the namespace, and a saved one '
                         'can be forked' % error)
    if answer['type'] != 'adopted':
        raise NotAdopted('the nursery answers %s: %s' % (answer['type'], answer.get('message')))


def exchange(spec, message, seconds):
    """The answer of this kernel's nursery to a first frame; OSError if there is none within that time."""
    connection = sockets.connect(spec['nursery'], 'nursery.sock', seconds)
    try:
        connection.send(frames.encode(0, 0, frames.to_payload(message)))
        answer = frames.Decoder().feed(connection.recv(65536))
        return frames.from_payload(answer[0].payload) if answer else {'type': 'nothing'}
    finally:
        connection.close()


def child_of(message, connection, known):
    """The Child that an adopt is about; spawning.SpawnFailed if it is not kept. `known`: ids that live already."""
    pid = sockets.peer_of(connection)[0]
    stat = processes.stat(pid)
    for field in ('kernel', 'directory'):
        if type(message.get(field)) is not str or '\0' in message[field]:
            raise spawning.SpawnFailed('adopt: %s is no text' % field)
    for field in ('grace_ms', 'first_grace_ms'):
        if type(message.get(field)) is not int or message[field] < 0:
            raise spawning.SpawnFailed('adopt: %s is no whole number' % field)
    if stat is None or stat[1] != os.getpid():
        raise spawning.SpawnFailed('adopt: process %d is no child of this nursery' % pid)
    if message['kernel'] in known or os.access(message['directory'] + '/exit', os.F_OK):
        raise spawning.SpawnFailed('adopt: kernel %s lives or has ended already' % message['kernel'])
    readers, directory_fd = [], -1
    try:
        for name, number in (('stdout', 1), ('stderr', 2)):
            # Through /proc: opened for reading this is the other end of the pipe.
            readers.append((name, os.open('/proc/%d/fd/%d' % (pid, number), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)))
        directory_fd = spawning.open_directory(message['directory'])
        return spawning.Child(message, pid, directory_fd, tuple(readers))
    except OSError as error:
        for fd in [fd for _name, fd in readers] + [directory_fd] * (directory_fd >= 0):
            os.close(fd)
        raise spawning.SpawnFailed('adopt: process %d cannot be looked at: %s' % (pid, error))
