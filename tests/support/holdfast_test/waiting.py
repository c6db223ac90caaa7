"""Waiting for a condition, with a deadline and a message that says what never came."""

import time

POLL_SECONDS = 0.01


class NeverHappened(AssertionError):
    """A condition did not come true before its deadline."""


def wait_until(condition, what, seconds=10.0):
    """Polls `condition` until it returns something true, and returns that; NeverHappened names `what` after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            raise NeverHappened(f"waited {seconds:g} s in vain: {what}")
        time.sleep(POLL_SECONDS)


def stays_true(condition, seconds, what):
    """Polls `condition` for that long; AssertionError names `what` as soon as it is not true."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not condition():
            raise AssertionError(f"it did not stay so: {what}")
        time.sleep(POLL_SECONDS)
