"""What is kept of a job's output: its first and its last 8 MiB in a file, exact totals, which byte came from which stream.

The file is written by the kernel (`Kept`: what came through pipes), or by the job itself (`Direct`: a job that outlives its kernel must
not lose its standard output with it). Bytes, not text: `page_of` makes texts of them. Opened for each write: no descriptor stays that a
cell could close. What cannot be written is counted and named as dropped.

    0      head: bytes [0, HEAD) of the output
    HEAD   ring: byte p at HEAD + (p - HEAD) mod TAIL
    SIZE   for each of those one byte: 0 stdout, 1 stderr
"""

import codecs
import os
import re

from os import close, pread, pwrite  # bound here: a cell may replace those of the module

from . import limits, system

STDOUT, STDERR = 0, 1
NAMES = ('stdout', 'stderr')
HEAD, TAIL = limits.JOB_HEAD, limits.JOB_TAIL
SIZE = HEAD + TAIL
_RUNS = re.compile(b'\0+|\1+')


class Kept:
    def __init__(self, opener, name):
        """`opener(name, flags)`: a descriptor of a file of the run directory."""
        self._opener = opener
        self._name = name
        self.total = 0  # bytes of both streams so far
        self._lost = []  # [from, to) that could not be written, ascending, at most JOB_GAPS
        self._has_labels = False  # whether a byte of stderr was ever written: before that all labels are 0

    def add(self, stream, data):
        """Appends what a stream gave."""
        at = self.total
        self.total += len(data)
        try:
            fd = self._opener(self._name, os.O_WRONLY | os.O_CREAT)
            try:
                self._write(fd, stream, at, data)
            finally:
                close(fd)
        except OSError:
            self._lose(at, self.total)

    def _write(self, fd, stream, at, data):
        self._has_labels = self._has_labels or stream != STDOUT
        data = memoryview(data)
        while data:
            place, room = _place(at)
            piece = data[:room]
            _write_all(fd, piece, place)
            if self._has_labels:
                _write_all(fd, memoryview((b'\1' if stream else b'\0') * len(piece)), SIZE + place)
            data = data[len(piece):]
            at += len(piece)

    def _lose(self, start, end):
        if self._lost and (self._lost[-1][1] == start or len(self._lost) >= limits.JOB_GAPS):
            self._lost[-1][1] = end
        else:
            self._lost.append([start, end])

    def dropped(self):
        """[(from, to)) of what is not kept, ascending, apart from each other."""
        return _merged(self._lost + ([[HEAD, self.total - TAIL]] if self.total > SIZE else []))

    def read(self, offset, limit):
        """[(stream, offset, bytes)] of at most `limit` kept bytes from that offset on."""
        pieces = []
        try:
            fd = self._opener(self._name, os.O_RDONLY)
        except OSError:
            return pieces
        try:
            for start, end in _kept_ranges(offset, self.total, self.dropped()):
                while start < end and limit > 0:
                    place, room = _place(start)
                    size = min(room, end - start, limit)
                    data = pread(fd, size, place)
                    if len(data) < size:
                        return pieces  # somebody cut the file
                    pieces += self._labelled(fd, place, start, data)
                    start += size
                    limit -= size
        except OSError:
            pass
        finally:
            close(fd)
        return pieces

    def _labelled(self, fd, place, start, data):
        labels = pread(fd, len(data), SIZE + place) if self._has_labels else b''
        labels += b'\0' * (len(data) - len(labels))
        return [(labels[run.start()], start + run.start(), data[run.start():run.end()]) for run in _RUNS.finditer(labels)]

    def trim(self):
        """Nothing to do: the ring is overwritten."""

    def remove(self, remover):
        remover(self._name)


class Direct:
    """The output of a job that writes its file itself: both streams as one. Trimmed by making holes; grows when nobody trims."""

    def __init__(self, opener, name):
        self._opener = opener
        self._name = name
        self._hole = HEAD  # up to here the middle was given back

    def open_for_job(self):
        return self._opener(self._name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    @property
    def total(self):
        try:
            fd = self._opener(self._name, os.O_RDONLY)
        except OSError:
            return 0
        try:
            return os.fstat(fd).st_size
        finally:
            close(fd)

    def dropped(self):
        return [(HEAD, self._hole)] if self._hole > HEAD else []

    def read(self, offset, limit):
        pieces = []
        try:
            fd = self._opener(self._name, os.O_RDONLY)
        except OSError:
            return pieces
        try:
            for start, end in _kept_ranges(offset, os.fstat(fd).st_size, self.dropped()):
                data = pread(fd, min(end - start, limit), start)
                if data:
                    pieces.append((STDOUT, start, data))
                    limit -= len(data)
                if limit <= 0:
                    break
        finally:
            close(fd)
        return pieces

    def trim(self):
        """Gives the blocks of the middle back to the file system."""
        try:
            fd = self._opener(self._name, os.O_RDWR)
        except OSError:
            return
        try:
            end = os.fstat(fd).st_size - TAIL
            if end - self._hole >= limits.JOB_TRIM:
                system.punch_hole(fd, self._hole, end - self._hole)
                self._hole = end
        except OSError:
            pass  # a file system without holes: the file grows
        finally:
            close(fd)

    def remove(self, remover):
        remover(self._name)


def _place(at):
    """(position in the file, bytes that lie side by side from there) of an output byte."""
    if at < HEAD:
        return at, HEAD - at
    turn = (at - HEAD) % TAIL
    return HEAD + turn, TAIL - turn


def _write_all(fd, data, place):
    while data:
        written = pwrite(fd, data, place)
        data = data[written:]
        place += written


def _merged(ranges):
    merged = []
    for start, end in sorted((max(0, start), end) for start, end in ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif end > start:
            merged.append((start, end))
    return merged


def _kept_ranges(offset, total, dropped):
    at = offset
    for start, end in list(dropped) + [(total, total)]:
        if at < start:
            yield at, start
        at = max(at, end)


def page_of(kept, offset, limit, final):
    """(chunks [{stream, offset, bytes, text}], next_offset): the texts of a page in written order, invalid bytes replaced.

    A character that is split over writes is whole; one that the page's end splits belongs to the next page, if one can come."""
    total = kept.total
    offset = max(0, min(offset, total))
    pieces = _joined(kept.read(offset, limit))
    if not pieces:
        return [], total
    last_stream, last_at, last_data = pieces[-1]
    end = last_at + len(last_data)
    if not (final and end >= total):
        cut = _split_character(last_data)
        if cut and (end - cut > offset or end >= total):
            end -= cut
            pieces[-1] = (last_stream, last_at, last_data[:-cut])
    decoders = [codecs.getincrementaldecoder('utf-8')('replace') for _name in NAMES]
    chunks = [{'stream': NAMES[stream], 'offset': at, 'bytes': len(data), 'text': decoders[stream].decode(data)}
              for stream, at, data in pieces if data]
    for stream, decoder in enumerate(decoders):
        rest = decoder.decode(b'', True)
        if rest:
            last = [chunk for chunk in chunks if chunk['stream'] == NAMES[stream]][-1]
            last['text'] += rest
    return chunks, _behind_drops(end, kept.dropped())


def _joined(pieces):
    """Without the seams between head and ring, at which a character may lie."""
    joined = []
    for stream, at, data in pieces:
        if joined and joined[-1][0] == stream and joined[-1][1] + len(joined[-1][2]) == at:
            joined[-1] = (stream, joined[-1][1], joined[-1][2] + data)
        else:
            joined.append((stream, at, data))
    return joined


def _behind_drops(at, dropped):
    for start, end in dropped:
        if start <= at < end:
            at = end
    return at


def _split_character(data):
    """How many bytes at the end are the beginning of a character."""
    for size in (1, 2, 3):
        lead = data[-size] if size <= len(data) else 0
        if lead & 0xC0 == 0xC0:
            wanted = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4 if lead < 0xF5 else 1
            return size if size < wanted else 0
        if lead & 0x80 == 0:
            return 0
    return 0


def text_of(kept, offset, end, with_gaps):
    """The text between two offsets, streams mixed in written order."""
    pieces = []
    while offset < end:
        chunks, following = page_of(kept, offset, min(end - offset, limits.JOB_PAGE_MOST), True)
        for chunk in chunks:
            if with_gaps and chunk['offset'] > offset:
                pieces.append('\n[... %d bytes left out ...]\n' % (chunk['offset'] - offset))
            pieces.append(chunk['text'])
            offset = chunk['offset'] + chunk['bytes']
        if following <= offset and not chunks:
            break
        if with_gaps and following > offset:
            pieces.append('\n[... %d bytes left out ...]\n' % (following - offset))
        offset = max(offset, following)
    return ''.join(pieces)
