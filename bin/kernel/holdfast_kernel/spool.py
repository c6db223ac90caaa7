"""The spool: must-deliver frames that are not acked yet, in a shared mapping that survives SIGKILL.

Format: docs/wire.md. Appending costs no system call. A frame that does not fit is stored with its longest texts left out.
"""

import os
import struct
import zlib

from . import frames

MAGIC = b'HFSPOOL1'
_HEADER = 64
_END = struct.Struct('>Q')
_RECORD = struct.Struct('>IQI')
_END_AT = 8
_ACKED_AT = 16
_BUSY_AT = 24
_JOBS_AT = 32
_NO_DEADLINE = (1 << 64) - 1


class Spool:
    __slots__ = ('_memory', '_end', '_last')

    def __init__(self, memory):
        """`memory`: a zeroed writable memoryview of the whole file."""
        self._memory = memory
        self._end = _HEADER  # behind the last whole record; what the file's end field says
        self._last = 0  # seq of the last record, 0 before the first
        self._set(_END_AT, _HEADER)
        memory[0:8] = MAGIC

    def append(self, seq, payload):
        """Stores a frame; False if not even its shrunk form fits."""
        room = self.room()
        if len(payload) > room:
            payload = shrink(payload, room)
            if payload is None:
                return False
        start = self._end
        body = start + _RECORD.size
        end = body + len(payload)
        _RECORD.pack_into(self._memory, start, len(payload), seq, zlib.crc32(payload))
        self._memory[body:end] = payload
        self._set(_END_AT, end)
        self._end = end
        self._last = seq
        return True

    def room(self):
        """The longest payload that fits."""
        return len(self._memory) - self._end - _RECORD.size

    def acknowledge(self, acked):
        """Frames up to that seq are recorded by the daemon; when that is all of them the spool is empty again."""
        self._set(_ACKED_AT, acked)
        if acked >= self._last and self._end != _HEADER:
            self._end = _HEADER
            self._set(_END_AT, _HEADER)

    def mark_busy(self, until):
        """A cell runs, at most until then (monotonic seconds), or None: without a deadline."""
        self._set(_BUSY_AT, _NO_DEADLINE if until is None else int(until * 1e9))

    def mark_idle(self):
        self._set(_BUSY_AT, 0)

    def mark_jobs(self, count):
        """So many jobs live, which keep the kernel."""
        self._set(_JOBS_AT, count)

    def _set(self, at, value):
        # One copy of eight bytes, not eight of one as pack_into does: a death leaves the old value or the new one.
        self._memory[at:at + 8] = _END.pack(value)


def is_held(directory, now):
    """Whether the kernel of that run directory has a cell that may still run, or jobs, as its spool says; not if there is none."""
    try:
        fd = os.open(directory + '/spool', os.O_RDONLY | os.O_CLOEXEC)
        try:
            data = os.pread(fd, _HEADER, 0)
        finally:
            os.close(fd)
    except OSError:
        return False
    if len(data) < _HEADER:
        return False
    return _END.unpack_from(data, _BUSY_AT)[0] > now * 1e9 or _END.unpack_from(data, _JOBS_AT)[0] > 0


def omission(size):
    return '[%d bytes left out: the spool was full]' % size


def shrink(payload, room):
    """The payload with its longest texts replaced, longest first, until it fits; None if it cannot."""
    message = frames.from_payload(payload)
    while len(payload) > room:
        holder, key, size = _longest_text(message)
        replacement = omission(size)
        if holder is None or size <= len(replacement):
            return None
        holder[key] = replacement
        payload = frames.to_payload(message)
    return payload


def _longest_text(message):
    best = (None, None, 0)
    pending = [message]
    while pending:
        holder = pending.pop()
        for key, value in holder.items() if isinstance(holder, dict) else enumerate(holder):
            if isinstance(value, str):
                size = len(value.encode('utf-8', 'replace'))
                if size > best[2]:
                    best = (holder, key, size)
            elif isinstance(value, (dict, list)):
                pending.append(value)
    return best


def read(data):
    """(acked, [(seq, payload)]) of a spool file's bytes, up to the first record that is not whole; ValueError if it is no spool."""
    if bytes(data[0:8]) != MAGIC:
        raise ValueError('not a spool')
    end = _END.unpack_from(data, _END_AT)[0]
    acked = _END.unpack_from(data, _ACKED_AT)[0]
    records = []
    last = 0
    at = _HEADER
    while at != end and at + _RECORD.size <= len(data):  # an end within a record is not believed
        length, seq, crc = _RECORD.unpack_from(data, at)
        at += _RECORD.size + length
        payload = bytes(data[at - length:at])
        if seq <= last or at > len(data) or zlib.crc32(payload) != crc:
            break
        records.append((seq, payload))
        last = seq
    return acked, records
