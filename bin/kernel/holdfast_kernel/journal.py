"""The journal: a ring of labelled output in a shared mapping, newest kept.

The source of output frames (`pull`) and the evidence after a death. Format: docs/wire.md. Not thread-safe: output.py locks.
"""

import struct
from collections import namedtuple

from . import limits

MAGIC = b'HFJRNL01'
_HEADER = 64
_POSITION = struct.Struct('>Q')
_RECORD = struct.Struct('>IBBHQ')
_HEAD_AT = 8
_TAIL_AT = 16
_TOTALS_AT = 24
_TOTALS = struct.Struct('>QQ')

Chunk = namedtuple('Chunk', 'stream cell offset text')  # stream 1 or 2; cell and text are bytes


class Journal:
    __slots__ = ('_memory', 'ring', '_head', '_tail', '_sent', 'dropped')

    def __init__(self, memory):
        """`memory`: a zeroed writable memoryview of the whole file."""
        self._memory = memory
        self.ring = len(memory) - _HEADER
        self._head = 0  # logical position behind the newest record
        self._tail = 0  # logical position of the oldest whole record
        self._sent = 0  # logical position of the first record that no output frame was made of; tail <= sent <= head
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
        return _RECORD.size + len(cell) + text_size

    def append(self, stream, cell, offset, text):
        """Adds one record, overwriting the oldest; its text is at most JOURNAL_RECORD bytes."""
        record = _RECORD.pack(len(text), stream, 0, len(cell), offset) + cell + text
        head = self._head
        end = head + len(record)
        if end - self._tail > self.ring:
            self._make_room(end - self.ring)
        at = head % self.ring
        first = self.ring - at
        at += _HEADER
        if first >= len(record):
            self._memory[at:at + len(record)] = record
        else:
            self._memory[at:at + first] = record[:first]
            self._memory[_HEADER:_HEADER + len(record) - first] = record[first:]
        self._head = end
        self._memory[_HEAD_AT:_HEAD_AT + 8] = _POSITION.pack(end)  # one copy: a death leaves the old value or the new one

    def count(self, stdout_bytes, stderr_bytes):
        """What the cell of the newest record has written so far, kept or not."""
        _TOTALS.pack_into(self._memory, _TOTALS_AT, stdout_bytes, stderr_bytes)

    def append_evidence(self, stream, cell, offset, text):
        """Adds a record that no frame is made of, unless it could take the place of one that has to be sent."""
        if self._sent != self._head:
            return
        self.append(stream, cell, offset, text)
        self._sent = self._head

    def _make_room(self, tail_wanted):
        while self._tail < tail_wanted:
            size, stream, cell_size, _offset = self._header(self._tail)
            if self._tail == self._sent:
                self.dropped += size
                self._sent += _RECORD.size + cell_size + size
            self._tail += _RECORD.size + cell_size + size
        self._memory[_TAIL_AT:_TAIL_AT + 8] = _POSITION.pack(self._tail)

    def pull(self, max_text=limits.OUTPUT_TEXT):
        """The next text to be sent as one frame: adjacent records of one cell and stream; None if all is sent."""
        if self._sent >= self._head:
            return None
        size, stream, cell_size, offset = self._header(self._sent)
        cell = self._bytes(self._sent + _RECORD.size, cell_size)
        texts = []
        total = 0
        position = self._sent
        while True:
            position += _RECORD.size + cell_size
            texts.append(self._bytes(position, size))
            total += size
            position += size
            self._sent = position
            if position >= self._head:
                break
            size, next_stream, next_cell_size, next_offset = self._header(position)
            if (next_stream != stream or next_cell_size != cell_size or next_offset != offset + total or total + size > max_text
                    or self._bytes(position + _RECORD.size, cell_size) != cell):
                break
        return Chunk(stream, cell, offset, texts[0] if len(texts) == 1 else b''.join(texts))

    def _header(self, position):
        at = position % self.ring
        if at + _RECORD.size <= self.ring:
            size, stream, _zero, cell_size, offset = _RECORD.unpack_from(self._memory, _HEADER + at)
        else:
            size, stream, _zero, cell_size, offset = _RECORD.unpack(self._bytes(position, _RECORD.size))
        return size, stream, cell_size, offset

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
