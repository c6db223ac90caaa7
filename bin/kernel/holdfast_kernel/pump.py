"""Makes frames of what cells wrote and displayed, as far as the window has room; reads their pipes only while there is room.

Called by the owner of the link only.
"""

import select

from . import frames, limits


class Pump:
    __slots__ = ('_output', '_displays', '_window', '_poller', '_watched')

    def __init__(self, output, displays, window, poller):
        self._output = output
        self._displays = displays
        self._window = window
        self._poller = poller
        self._watched = set()  # the pipes that the poller watches

    def pump(self, limit, is_last=False):
        """Makes frames of displays and of what the journal holds, up to that many unacked bytes; whether it made any.

        The last ones of a cell come before its `done` however many wait: they are no more than the ring holds.
        """
        output, window = self._output, self._window
        made = False
        if not output.is_attached and limit == limits.OUTPUT_WINDOW:
            return made  # what nobody takes stays in the ring: the newest is kept
        if self._displays.has_pending():
            made = self._displays.push(window, limit)
        while window.unacked_bytes < limit and output.has_unsent():
            if window.unacked_frames >= limits.WINDOW_FRAMES and not is_last:
                break  # before anything is pulled: what is pulled has to be sent
            chunk = output.pull()
            if chunk is None:
                break
            made = True
            window.push(frames.output_payload(chunk.cell, chunk.stream, chunk.offset, chunk.text), must=True)
        return made

    def watch_pipes(self):
        """Reads from the pipes only while there is room, so that a flooding child waits like a flooding cell."""
        wanted = set(self._output.pipe_fds()) if self._output.has_room() else set()
        if wanted == self._watched:
            return self._output.close_ended()
        for fd in self._watched - wanted:
            try:
                self._poller.unregister(fd)
            except (KeyError, OSError):
                pass
        for fd in wanted - self._watched:
            self._poller.register(fd, select.POLLIN)
        self._watched = wanted
        self._output.close_ended()
