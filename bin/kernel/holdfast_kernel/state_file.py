"""The file of a saved namespace: docs/state.md. Writes records at given places, reads a file only if all of it is whole.

Knows nothing of pickles. Refuses, naming what was found, a file that is truncated, damaged, newer, another's or something else.
"""

import json
import os
import stat
import struct
import zlib

from . import limits

MAGIC = b'HFSTATE\n'
VERSION = 1
_HEADER = struct.Struct('>8sII')  # magic, version, crc32 of the two
_RECORD = struct.Struct('>II')  # length and crc32 of the payload
_META = struct.Struct('>I')  # length of the JSON at the payload's start


class BadState(Exception):
    """A file that is not restored; the text says what was found."""


class Record:
    """Where a record's body lies, and what its JSON says."""

    __slots__ = ('meta', 'at', 'length')

    def __init__(self, meta, at, length):
        self.meta = meta
        self.at = at
        self.length = length


def header():
    start = _HEADER.pack(MAGIC, VERSION, 0)[:-4]
    return start + _META.pack(zlib.crc32(start))


def record(meta, body=b''):
    text = json.dumps(meta).encode()
    payload = b''.join((_META.pack(len(text)), text, body))
    return _RECORD.pack(len(payload), zlib.crc32(payload)) + payload


def write_at(fd, data, at):
    data = memoryview(data)
    while data:
        written = os.pwrite(fd, data, at)
        data = data[written:]
        at += written


def open_state(path):
    """A descriptor of the file, to be closed by the caller; BadState if it cannot be one."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise BadState('cannot restore from %s: %s' % (path, error.strerror))
    found = os.fstat(fd)
    if stat.S_ISREG(found.st_mode) and found.st_uid in (0, os.geteuid()) and found.st_size <= limits.STATE_FILE:
        return fd
    os.close(fd)
    if not stat.S_ISREG(found.st_mode):
        raise BadState('cannot restore from %s: it is no file' % path)
    if found.st_size > limits.STATE_FILE:
        raise BadState('cannot restore from %s: %d bytes, at most %d' % (path, found.st_size, limits.STATE_FILE))
    raise BadState('cannot restore from %s: it belongs to user %d, wanted %d' % (path, found.st_uid, os.geteuid()))


def read_records(fd, path):
    """(records, meta of the end) of a file that is whole; BadState otherwise."""
    start = os.pread(fd, _HEADER.size, 0)
    if len(start) < _HEADER.size or start[:8] != MAGIC:
        raise BadState('cannot restore from %s: it is no saved namespace' % path)
    _magic, version, crc = _HEADER.unpack(start)
    if crc != zlib.crc32(start[:-4]):
        raise BadState('cannot restore from %s: it is damaged at its start' % path)
    if version != VERSION:
        raise BadState('cannot restore from %s: format %d, this program reads %d; restore it with the program that wrote it'
                       % (path, version, VERSION))
    records = []
    at = _HEADER.size
    total = zlib.crc32(start)
    while True:
        head = os.pread(fd, _RECORD.size, at)
        if len(head) < _RECORD.size:
            raise BadState('cannot restore from %s: it ends at byte %d without its last record' % (path, at + len(head)))
        length, crc = _RECORD.unpack(head)
        payload = os.pread(fd, length, at + _RECORD.size) if length <= limits.STATE_FILE else b''
        if len(payload) < length:
            raise BadState('cannot restore from %s: it ends within the record at byte %d, or that is damaged' % (path, at))
        if zlib.crc32(payload) != crc or length < _META.size:
            raise BadState('cannot restore from %s: the record at byte %d is damaged' % (path, at))
        meta_length = _META.unpack_from(payload)[0]
        meta = json.loads(payload[_META.size:_META.size + meta_length])
        body = _META.size + meta_length
        if meta['type'] == 'end':
            if meta['records'] != len(records) or meta['crc'] != total or os.pread(fd, 1, at + _RECORD.size + length):
                raise BadState('cannot restore from %s: records are missing, moved or added' % path)
            return records, meta
        records.append(Record(meta, at + _RECORD.size + body, length - body))
        total = zlib.crc32(payload, zlib.crc32(head, total))
        at += _RECORD.size + length


def body_of(fd, one):
    """The body of a record."""
    return os.pread(fd, one.length, one.at)
