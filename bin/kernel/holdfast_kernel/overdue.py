"""Kernels that should have ended and do not answer: their nursery ends them, unsaved.

A kernel ends itself its grace after the last daemon left it. One in which a thread holds the interpreter's lock cannot. What the nursery
knows: no daemon is attached to itself either; the kernel's spool says whether a cell may still run; a socket whose owner lives answers
a probe.
"""

from time import monotonic

from . import frames, limits, sockets, spool

_PROBE = frames.encode(0, 0, frames.to_payload({'type': 'attach', 'kernel': '', 'token': ''}))  # answered `refused`, changes nothing


class Overdue:
    def __init__(self, log):
        self._log = log
        self._next = 0.0  # monotonic; nothing is due before
        self._probes = {}  # kernel id -> _Probe of a kernel that is past its time

    def look(self, children, detached_since):
        """Ends those of the living `children` that are overdue; seconds until it must look again, None while a daemon is attached."""
        if detached_since is None:
            self._forget(self._probes)
            self._next = 0.0
            return None
        now = monotonic()
        if now >= self._next:
            self._forget([kernel for kernel in self._probes if kernel not in children])
            self._next = min([self._look_at(child, detached_since, now) for child in children.values()], default=now + 3600)
        return max(0.0, self._next - now) + 0.001

    def _look_at(self, child, detached_since, now):
        """When to look again."""
        due = max(detached_since, child.born) + child.grace + limits.GRACE_MARGIN
        if now < due:
            return due
        if spool.is_held(child.directory, now):
            self._forget([child.kernel])
            return now + limits.PROBE_SECONDS
        probe = self._probes.get(child.kernel)
        if probe is None:
            probe = self._probes[child.kernel] = _Probe(child.directory, now)
        elif now >= probe.until:
            del self._probes[child.kernel]
            if not probe.is_answered():
                child.note = 'it did not answer and was ended by its nursery %d s after its grace; its namespace is not saved' % (
                    now - due + limits.GRACE_MARGIN)
                self._log.write('kernel-overdue %s pid %d: %s' % (child.kernel, child.pid, child.note))
                child.handle.kill()
                return now + 3600
        return now + limits.PROBE_SECONDS

    def _forget(self, kernels):
        for kernel in list(kernels):
            probe = self._probes.pop(kernel, None)
            if probe is not None:
                probe.close()


class _Probe:
    """A connection to a kernel's socket that asks for a refusal."""

    __slots__ = ('until', '_socket')

    def __init__(self, directory, now):
        self.until = now + limits.PROBE_SECONDS
        self._socket = None
        try:
            self._socket = sockets.connect(directory, 'kernel.sock', 0)
            self._socket.send(_PROBE)
        except OSError:
            pass  # a full backlog: nobody accepts

    def is_answered(self):
        try:
            return self._socket is not None and bool(self._socket.recv(1))
        except OSError:
            return False
        finally:
            self.close()

    def close(self):
        if self._socket is not None:
            self._socket.close()
