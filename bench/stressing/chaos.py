"""Kills and restarts, by a seed of their own. What is killed is written into the ledger before it is."""

import os
import random
import signal
import threading
import time
import traceback
from pathlib import Path

from holdfast_test import processes
from holdfast_test.client import ConnectionLost, RpcError
from holdfast_test.waiting import NeverHappened
from stressing.ledger import Place

GONE_SECONDS = 20.0
LOOK_SECONDS = 0.2
STOPPED_SECONDS = 1.0  # at most: less than an interrupt's grace, after which a kernel is killed


class Chaos(threading.Thread):
    """The only one who starts and ends daemons. A deed comes after so many requests of the clients, not after a time: so a busy machine
    changes little."""

    def __init__(self, options, ledger, daemon):
        super().__init__(name="chaos", daemon=True)
        self.ledger = ledger
        self.daemon_of_home = daemon
        self.random = random.Random(f"{options.seed}/chaos")
        self.every = options.every
        self.is_over = threading.Event()
        self.deeds = (
            (12, self.kill_kernel),
            (4, self.kill_daemon),
            (2, self.restart_daemon),
            (1, self.kill_nursery),
            (2, self.stop_kernel_for_a_while),
        )

    def run(self):
        try:
            due = 0
            while not self.is_over.is_set():
                due += self.random.uniform(0.5, 1.5) * self.every
                weights = [weight for weight, _ in self.deeds]
                deed = self.random.choices(self.deeds, weights)[0][1]
                while not self.ledger.wait_requests(due, LOOK_SECONDS) and not self.is_over.is_set():
                    self.look_after()
                if not self.is_over.is_set():
                    self.look_after()
                    deed()
            self.look_after()
        except Exception:
            self.ledger.violate(f"chaos failed: {traceback.format_exc()}")
            self.ledger.stopping.set()

    def look_after(self):
        """A daemon that nobody ended must be there."""
        status = self.daemon_of_home.process.poll()
        if status is not None:
            self.ledger.violate(f"the daemon ended by itself with {status}")
            self.daemon_of_home.process = None
            self.daemon_of_home.start()

    def kill_daemon(self):
        self.ledger.count("daemons killed")
        self.daemon_of_home.restart(crash=True)

    def restart_daemon(self):
        self.ledger.count("daemons restarted")
        self.daemon_of_home.restart()

    def kill_nursery(self):
        nurseries = [each for each in self.daemon_of_home.nurseries() if is_nursery(each.pid)]
        if nurseries and processes.send_signal(self.random.choice(nurseries), signal.SIGKILL):
            self.ledger.count("nurseries killed")

    def rows(self):
        try:
            return self.daemon_of_home.call("kernel.list", limit=1000)["items"]
        except (ConnectionLost, RpcError, OSError):
            return []

    def any_kernel(self):
        """A live kernel's row, its session in the ledger and its identity; None if it was gone before all of that was sure."""
        rows = [row for row in self.rows() if row["pid"] > 0]
        if not rows:
            return None
        row = self.random.choice(sorted(rows, key=lambda row: row["kernel"]))
        identity = processes.identify(row["pid"])
        session = self.ledger.session_at(Place(row["owner"], row["child"], row["session"]))
        # The number still is this kernel's after it was identified: so the identity is the kernel's.
        if identity is None or session is None or not any(again["kernel"] == row["kernel"] for again in self.rows()):
            return None
        return row, session, identity

    def kill_kernel(self):
        found = self.any_kernel()
        if found is None:
            return
        row, session, identity = found
        order = session.order("kill", slot=tuple(row["tools"]))
        if not processes.send_signal(identity, signal.SIGKILL):
            session.orders.remove(order)
            return
        self.ledger.count("kernels killed")
        try:
            processes.wait_gone(identity, GONE_SECONDS)
        except NeverHappened as problem:
            self.ledger.violate(f"kernel {row['kernel']}: {problem}")
        order.until = time.monotonic()

    def stop_kernel_for_a_while(self):
        """Nothing may come of that."""
        found = self.any_kernel()
        if found is None or not processes.send_signal(found[2], signal.SIGSTOP):
            return
        self.ledger.count("kernels stopped for a while")
        self.is_over.wait(self.random.uniform(0, STOPPED_SECONDS))
        processes.send_signal(found[2], signal.SIGCONT)


def is_nursery(pid):
    """It listens at a nursery's socket; kernels of a dead nursery, which look like one otherwise, do not."""
    table = map(str.split, Path("/proc/net/unix").read_text().splitlines())
    listening = {f"socket:[{words[6]}]" for words in table if words[-1].endswith("/nursery.sock")}
    try:
        return any(os.readlink(each) in listening for each in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False
