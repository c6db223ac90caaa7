"""Runs one cell in an interpreter of its own: `python -c TEXT`, where no kernel can be started. Imports nothing of holdfast_kernel.

Descriptor 0 is a socket to the daemon: `ready` goes out, the source comes in behind its length, the outcome goes out as one line of JSON.
Nothing runs before the source has come. With the daemon's end of the socket goes this process, and its group.
"""

import sys

_path = sys.path[:]
sys.path[:] = [entry for entry in _path if entry]  # a json.py of the working directory is the cell's, not ours

import __future__
import ast
import builtins
import fcntl
import io
import json
import linecache
import os
import signal
import socket
import struct
import time
import traceback
import types

sys.path[:] = _path
sys.argv[:] = ['']

FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT  # Python 3.8: an older one ends here, and nothing has run
FILENAME = '<cell>'
MESSAGE, TEXT, VALUE_STRING, VALUE_ITEMS, VALUE_DEPTH = 8 * 1024, 64 * 1024, 4000, 50, 20
FIONREAD, TIOCOUTQ = 0x541B, 0x5411
CHANNEL = 900  # where a cell that closes descriptors does not look


class Stream(io.FileIO):
    """Standard output or error. What was written to the other one is read before this one is written to: their order stays known."""

    def __init__(self, fd, other):
        super().__init__(fd, 'w', closefd=False)
        self._other = other

    def write(self, data):
        wait_until_read(self._other, FIONREAD)
        view, done = memoryview(data).cast('B'), 0
        while done < len(view):  # a pipe may take less than all, or be made non-blocking by a process that shares it
            written = super().write(view[done:])
            done += written or 0
            if not written:
                time.sleep(0.001)
        return done


def wait_until_read(fd, question):
    """Until the daemon has read all of it, a second at most."""
    for tries in range(1500):
        try:
            if fcntl.ioctl(fd, question, b'\0' * 4) == b'\0' * 4:
                return
        except OSError:  # closed, or no pipe any more
            return
        time.sleep(0 if tries < 500 else 0.001)


class Interrupts:
    """SIGINT is the cell's while its code runs; what comes before is kept for it, what comes after is nobody's."""

    def __init__(self):
        self.is_running = self.is_pending = False

    def receive(self, _number, _frame):
        if self.is_running:
            raise KeyboardInterrupt
        self.is_pending = True

    def begin(self):
        self.is_running = True
        if self.is_pending:
            raise KeyboardInterrupt


def bind_to_daemon(channel):
    """From now on whatever happens at the other end of the channel, which is its end, kills the group: also while C code runs."""
    fcntl.fcntl(channel, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(channel, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(channel, fcntl.F_SETFL, fcntl.fcntl(channel, fcntl.F_GETFL) | os.O_ASYNC)
    try:
        if not channel.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT):
            os.killpg(os.getpgrp(), signal.SIGKILL)  # gone already
    except BlockingIOError:
        pass


def release(channel):
    fcntl.fcntl(channel, fcntl.F_SETFL, fcntl.fcntl(channel, fcntl.F_GETFL) & ~os.O_ASYNC)


def moved_away(fd):
    try:
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, CHANNEL)
    except OSError:  # the limit of descriptors is below
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)


def received(channel, size):
    data = b''
    while len(data) < size:
        part = channel.recv(size - len(data))
        if not part:
            os._exit(1)  # the daemon does not want it any more
        data += part
    return data


def compiled(source):
    """(code of the statements, code of the last expression), each None if there is none."""
    flags = FLAGS
    tree = compile(source, FILENAME, 'exec', ast.PyCF_ONLY_AST | flags, True)
    for node in tree.body:
        if type(node) is ast.ImportFrom and node.module == '__future__':
            for alias in node.names:
                flags |= getattr(getattr(__future__, alias.name, None), 'compiler_flag', 0)
    last = tree.body.pop().value if tree.body and type(tree.body[-1]) is ast.Expr else None
    statements = compile(tree, FILENAME, 'exec', flags, True) if tree.body else None
    return statements, last and compile(ast.Expression(last), FILENAME, 'eval', flags, True)


def run(source, namespace):
    """The value of the last expression."""
    codes = compiled(source)

    async def awaiting():
        value = None
        for code in filter(None, codes):
            value = eval(code, namespace)
            if code.co_flags & 0x80:  # CO_COROUTINE
                value = await value
        return value if codes[1] else None

    if any(code and code.co_flags & 0x80 for code in codes):
        import asyncio

        return asyncio.run(awaiting())
    value = None
    for code in filter(None, codes):
        value = eval(code, namespace)
    return value if codes[1] else None


def bounded(text, limit):
    text = str.__str__(text).encode('utf-8', 'backslashreplace')
    if len(text) > limit:
        head, tail = text[:limit // 4 * 3 - 64].decode('utf-8', 'ignore'), text[-(limit // 4):].decode('utf-8', 'ignore')
        return '%s\n[... %d bytes left out ...]\n%s' % (head, len(text) - len(head.encode()) - len(tail.encode()), tail)
    return text.decode('utf-8')


BRACKETS = {list: '[]', tuple: '()', set: '{}', dict: '{}'}


def shown(value, depth=0):
    """Its repr; of long strings and containers a part."""
    kind = type(value)
    if kind in (str, bytes) and len(value) > VALUE_STRING:
        head, tail = VALUE_STRING // 4 * 3, VALUE_STRING // 4
        words = len(value) - head - tail, 'characters' if kind is str else 'bytes'
        return '%r... [%d %s left out] ...%r' % ((value[:head],) + words + (value[-tail:],))
    if kind not in BRACKETS or not value:
        return repr(value)
    opening, closing = BRACKETS[kind]
    if depth >= VALUE_DEPTH:
        return opening + '...' + closing
    items = []
    for item in value.items() if kind is dict else value:
        if len(items) == VALUE_ITEMS:
            items.append('... %d more' % (len(value) - VALUE_ITEMS))
            break
        items.append('%s: %s' % (shown(item[0], depth + 1), shown(item[1], depth + 1)) if kind is dict else shown(item, depth + 1))
    return opening + ', '.join(items) + (',' if kind is tuple and len(value) == 1 else '') + closing


def own_lines(tb):
    """The traceback from the cell's first line on, without the frame that an interrupt made."""
    while tb is not None and tb.tb_frame.f_code.co_filename != FILENAME:
        tb = tb.tb_next
    frame = tb
    while frame is not None:
        if frame.tb_next is not None and frame.tb_next.tb_frame.f_globals is globals():
            frame.tb_next = None
        frame = frame.tb_next
    return tb


def described(error):
    name = type(error).__name__[:200]
    try:
        message = str.__str__(str(error))
    except BaseException:
        message = '<unprintable %s object>' % name
    try:
        text = ''.join(traceback.format_exception(type(error), error, own_lines(error.__traceback__)))
    except BaseException:
        text = '%s: %s\n' % (name, message)
    return {'name': name, 'message': bounded(message, MESSAGE), 'traceback': bounded(text, TEXT)}


def outcome_of(error):
    if not isinstance(error, SystemExit):
        return {'status': 'error', 'error': described(error)}
    code = error.code
    if code is None or isinstance(code, int):
        return {'status': 'exit', 'exit_code': max(-2**31, min(2**31 - 1, int(code or 0)))}
    return {'status': 'exit', 'exit_code': 1, 'error': described(error)}


def outcome(source, namespace, interrupts):
    try:
        try:
            interrupts.begin()
            value = run(source, namespace)
            value = None if value is None else bounded(shown(value), TEXT)  # its repr is code of the cell, too
            return {'status': 'ok', 'value': value}
        finally:
            interrupts.is_running = False
    except BaseException as error:
        return outcome_of(error)


def main():
    channel = socket.socket(fileno=moved_away(0))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    interrupts = Interrupts()
    signal.signal(signal.SIGINT, interrupts.receive)
    for name, fd, other in (('stdout', 1, 2), ('stderr', 2, 1)):
        stream = io.TextIOWrapper(Stream(fd, other), 'utf-8', 'backslashreplace', newline='\n', write_through=True)
        stream.mode = 'w'
        setattr(sys, name, stream)
        setattr(sys, '__%s__' % name, stream)
    module = types.ModuleType('__main__')
    module.__builtins__ = builtins
    channel.sendall(b'ready\n')
    source = received(channel, struct.unpack('>I', received(channel, 4))[0]).decode('utf-8', 'surrogatepass')
    source = source.replace('\r\n', '\n').replace('\r', '\n')
    bind_to_daemon(channel)
    linecache.cache[FILENAME] = len(source), None, [line + '\n' for line in source.split('\n')], FILENAME
    sys.modules['__main__'] = module
    reply = outcome(source, vars(module), interrupts)
    release(channel)  # that the reply is read is no end
    channel.sendall(json.dumps(reply).encode() + b'\n')
    wait_until_read(channel, TIOCOUTQ)
    bind_to_daemon(channel)
    channel.detach()  # open until the process is gone


main()
