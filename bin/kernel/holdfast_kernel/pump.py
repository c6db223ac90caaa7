"""Makes frames of what cells wrote and displayed, as far as the window has room; reads their pipes only while there is room.

Called by the owner of the link only.
"""

import select

from . import frames, limits
from .window import WindowFull

_STREAM_NAMES = {1: 'stdout', 2: 'stderr'}


class Pump:
    __slots__ = ('_output', '_displays', '_window', '_poller', '_watched')

    def __init__(self, output, displays, window, poller):
        self._output = output
        self._displays = displays
        self._window = window
        self._poller = poller
        self._watched = set()  # the pipes that the poller watches

    def pump(self, limit):
        """Makes frames of displays and of what the journal holds, up to that many unacked bytes; whether it made any."""
        output, window = self._output, self._window
        made = False
        if not output.is_attached and limit == limits.OUTPUT_WINDOW:
            return made  # what nobody takes stays in the ring: the newest is kept
        if self._displays.has_pending():
            made = self._displays.push(window, limit)
        while window.unacked_bytes < limit and output.has_unsent():
            chunk = output.pull()
            if chunk is None:
                break
            made = True
            try:
                window.push(frames.to_payload({'type': 'output', 'cell': chunk.cell.decode(), 'stream': _STREAM_NAMES[chunk.stream],
                                               'offset': chunk.offset, 'text': chunk.text.decode()}))
            except WindowFull:
                break
        return made

    def watch_pipes(self):
        """Reads from the pipes only while there is room, so that a flooding child waits like a flooding cell."""
        wanted = set(self._output.pipe_fds()) if self._output.has_room() else set()
        if wanted == self._watched:
            return
        for fd in self._watched - wanted:
            try:
                self._poller.unregister(fd)
            except (KeyError, OSError):
                pass
        for fd in wanted - self._watched:
            self._poller.register(fd, select.POLLIN)
        self._watched = wanted
