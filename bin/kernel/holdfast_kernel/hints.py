"""What to write instead, for errors whose own text does not say it to somebody who writes cells. Pure."""

_AWAIT = 'this cell awaits, so its loop runs already: write `await f()` instead'
_HINTS = {  # (name of the error, beginning of its message) -> hint
    ('RuntimeError', 'asyncio.run() cannot be called from a running event loop'): _AWAIT,
    ('RuntimeError', 'Runner.run() cannot be called from a running event loop'): _AWAIT,
    ('RuntimeError', 'This event loop is already running'): _AWAIT,
    ('RuntimeError', 'Cannot run the event loop while another loop is running'): _AWAIT,
    ('RuntimeError', 'no running event loop'): 'the loop runs in cells that await: write `await f()`, or `await asyncio.sleep(0)` first',
}


def hint(name, message):
    """The hint for an error, or None."""
    for (its_name, beginning), text in _HINTS.items():
        if name == its_name and message.startswith(beginning):
            return text
    return None
