"""Processes named by pid and start time, so that a reused pid is never taken for, or signalled as, the old process."""

import os
import select
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from holdfast_test.waiting import NeverHappened


@dataclass(frozen=True)
class Identity:
    """A process beyond its reusable number. `start_time` is field 22 of /proc/PID/stat."""

    pid: int
    start_time: int


def _stat_fields(pid):
    """The fields of /proc/PID/stat from the state (field 3) on, or None when there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    return text[text.rindex(")") + 2 :].split()


def identify(pid):
    """The identity of a process that exists now (a zombie too), or None."""
    fields = _stat_fields(pid)
    return Identity(int(pid), int(fields[19])) if fields else None


def is_alive(identity):
    """Whether this very process runs. A zombie does not; neither does another process under its number."""
    fields = _stat_fields(identity.pid)
    return bool(fields) and int(fields[19]) == identity.start_time and fields[0] not in "ZX"


def parent_of(pid):
    fields = _stat_fields(pid)
    return int(fields[1]) if fields else None


def open_pidfd(identity):
    """A pidfd of this very process, or None when it is gone. The caller closes it."""
    try:
        pidfd = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return None
    if identify(identity.pid) != identity:  # looked at after opening: the number cannot change hands any more
        os.close(pidfd)
        return None
    return pidfd


def send_signal(identity, number):
    """Signals this very process through a pidfd; False when it is gone."""
    pidfd = open_pidfd(identity)
    if pidfd is None:
        return False
    try:
        signal.pidfd_send_signal(pidfd, number)
        return True
    except ProcessLookupError:
        return False
    finally:
        os.close(pidfd)


def wait_gone(identity, seconds=10.0):
    """Returns once this very process has ended (a zombie has); NeverHappened after `seconds`."""
    pidfd = open_pidfd(identity)
    if pidfd is None:
        return
    try:
        poller = select.poll()
        poller.register(pidfd, select.POLLIN)
        if not poller.poll(seconds * 1000):
            raise NeverHappened(f"process {identity.pid} ({command_line(identity.pid)}) still lives after {seconds:g} s")
    finally:
        os.close(pidfd)


def end_all(identities, seconds=5.0):
    """SIGKILL to each, then waits until all are gone."""
    for identity in identities:
        send_signal(identity, signal.SIGKILL)
    deadline = time.monotonic() + seconds
    for identity in identities:
        wait_gone(identity, max(0.0, deadline - time.monotonic()))


def command_line(pid):
    """argv as one line; the name in brackets for a process without one (a zombie)."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        text = b" ".join(words).decode(errors="replace").strip()
        return text or "[" + Path(f"/proc/{pid}/comm").read_text().strip() + "]"
    except OSError:
        return "[gone]"


def all_pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def find(predicate):
    """Identities of all live processes whose pid satisfies `predicate`, this one left out."""
    found = []
    for pid in all_pids():
        identity = identify(pid)
        if pid != os.getpid() and identity and predicate(pid) and is_alive(identity):
            found.append(identity)
    return found


def has_environment(pid, entry):
    """Whether `entry` (NAME=value) stood in the environment that the process was started with."""
    try:
        return entry.encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def descendants(pid):
    """Identities of the live processes below `pid`."""
    children = {}
    for candidate in all_pids():
        children.setdefault(parent_of(candidate), []).append(candidate)
    found, pending = [], list(children.get(pid, []))
    while pending:
        child = pending.pop()
        pending.extend(children.get(child, []))
        identity = identify(child)
        if identity and is_alive(identity):
            found.append(identity)
    return found


def with_argument(word):
    """Identities of the live processes that have `word` as one whole argument."""

    def has_it(pid):
        try:
            return word.encode() in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return False

    return find(has_it)
