"""The journal: a ring of labelled output in a shared mapping, newest kept.

The source of output frames (`pull`) and the evidence after a death. Format: docs/wire.md. Not thread-safe: output.py locks.
The newest record is open: text that goes on from it is added to it, a copy of bytes and a new head (a print costs no more).
"""

import ctypes
import struct
from collections import deque, namedtuple

from . import limits

MAGIC = b'HFJRNL01'
_HEADER = 64
_POSITION = struct.Struct('>Q')
_RECORD = struct.Struct('>IBBHQ')
_RECORD_SIZE = _RECORD.size
_pack_record = _RECORD.pack  # bound here, as below: this is on the way of much output
_pack_size = struct.Struct('>I').pack
_unpack_record = _RECORD.unpack_from
_HEAD_AT = 8
_TAIL_AT = 16
_State = ctypes.c_uint64.__ctype_be__ * 4  # behind the magic; each is set in one copy: a death tears no number
_HEAD, _TAIL, _COUNTED = 0, 1, 1  # indices in it; those of the streams follow _COUNTED
_SHARE = 64  # the part of the ring that is given up at once, so that not each record has to move the tail; an open record gets no longer
_AHEAD = 96 * 1024  # bytes of the ring that are copied at once to make frames of
_LEAST_AHEAD = 32 * 1024  # more than the longest record has

Chunk = namedtuple('Chunk', 'stream cell offset text')  # stream 1 or 2; cell and text are bytes


class Journal:
    __slots__ = ('_memory', '_state', 'ring', '_share', '_head', '_tail', '_sent', '_headers', '_pulled', '_edges', '_next_edge', '_newest',
                 '_text', 'room', '_ahead', 'dropped')

    def __init__(self, memory):
        """`memory`: a zeroed writable memoryview of the whole file."""
        self._memory = memory
        self._state = _State.from_buffer(memory, _HEAD_AT)
        self.ring = len(memory) - _HEADER
        self._share = self.ring // _SHARE
        self._head = 0  # logical position behind the newest record
        self._tail = 0  # logical position of the oldest whole record
        self._sent = 0  # logical position of the first record that no output frame was made of; tail <= sent <= head
        self._headers = 0  # bytes before the head that are no text
        self._pulled = 0  # bytes of text before `_sent`
        self._edges = deque()  # (position of a record, bytes of text before it), one for each share of the ring, ascending
        self._next_edge = self._share  # the first record that begins there or behind is the next one of them
        self._newest = 0  # logical position of the newest record
        self._text = 0  # the same of its text; 0: it is closed, or there is none
        self.room = 0  # bytes of text that can be added to it
        self._ahead = (0, b'')  # a position, and what was there when frames were made last
        self.dropped = 0  # bytes of text that were overwritten before a frame was made of them
        memory[0:8] = MAGIC

    def has_unsent(self):
        return self._sent < self._head

    def unsent_room(self):
        """Bytes of records that can be appended without overwriting what no frame was made of."""
        return self.ring - (self._head - self._sent)

    def append(self, stream, cell, offset, text, counted=(0, 0, 0), spare_unsent=False):
        """Adds one record, open, overwriting the oldest; its text is at most JOURNAL_RECORD bytes.

        `counted`: bytes that its cell has written by stream, kept or not. False, and nothing is added, if `spare_unsent` and the
        record would overwrite what no frame was made of."""
        head, ring = self._head, self.ring
        header = _RECORD_SIZE + len(cell)
        end = head + header + len(text)
        if self._text:
            self._close()
        if end - self._tail > ring:
            if spare_unsent and end - self._sent > ring:
                return False
            self._make_room(end - ring)
        if head >= self._next_edge:
            self._edges.append((head, head - self._headers))
            self._next_edge = head + self._share
        self._set(head, _pack_record(0, stream, 0, len(cell), offset) + cell + text)
        # One line: a trace function may raise between two.
        self._newest, self._text, self._head, self._headers = head, head + header, end, self._headers + header
        state = self._state
        state[_COUNTED + 1] = counted[1]
        state[_COUNTED + 2] = counted[2]
        state[_HEAD] = end
        # Not into the tail, and not around the ring's end: adding is to be one copy.
        room, free, straight = self._share, ring - (end - self._tail), ring - end % ring
        if free < room:
            room = free
        self.room = straight if straight < room else room
        return True

    def extend(self, stream, text, count):
        """Adds text to the newest record, of which it is the continuation: at most `room` bytes. `count`: as counted[stream]."""
        size = len(text)
        head = self._head
        at = head % self.ring + _HEADER
        self._memory[at:at + size] = text
        self.room -= size
        state = self._state
        state[_COUNTED + stream] = count
        state[_HEAD] = self._head = head + size

    def _close(self):
        """The open record gets its size: what is written from now on is another one."""
        self._set(self._newest, _pack_size(self._head - self._text))
        self._text = self.room = 0

    def _set(self, position, data):
        at = position % self.ring + _HEADER
        end = at + len(data)
        memory = self._memory
        if end <= len(memory):
            memory[at:end] = data
        else:
            first = len(memory) - at
            memory[at:] = data[:first]
            memory[_HEADER:_HEADER + len(data) - first] = data[first:]

    def append_evidence(self, stream, cell, offset, text, counted):
        """Adds a record that no frame is made of, unless it could take the place of one that has to be sent: then it is counted."""
        if self._sent != self._head:
            self._state[_COUNTED + 1], self._state[_COUNTED + 2] = counted[1], counted[2]
            return
        self.append(stream, cell, offset, text, counted)
        self.room = 0  # what is written from now on may have to be sent
        self._sent, self._pulled = self._head, self._head - self._headers

    def _make_room(self, wanted):
        """Moves the tail to the first known edge that is not before that position, over nothing unsent that can stay."""
        edge, written = 0, 0
        while edge < wanted:
            edge, written = self._edges.popleft() if self._edges else (self._head, self._head - self._headers)
        if edge > self._sent >= wanted:
            self._edges.appendleft((edge, written))
            edge = self._sent
        elif edge > self._sent:
            self.dropped += written - self._pulled
            self._sent, self._pulled = edge, written
        self._tail = edge
        self._state[_TAIL] = edge

    def pull(self, max_text=limits.OUTPUT_TEXT):
        """The next text to be sent as one frame: adjacent records of one cell and stream; None if all is sent."""
        if self._sent == self._head:
            return None
        data, first = self._look_ahead()
        size, stream, _zero, cell_size, offset = _unpack_record(data, first)
        header = _RECORD_SIZE + cell_size
        cell = data[first + _RECORD_SIZE:first + header]
        at = first + header + size
        texts = [data[at - size:at]]
        total = size
        last = len(data) - header
        while at <= last:
            size, next_stream, _zero, next_cell_size, next_offset = _unpack_record(data, at)
            end = at + header + size
            if (next_offset != offset + total or next_stream != stream or next_cell_size != cell_size or end > len(data)
                    or total + size > max_text or not data.startswith(cell, at + _RECORD_SIZE)):
                break
            texts.append(data[end - size:end])
            total += size
            at = end
        self._sent += at - first
        self._pulled += total
        if self._sent == self._head:
            self._ahead = (0, b'')
        return Chunk(stream, cell, offset, texts[0] if len(texts) == 1 else b''.join(texts))

    def _look_ahead(self):
        """(bytes, index of the first unsent record in them): that one and some more, copied together, whatever a frame takes."""
        if self._text:
            self._close()
        start, data = self._ahead
        unsent = self._head - self._sent
        at = self._sent - start
        if len(data) - at < min(unsent, _LEAST_AHEAD):
            data, at = _ring_bytes(self._memory, self.ring, self._sent, min(unsent, _AHEAD)), 0
            self._ahead = (self._sent, data)
        return data, at


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
        size = size or max(0, head - position - cell_size)  # the open one
        if position + cell_size + size > head or cell_size + size > ring:
            break
        cell = _ring_bytes(data, ring, position, cell_size)
        chunks.append(Chunk(stream, cell, offset, _ring_bytes(data, ring, position + cell_size, size)))
        position += cell_size + size
    return chunks
