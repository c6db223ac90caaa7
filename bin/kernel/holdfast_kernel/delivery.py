"""Must-deliver frames: numbered and put into the spool before anything sends them. Called by the owner of the link."""

from . import failpoints, frames, limits


class Delivery:
    __slots__ = ('_window', '_spool', '_log')

    def __init__(self, window, spool, log):
        self._window = window
        self._spool = spool
        self._log = log

    def push(self, name, payload):
        """`name`: the type of the frame."""
        seq = self._window.push(payload, must=True)
        try:
            if failpoints.active is not None:
                failpoints.active.hit('kernel.before_%s_spooled' % name)
            if not self._spool.append(seq, payload):
                self._log.write('spool-full frame %d is not in the spool' % seq)
            if failpoints.active is not None:
                failpoints.active.hit('kernel.after_%s_spooled' % name)
        except failpoints.FailpointError as error:
            self._log.write('failpoint %s: frame %d' % (error, seq))

    def push_if_room(self, message):
        """The same of a message that had rather not come to be: False, and nothing done, if the spool has no room for it."""
        payload = frames.to_payload(message)
        if self._spool.room() < len(payload) + limits.SPOOL_RESERVE:
            return False
        self.push(message['type'], payload)
        return True

    def push_message(self, message):
        self.push(message['type'], frames.to_payload(message))

    def push_unspooled(self, message):
        """A frame that is never shed, and ends with its kernel."""
        self._window.push(frames.to_payload(message), must=True)

    def mark_jobs(self, count):
        """So many jobs keep the kernel from ending at its grace. From any thread: one copy of eight bytes."""
        self._spool.mark_jobs(count)
