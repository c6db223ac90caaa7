"""What is still there when every session is closed: nothing but the daemon and its nursery, and then nothing at all."""

import time
from pathlib import Path

from holdfast_test import processes

SETTLE_SECONDS = 30.0  # for directories and processes on their way out


def leftovers_of(daemon, nursery_seconds, folders):
    """Violations in words: of these folders of the home as well. Ends the daemon. Its nursery ends by itself a minute later: 0 seconds do
    not wait for that."""
    left = waited_for(lambda: left_with(daemon, folders), SETTLE_SECONDS)
    yield from left
    if left:
        return
    daemon.call("shutdown", kernels=True)
    status = daemon.wait_ended()
    if status != 0:
        yield f"the daemon ended with {status} after its shutdown"
    yield from waited_for(lambda: left_without(daemon, folders, nursery_seconds == 0), max(SETTLE_SECONDS, nursery_seconds))


def waited_for(look, seconds):
    deadline = time.monotonic() + seconds
    while True:
        left = list(look())
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.1)


def left_with(daemon, folders):
    for what in ("session", "kernel"):
        for row in daemon.call(f"{what}.list", limit=1000)["items"]:
            yield f"{what} left: {row}"
    for row in daemon.call("job.list", limit=1000)["items"]:
        yield f"job left: {row}"
    yield from files_of(daemon.home, folders)
    nurseries = daemon.nurseries()
    if len(nurseries) > 1:
        yield f"{len(nurseries)} nurseries: {nurseries}"
    known = {daemon.pid, *(each.pid for each in nurseries)}
    for identity in daemon.processes():
        if identity.pid not in known:
            yield f"process left beside the daemon: {identity.pid} {processes.command_line(identity.pid)}"


def left_without(daemon, folders, but_nurseries):
    yield from files_of(daemon.home, folders)
    nurseries = daemon.nurseries() if but_nurseries else []
    for identity in daemon.processes():
        if identity not in nurseries:
            yield f"process left: {identity.pid} {processes.command_line(identity.pid)}"


def files_of(home, folders):
    for folder in folders:
        for path in sorted(Path(home, folder).glob("*")):
            inside = sorted(str(each.relative_to(path)) for each in path.glob("**/*"))
            yield f"left in the home: {path.relative_to(home)} {inside[:5]}"
