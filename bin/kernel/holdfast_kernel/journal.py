"""The journal: a ring of labelled output in a shared mapping, newest kept.

The source of output frames (`pull`) and the evidence after a death. Format: docs/wire.md. Not thread-safe: output.py locks.
"""

import struct
from collections import deque, namedtuple

from . import limits

MAGIC = b'HFJRNL01'
_HEADER = 64
_POSITION = struct.Struct('>Q')
_STATE = struct.Struct('>QQQQ')  # head, tail, bytes of stdout and of stderr
_RECORD = struct.Struct('>IBBHQ')
_RECORD_SIZE = _RECORD.size
_pack_state = _STATE.pack  # bound here, as below: this is on the way of each print
_pack_record = _RECORD.pack
_unpack_record = _RECORD.unpack_from
_HEAD_AT = 8
_TAIL_AT = 16
_STATE_END = _HEAD_AT + _STATE.size
_SHARE = 64  # the part of the ring that is given up at once, so that not each record has to move the tail
_PULLED = 96 * 1024  # bytes of the ring that one pull looks at: more than the longest record has

Chunk = namedtuple('Chunk', 'stream cell offset text')  # stream 1 or 2; cell and text are bytes


class Journal:
    __slots__ = ('_memory', 'ring', '_head', '_tail', '_sent', '_written', '_pulled', '_edges', '_next_edge', 'dropped')

    def __init__(self, memory):
        """`memory`: a zeroed writable memoryview of the whole file."""
        self._memory = memory
        self.ring = len(memory) - _HEADER
        self._head = 0  # logical position behind the newest record
        self._tail = 0  # logical position of the oldest whole record
        self._sent = 0  # logical position of the first record that no output frame was made of; tail <= sent <= head
        self._written = 0  # bytes of text before the head
        self._pulled = 0  # bytes of text before `_sent`
        self._edges = deque()  # (position behind a record, bytes of text before it), one for each share of the ring, ascending
        self._next_edge = self.ring // _SHARE  # the first record that ends there or behind is the next one of them
        self.dropped = 0  # bytes of text that were overwritten before a frame was made of them
        memory[0:8] = MAGIC

    @property
    def sent(self):
        return self._sent

    def has_unsent(self):
        return self._sent < self._head

    def unsent_room(self):
        """Bytes of records that can be appended without overwriting what no frame was made of."""
        return self.ring - (self._head - self._sent)

    @staticmethod
    def record_size(cell, text_size):
        return _RECORD_SIZE + len(cell) + text_size

    def append(self, stream, cell, offset, text, counted=(0, 0, 0), spare_unsent=False):
        """Adds one record, overwriting the oldest; its text is at most JOURNAL_RECORD bytes.

        `counted`: bytes that its cell has written by stream, kept or not. False, and nothing is added, if `spare_unsent` and the
        record would overwrite what no frame was made of."""
        record = _pack_record(len(text), stream, 0, len(cell), offset) + cell + text
        size = len(record)
        head = self._head
        end = head + size
        ring = self.ring
        if end - self._tail > ring:
            if spare_unsent and end - self._sent > ring:
                return False
            self._make_room(end - ring)
        at = head % ring
        first = ring - at
        at += _HEADER
        memory = self._memory
        if size <= first:
            memory[at:at + size] = record
        else:
            memory[at:at + first] = record[:first]
            memory[_HEADER:_HEADER + size - first] = record[first:]
        memory[_HEAD_AT:_STATE_END] = _pack_state(end, self._tail, counted[1], counted[2])  # one copy: a death tears no number
        self._head = end
        self._written += len(text)
        if end >= self._next_edge:
            self._edges.append((end, self._written))
            self._next_edge = end + ring // _SHARE
        return True

    def append_evidence(self, stream, cell, offset, text, counted):
        """Adds a record that no frame is made of, unless it could take the place of one that has to be sent: then it is counted."""
        if self._sent != self._head:
            self._memory[_HEAD_AT:_STATE_END] = _pack_state(self._head, self._tail, counted[1], counted[2])
            return
        self.append(stream, cell, offset, text, counted)
        self._sent, self._pulled = self._head, self._written

    def _make_room(self, wanted):
        """Moves the tail to the first known edge that is not before that position, over nothing unsent that can stay."""
        edge, written = 0, 0
        while edge < wanted:
            edge, written = self._edges.popleft() if self._edges else (self._head, self._written)
        if edge > self._sent >= wanted:
            self._edges.appendleft((edge, written))
            edge = self._sent
        elif edge > self._sent:
            self.dropped += written - self._pulled
            self._sent, self._pulled = edge, written
        self._tail = edge
        self._memory[_TAIL_AT:_TAIL_AT + 8] = _POSITION.pack(edge)

    def pull(self, max_text=limits.OUTPUT_TEXT):
        """The next text to be sent as one frame: adjacent records of one cell and stream; None if all is sent."""
        unsent = self._head - self._sent
        if not unsent:
            return None
        data = self._bytes(self._sent, min(unsent, _PULLED))
        _size, stream, _zero, cell_size, offset = _unpack_record(data)
        cell = data[_RECORD_SIZE:_RECORD_SIZE + cell_size]
        texts = []
        total = at = 0
        last = len(data) - _RECORD_SIZE - cell_size
        while at <= last:
            size, next_stream, _zero, next_cell_size, next_offset = _unpack_record(data, at)
            begin = at + _RECORD_SIZE + cell_size
            end = begin + size
            if (next_offset != offset + total or next_stream != stream or next_cell_size != cell_size or end > len(data)
                    or total + size > max_text and at or not data.startswith(cell, at + _RECORD_SIZE)):
                break
            texts.append(data[begin:end])
            total += size
            at = end
        self._sent += at
        self._pulled += total
        return Chunk(stream, cell, offset, texts[0] if len(texts) == 1 else b''.join(texts))

    def _bytes(self, position, size):
        return _ring_bytes(self._memory, self.ring, position, size)


def _ring_bytes(memory, ring, position, size):
    at = position % ring
    first = ring - at
    at += _HEADER
    if first >= size:
        return bytes(memory[at:at + size])
    return bytes(memory[at:at + first]) + bytes(memory[_HEADER:_HEADER + size - first])


def read(data):
    """The chunks of a journal file's bytes, oldest first; ValueError if it is no journal."""
    if bytes(data[0:8]) != MAGIC:
        raise ValueError('not a journal')
    ring = len(data) - _HEADER
    head = _POSITION.unpack_from(data, _HEAD_AT)[0]
    position = _POSITION.unpack_from(data, _TAIL_AT)[0]
    chunks = []
    while position + _RECORD.size <= head:
        size, stream, _zero, cell_size, offset = _RECORD.unpack(_ring_bytes(data, ring, position, _RECORD.size))
        position += _RECORD.size
        if position + cell_size + size > head or cell_size + size > ring:
            break
        cell = _ring_bytes(data, ring, position, cell_size)
        chunks.append(Chunk(stream, cell, offset, _ring_bytes(data, ring, position + cell_size, size)))
        position += cell_size + size
    return chunks
