"""sys.stdout, sys.stderr and sys.stdin as cells see them."""

import builtins
import functools
import getpass
import io
import sys

from .output import STDERR, STDOUT


_of_sys = vars(sys)
_of_builtins = vars(builtins)


class _CellBuffer(io.RawIOBase):
    """The `buffer` of a cell's stream: bytes instead of text."""

    def __init__(self, output, stream, leave_kernel):
        self._output = output
        self._stream = stream
        self._leave_kernel = leave_kernel
        self.name = '<stdout>' if stream == STDOUT else '<stderr>'
        self.mode = 'wb'

    def write(self, data):
        data = bytes(data)
        self._output.write_bytes(self._stream, data)
        self._leave_kernel()
        return len(data)

    def writable(self):
        return True

    def fileno(self):
        return self._stream

    def isatty(self):
        return False

    def close(self):
        pass  # closing it would silence later cells


class CellStream(io.TextIOBase):
    """A text stream into the cell's output. Cannot be closed: a later cell writes to it too."""

    encoding = 'utf-8'
    errors = 'backslashreplace'
    newlines = None
    line_buffering = True
    write_through = True
    mode = 'w'

    def __init__(self, output, stream, leave_kernel):
        self._output = output
        self._stream = stream
        self._leave_kernel = leave_kernel
        self.name = '<stdout>' if stream == STDOUT else '<stderr>'
        self._buffer = _CellBuffer(output, stream, leave_kernel)

    @property
    def buffer(self):
        return self._buffer

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError('write() argument must be str, not %s' % type(text).__name__)
        self._output.write(self._stream, text)
        self._leave_kernel()
        return len(text)

    def flush(self):
        pass

    def writable(self):
        return True

    def fileno(self):
        return self._stream

    def isatty(self):
        return False

    def reconfigure(self, **_options):
        pass

    def close(self):
        pass

    def detach(self):
        raise io.UnsupportedOperation('the stream of a cell cannot be detached')


def refuse_input(prompt='', *_more, **_options):
    """In the place of input() and getpass(): nobody is there to answer."""
    asked = ' %r' % str(prompt)[:200] if prompt else ''
    raise EOFError('input is not available in a cell: nobody can answer%s; put the value into the code' % asked)


@functools.lru_cache(None)
def _shared_stdin():
    """Made in the nursery, of whose descriptor 0 it knows no more than the number."""
    return open(0, 'r', closefd=False, encoding=sys.__stdin__.encoding, errors=sys.__stdin__.errors)


class Streams:
    """Puts the streams in place, again before each cell."""

    def __init__(self, output, leave_kernel):
        self._stdout = CellStream(output, STDOUT, leave_kernel)
        self._stderr = CellStream(output, STDERR, leave_kernel)
        self._own = {stream: dict(vars(stream)) for stream in (self._stdout, self._stderr)}
        self._attributes = len(vars(self._stdout))
        self._stdin = _shared_stdin()
        getpass.getpass = refuse_input
        self.install()

    def install(self):
        stdout, stderr = self._stdout, self._stderr
        # Setting costs less than looking, and a cell may have deleted them; past the modules, whose class it may have changed.
        _of_sys['stdout'] = _of_sys['__stdout__'] = stdout
        _of_sys['stderr'] = _of_sys['__stderr__'] = stderr
        _of_sys['stdin'] = _of_sys['__stdin__'] = self._stdin
        _of_builtins['input'] = refuse_input
        if len(vars(stdout)) != self._attributes or len(vars(stderr)) != self._attributes:
            for stream in (stdout, stderr):  # a cell put attributes over ours
                vars(stream).clear()
                vars(stream).update(self._own[stream])
