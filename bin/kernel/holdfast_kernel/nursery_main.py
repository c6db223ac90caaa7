"""Starts a nursery: configuration from standard input, socket, background, then serves. Returns only with an exit status.

The first process waits until the nursery listens and exits 0, or prints one line to standard error and exits 1; 3 if the nursery was
gone without a word, as after a SIGKILL.
"""

import json
import os
import sys

from . import failpoints, handshake, kernel_main, limits, log, preloading, sockets, system, warming
from .link import Link
from .nursery import Nursery
from .window import Window


ENDED_AT_ONCE = 3  # of the first process: worth another start (actors/env/start_nursery.cpp)


class _BadConfig(Exception):
    pass


def main(user_umask):
    """`user_umask`: what kernels get; the nursery's own is 077."""
    system.user_umask = user_umask
    try:
        config = _checked(json.loads(sys.stdin.buffer.read().decode('utf-8')))
        preloading.import_all(config['preload'])
        listener = sockets.listen(config['directory'], 'nursery.sock', replace=True)
    except Exception as error:
        _fail('cannot start nursery: %s: %s' % (type(error).__name__, error))
    reader, writer = os.pipe()
    between = os.fork()
    if between == 0:
        os.setsid()
        if os.fork() != 0:
            os._exit(0)
        os.close(reader)
        _serve(config, listener, writer)
    os.close(writer)
    with open(reader, 'rb') as pipe:
        answer = pipe.read()
    try:
        os.waitpid(between, 0)  # whoever adopts it may reap nothing
    except ChildProcessError:
        pass  # SIGCHLD is ignored here: nothing is left of it
    if not answer:
        _fail('cannot start nursery: it was ended before it listened', ENDED_AT_ONCE)
    if answer != b'ok':
        _fail('cannot start nursery: %s' % answer.decode('utf-8', 'replace'))
    os._exit(0)


def _fail(message, status=1):
    sys.stderr.write(message.replace('\n', ' ')[:1000] + '\n')
    sys.stderr.flush()
    os._exit(status)


def _checked(config):
    if type(config) is not dict:
        raise _BadConfig('configuration is no object')
    for field in ('nursery', 'token', 'home', 'directory', 'program'):
        if type(config.get(field)) is not str:
            raise _BadConfig('%s is no text' % field)
    if not os.path.isabs(config['directory']):
        raise _BadConfig('directory %s is not absolute' % config['directory'])
    if config.get('protocol') != limits.PROTOCOL:
        raise _BadConfig('protocol %r, wanted %d' % (config.get('protocol'), limits.PROTOCOL))
    if type(config.get('idle_ms')) is not int or config['idle_ms'] < 0:
        raise _BadConfig('idle_ms is no whole number')
    preload = config.setdefault('preload', [])
    if type(preload) is not list or not all(type(name) is str for name in preload):
        raise _BadConfig('preload is no list of module names')
    failpoints.parse(config.get('failpoints') or '')
    return config


def _serve(config, listener, writer):
    """The nursery itself, in the background. Does not return; nor does a kernel, which is forked from within."""
    own_log = None
    try:
        own_log = log.Log(log.open_log(config['directory'], 'nursery.log'))
        nursery, link = _start(config, listener, own_log)
        os.write(writer, b'ok')
        os.close(writer)
        writer = -1
        nursery.serve(link)
    except BaseException as error:
        text = '%s: %s' % (type(error).__name__, error)
        if own_log is not None:
            own_log.write('nursery-failed ' + text)
        if writer >= 0:
            os.write(writer, text.encode('utf-8', 'replace'))
        os._exit(1)
    os._exit(0)


def _start(config, listener, own_log):
    system.become_subreaper()
    system.raise_descriptor_limit()
    failpoints.install(config.get('failpoints'), config.get('failpoint_log'), 'nursery.')
    listener.listen(limits.BACKLOG)  # again: SO_PEERCRED names who called it last
    nursery = Nursery(config, own_log, kernel_main.run)
    identity = handshake.Identity()
    shakes = handshake.Handshake(config['nursery'], config['token'], config['home'], config['program'], identity)
    link = Link('nursery', listener, nursery.poller, Window(), shakes, nursery, own_log)
    link.answer_first = nursery.answer_first
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)
    warming.share_with_kernels(config['directory'], own_log)
    own_log.write('nursery-started %s pid %d python %s' % (config['nursery'], identity.pid, sys.version.split()[0]))
    return nursery, link
