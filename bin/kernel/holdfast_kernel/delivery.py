"""Must-deliver frames: numbered and put into the spool before anything sends them. Called by the owner of the link."""

from . import failpoints


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
