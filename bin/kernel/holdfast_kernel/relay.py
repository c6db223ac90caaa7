"""A relay: serves one request of a daemon that reaches this machine by commands alone, each of which runs to its end.

Called by relay_boot.py. `serve` finds the operation, which answers a head and the frames behind it. Formats: docs/wire.md, Relay.
"""

import os

from . import frames


def serve(head, root, rest):
    """The bytes of the answer. `root`: the absolute directory of all that is kept here. `rest`: the frames behind the head, as they came."""
    answer, data = _operation(head['operation'])(head, os.path.join(root, head['home']), rest)
    return frames.encode(0, 0, frames.to_payload(answer)) + data


def _operation(name):
    """Imported when it is needed: a relay lives for one of them."""
    if name == 'carry':
        from . import relay_carry
        return relay_carry.carry
    if name == 'spawn':
        from . import relay_spawn
        return relay_spawn.spawn
    if name in ('per_call', 'per_call_order'):
        from . import relay_per_call
        return relay_per_call.per_call if name == 'per_call' else relay_per_call.order
    from . import relay_ends
    return {'signal': relay_ends.signal, 'remains': relay_ends.remains, 'remove': relay_ends.remove}[name]


def run_directory(home, head):
    """Of the kernel that a request is about."""
    if '/' in head['kernel'] or head['kernel'] in ('', '.', '..'):
        raise ValueError('%.128r is no kernel' % head['kernel'])
    return os.path.join(home, 'run', head['kernel'])
