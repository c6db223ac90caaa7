"""The effects file: cells append to it, one line each, wherever they run; here it is read, once, as it grows.

A line is taken by the session that its cell's id names. One of a session that is forgotten by then came too late: a cell ran after its
session's settlement.
"""

import threading
from dataclasses import dataclass


@dataclass(frozen=True)
class Effect:
    """A cell ran: in the namespace `home` of this `life`, which it counted up to `count`, at this instant of the monotonic clock."""

    cell: str
    home: str
    life: str
    count: int
    came: str  # `home|life|count` of the namespace that it is a copy of, or "-"
    tools: str
    at: float


def session_of(cell):
    """The serial number of the session that a cell's id names."""
    return int(cell[1 : cell.index("-")])


def read_line(line):
    """An Effect, the cell whose job ran, or None for a line that is neither."""
    words = line.split(" ")
    if words[0] == "J" and len(words) == 2:
        return words[1]
    if words[0] != "C" or len(words) != 8:
        return None
    return Effect(words[1], words[2], words[3], int(words[4]), words[5], words[6], float(words[7]))


class EffectsFile:
    """Threads take their sessions' lines; what nobody has taken waits."""

    def __init__(self, path):
        self.path = path
        path.touch()
        self._file = open(path, "r", encoding="utf-8")
        self._rest = ""
        self._lock = threading.Lock()
        self._waiting = {}  # serial number -> lines, in the order of the file
        self.broken = []  # lines that no cell writes
        self.count = 0

    def close(self):
        self._file.close()

    def take(self, serial):
        """The lines of a session that came since it was asked last."""
        with self._lock:
            self._read()
            return self._waiting.pop(serial, [])

    def untaken(self):
        """What nobody took."""
        with self._lock:
            self._read()
            return [each for lines in self._waiting.values() for each in lines]

    def _read(self):
        *lines, self._rest = (self._rest + self._file.read()).split("\n")
        for line in lines:
            each = read_line(line)
            if each is None:
                self.broken.append(line)
                continue
            self.count += 1
            self._waiting.setdefault(session_of(each if isinstance(each, str) else each.cell), []).append(each)
