"""One run: a daemon in a home of its own, the clients, the chaos, the settlement of all, and what is left over."""

import time
from dataclasses import dataclass

from holdfast_test.daemon import Daemon
from stressing.chaos import Chaos
from stressing.effects import EffectsFile
from stressing.leftovers import leftovers_of, waited_for
from stressing.ledger import Ledger
from stressing.worker import Worker

END_SECONDS = 600.0  # for the settlement of all sessions
PROGRESS_SECONDS = 5.0
LOOK_SECONDS = 0.05
REST_SECONDS = 30.0  # beside the limit of idle kernels, until all are hibernated


@dataclass
class Options:
    seconds: float = 120.0
    seed: int = 1
    clients: int = 4
    sessions: int = 24  # at once, of all clients
    length: int = 40  # requests of a session, about
    parked: int = 400  # hibernated at once, beside those
    requests: int = 0  # of each client, after which it settles its sessions; 0: until the time is up
    every: float = 120  # requests of all clients, about, for a kill; 0: none
    max_kernels: int = 8
    idle_seconds: float = 2.0
    nursery_seconds: float = 90.0  # until the last one has ended by itself; 0: it is not waited for
    folders: tuple = ("run", "state", "output")  # of the home; nothing of a session is in them in the end
    counts_notices: bool = True  # each namespace that was restored is told by a notice of its own
    keep: bool = False  # the home of a run that has found something
    worker: type = Worker


@dataclass
class Report:
    violations: list
    counts: dict
    statuses: dict
    effects: int
    seconds: float
    logs: str


def run(options, say=print):
    """Runs it and cleans up. What it found is in the report."""
    daemon = Daemon({"HOLDFAST_MAX_KERNELS": str(options.max_kernels), "HOLDFAST_IDLE_SECONDS": str(options.idle_seconds)})
    ledger = Ledger()
    effects = EffectsFile(daemon.directory / "effects")
    began = time.monotonic()
    try:
        daemon.start()
        chaos = Chaos(options, ledger, daemon)
        workers = [options.worker(number, options, ledger, effects, daemon.socket_path) for number in range(options.clients)]
        for thread in [*workers, *([chaos] if options.every else [])]:
            thread.start()
        watch(ledger, workers, began, began + options.seconds, say, until=lambda worker: worker.is_done or ledger.stopping.is_set())
        ledger.stopping.set()
        chaos.is_over.set()
        if options.every:
            chaos.join(END_SECONDS)
        say("resting")
        watch(ledger, workers, began, time.monotonic() + END_SECONDS, say, until=lambda worker: worker.is_done)
        if not ledger.violations:
            for each in kernels_after_rest(daemon, options.idle_seconds):
                ledger.violate(each)
        ledger.has_rested.set()
        say("settling")
        watch(ledger, workers, began, time.monotonic() + END_SECONDS, say, until=lambda worker: not worker.is_alive())
        for worker in workers:
            if worker.is_alive():
                ledger.violate(f"client {worker.number} has not settled its sessions after {END_SECONDS:g} s")
        if not ledger.violations:
            for each in leftovers_of(daemon, options.nursery_seconds, options.folders):
                ledger.violate(each)
            for each in effects.untaken():
                ledger.violate(f"something ran that no session knows of: {each}")
            for line in effects.broken:
                ledger.violate(f"no cell writes such a line: {line!r}")
        logs = "\n".join([*ledger.histories, daemon.report()]) if ledger.violations else ""
    finally:
        effects.close()
        if options.keep and ledger.violations:
            say(f"kept: {daemon.directory}")
        else:
            daemon.close()
    return Report(ledger.violations, dict(ledger.counts), dict(ledger.statuses), effects.count, time.monotonic() - began, logs)


def kernels_after_rest(daemon, idle_seconds):
    """Nothing runs, and nobody asks for anything: every kernel is hibernated for its age."""
    if idle_seconds == 0:
        return []
    time.sleep(idle_seconds)
    return waited_for(lambda: (f"kernel at rest is not hibernated: {row}" for row in daemon.kernels()), REST_SECONDS)


def watch(ledger, workers, began, deadline, say, until):
    """Says how it stands now and then, until the time is up or all clients have come that far."""
    next_progress = time.monotonic() + PROGRESS_SECONDS
    while time.monotonic() < deadline and not all(map(until, workers)):
        time.sleep(LOOK_SECONDS)
        if time.monotonic() < next_progress:
            continue
        next_progress += PROGRESS_SECONDS
        for text in ledger.unsaid():
            say(f"found: {text}")
        counts = ledger.counts
        kills = sum(counts[what] for what in ("kernels killed", "daemons killed", "daemons restarted", "nurseries killed"))
        say(f"{time.monotonic() - began:5.0f} s  {counts['cells']} cells sent, {sum(ledger.statuses.values())} ended; "
            f"{ledger.size()} sessions open, {counts['sessions settled']} settled; {kills} kills and restarts; "
            f"{len(ledger.violations)} violations")
