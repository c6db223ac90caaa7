"""The sending and receiving state of one link: numbering, acks, resending, dropping of replays.

Pure: no socket, no clock, no JSON. The same class exists in C++ with the same names; both replay the same vectors.
"""

from collections import deque

from . import limits


class WindowFull(Exception):
    """The frame would exceed 4096 frames or 64 MiB that wait for their ack."""


class Window:
    __slots__ = ('_max_frames', '_max_bytes', '_unacked', '_unsent', '_next', '_received', 'unacked_bytes', 'ack')

    def __init__(self, max_frames=limits.WINDOW_FRAMES, max_bytes=limits.WINDOW_BYTES):
        self._max_frames = max_frames
        self._max_bytes = max_bytes
        self._unacked = deque()  # (seq, payload) ascending without gaps; the last one has seq _next - 1
        self._unsent = 0  # how many at the end of _unacked were not taken for this connection
        self._next = 1  # seq of the next pushed frame
        self._received = 0  # highest seq taken from the peer on this connection
        self.unacked_bytes = 0  # payload bytes in _unacked
        self.ack = 0  # highest seq of the peer that is recorded here; never above _received

    @property
    def first(self):
        """The seq of the oldest frame that the peer has not acked, or of the next one."""
        return self._unacked[0][0] if self._unacked else self._next

    @property
    def last_acked(self):
        """The highest seq of ours that the peer has acked."""
        return self.first - 1

    @property
    def unacked_frames(self):
        return len(self._unacked)

    def has_unsent(self):
        return self._unsent > 0

    def push(self, payload, must=False):
        """Numbers a payload and keeps it until acked; its seq. WindowFull over the limits, unless it must be delivered."""
        if not must and (len(self._unacked) >= self._max_frames or self.unacked_bytes + len(payload) > self._max_bytes):
            raise WindowFull('%d frames, %d bytes wait for their ack' % (len(self._unacked), self.unacked_bytes))
        seq = self._next
        self._next = seq + 1
        self._unacked.append((seq, payload))
        self._unsent += 1
        self.unacked_bytes += len(payload)
        return seq

    def take_unsent(self, max_bytes=None):
        """The frames (seq, payload) to be sent next, in order, at least one if there is any; they count as sent from now on."""
        taken = []
        if not self._unsent:
            return taken
        size = 0
        for index in range(len(self._unacked) - self._unsent, len(self._unacked)):
            frame = self._unacked[index]
            size += len(frame[1])
            if taken and max_bytes is not None and size > max_bytes:
                break
            taken.append(frame)
        self._unsent -= len(taken)
        return taken

    def on_frame(self, seq, ack):
        """Takes the header of a received frame: 'fresh' (the next one), 'duplicate' (a replay or seq 0) or 'gap' (a broken link)."""
        if ack >= self._next:
            return 'gap'  # it acks what was never sent
        self._drop_acked(ack)
        if seq == self._received + 1:
            self._received = seq
            return 'fresh'
        return 'duplicate' if seq <= self._received else 'gap'

    def record(self, seq):
        """What was taken up to seq is recorded here: acks announce it from now on."""
        if seq > self.ack:
            self.ack = seq

    def resume(self, peer_ack, peer_first=0):
        """A new connection: frames up to peer_ack are done with, all others are unsent again; the next one expected from the peer
        is ack + 1, or peer_first if that is later. False, and nothing changed, if peer_ack was never sent."""
        if peer_ack >= self._next:
            return False
        self._drop_acked(peer_ack)
        self._unsent = len(self._unacked)
        self.ack = max(self.ack, peer_first - 1)
        self._received = self.ack
        return True

    def _drop_acked(self, ack):
        unacked = self._unacked
        while unacked and unacked[0][0] <= ack:
            self.unacked_bytes -= len(unacked.popleft()[1])
        if self._unsent > len(unacked):
            self._unsent = len(unacked)
