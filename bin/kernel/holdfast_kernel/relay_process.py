"""Whether a recorded process is still there, as a relay sees it: gone is said on proof only."""

import os

from . import handshake, processes


def hold(recorded):
    """A Handle of exactly that process, or 'gone', or 'unknown' where it cannot be told."""
    if recorded['boot_id'] != handshake.boot_id():
        return 'gone'
    if recorded['pid_namespace'] != os.stat('/proc/self/ns/pid').st_ino:
        return 'unknown'
    try:
        handle = processes.Handle(recorded['pid'])
    except ProcessLookupError:
        return 'gone'
    except OSError:
        return 'unknown'
    try:
        if handshake.start_time(recorded['pid']) == recorded['start_time']:
            return handle
    except OSError:
        pass  # it ended in between
    handle.close()
    return 'gone'


def state_of(recorded, seconds=0.0):
    """'gone', 'alive' or 'unknown'; one that lives has that long to end."""
    held = hold(recorded)
    if isinstance(held, str):
        return held
    is_dead = held.is_dead(seconds)
    held.close()
    return 'gone' if is_dead else 'alive'
