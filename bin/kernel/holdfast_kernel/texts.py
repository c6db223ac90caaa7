"""Cutting of UTF-8 at character boundaries, and the head and tail that are kept of a long text. Pure."""

from . import limits

_HEAD = limits.HEAD
_TAIL = limits.TAIL


def boundary(data, position):
    """The greatest character boundary of valid UTF-8 that is not behind position."""
    if position >= len(data):
        return len(data)
    while position > 0 and data[position] & 0xC0 == 0x80:
        position -= 1
    return position


def boundary_after(data, position):
    """The smallest character boundary that is not before position."""
    while position < len(data) and data[position] & 0xC0 == 0x80:
        position += 1
    return position


def bounded(text, limit):
    """The text, its middle left out if it has more than limit bytes of UTF-8."""
    if len(text) * 4 <= limit:
        return text
    data = text.encode('utf-8', 'backslashreplace')
    if len(data) <= limit:
        return text
    keep = limit - 64
    head = boundary(data, keep * 3 // 4)
    tail = boundary_after(data, len(data) - keep // 4)
    return '%s\n[... %d bytes left out ...]\n%s' % (data[:head].decode(), tail - head, data[tail:].decode())


EMPTY = {'head': '', 'tail': '', 'bytes': 0}  # of a stream that nothing was written to


class HeadTail:
    """The first 48 KiB and the last 16 KiB of a text, valid UTF-8, that is only added to, and its exact size."""

    __slots__ = ('add', '_unsettled', '_size', '_head', '_rest')

    def __init__(self):
        self._unsettled = []  # what was added since it was settled last
        self.add = self._unsettled.append  # bytes; this is on the way of each print. Who adds much settles now and then
        self._size = 0  # of what is settled
        self._head = bytearray()  # at most HEAD bytes
        self._rest = bytearray()  # the newest of what did not fit into the head: all of it, or at least TAIL bytes

    def settle(self):
        """Joins what was added."""
        data = b''.join(self._unsettled)
        self._unsettled.clear()
        before = self._size
        self._size = before + len(data)
        if before < _HEAD:
            room = _HEAD - before
            self._head += data[:room]
            if len(data) <= room:
                return
            data = data[room:]
        if len(data) > _TAIL:
            # One byte more than wanted keeps "all of it" and "cut" apart: see parts().
            self._rest[:] = data[-_TAIL - 1:] if self._size > _HEAD + _TAIL else data
            return
        rest = self._rest
        rest += data
        if len(rest) > 4 * _TAIL:
            del rest[:-_TAIL]

    def parts(self):
        """{head, tail, bytes} as `done` has them."""
        self.settle()
        if self._size <= _HEAD + _TAIL:
            return {'head': (self._head + self._rest).decode('utf-8', 'replace'), 'tail': '', 'bytes': self._size}
        # A character that the cut splits is left out on both sides; all else is valid.
        head, tail = (data.decode('utf-8', 'ignore') for data in (self._head, self._rest[-_TAIL:]))
        return {'head': head, 'tail': tail, 'bytes': self._size}
