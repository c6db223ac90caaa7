"""One cell on a cold session, one failpoint, one victim: the fault is made to happen there, then a daemon runs again.

A daemon at its own failpoint kills itself. For every other victim the step is delayed, and while it is held up, and the cell has
come as far as it can, the victim gets SIGKILL.
"""

import signal

import rows
from holdfast_test import processes
from holdfast_test.client import ConnectionLost, RpcError
from holdfast_test.waiting import NeverHappened, wait_until

HELD_UP_MS = 1500  # how long a step is delayed: far longer than it takes to see that and to kill
FIRED_SECONDS = 15.0

CODE = """
import os, time
with open({effects!r}, 'a') as file: file.write('ran\\n')
print('out', flush=True)
{then}
'value'
"""
THEN = {
    "ends": "",
    "exits": "os._exit(3)",
    "waits": "while not os.path.exists({gate!r}): time.sleep(0.01)",
    "is_interrupted": "try:\n    while not os.path.exists({gate!r}): time.sleep(0.01)\nexcept KeyboardInterrupt: pass",
}


class Scenario:
    cell = "c1"

    def __init__(self, test, daemon, name, victim, outcomes):
        self.test = test
        self.daemon = daemon
        self.name = name
        self.victim = victim
        self.row = getattr(outcomes, victim)
        self.kernel = None  # the identity of the first kernel, once there is one
        self._skip = outcomes.skip
        self._effects = daemon.directory / "effects"
        self._gate = daemon.directory / "gate"
        self._shape = outcomes.cell or ("waits" if self.row is rows.lost else "ends")
        self._code = CODE.format(effects=str(self._effects), then=THEN[self._shape].format(gate=str(self._gate)))

    def effects(self):
        """How often the cell has run."""
        return self._effects.read_text().count("ran\n") if self._effects.exists() else 0

    def run(self):
        """The fault, the daemon after it, the row, and what holds after any fault."""
        self.start()
        self.client = self.daemon.connect()
        self.pending = self.client.send("run", code=self._code, cell=self.cell, timeout_ms=60_000)
        if self._shape == "is_interrupted":
            wait_until(self.effects, "the start of the cell", FIRED_SECONDS)
            self.client.send("cell.interrupt", cell=self.cell)
        self.make_fault()
        self._gate.touch()
        if self.daemon.process is None:
            self.daemon.start()
        self.row(self)
        self.assert_settled()

    def start(self):
        kills_itself = self.victim == "daemon" and not self.name.startswith(("kernel.", "nursery."))
        action = "kill" if kills_itself else f"1*delay({HELD_UP_MS})->off"
        chain = (f"{self._skip}*off->" if self._skip else "") + action
        self.daemon.start(HOLDFAST_FAILPOINTS=f"{self.name}={chain}", HOLDFAST_FAILPOINT_LOG=str(self.daemon.failpoint_log))

    def make_fault(self):
        try:
            wait_until(lambda: self.name in self.daemon.fired_failpoints(), f"failpoint {self.name} to fire", FIRED_SECONDS)
        except NeverHappened:
            self.test.fail(f"failpoint {self.name} never fired")
        self.kernel = next(iter(self.kernels()), None)
        self.wait_as_far_as_it_goes()
        if self.victim in ("daemon", "both"):
            if self.name.startswith(("kernel.", "nursery.")) or self.victim == "both":
                processes.send_signal(processes.identify(self.daemon.pid), signal.SIGKILL)
            self.test.assertEqual(self.daemon.wait_ended(), -signal.SIGKILL)
        if self.victim in ("kernel", "both"):
            processes.end_all([self.kernel])
        if self.victim == "nursery":
            processes.end_all(self.daemon.nurseries())

    def wait_as_far_as_it_goes(self):
        """What the row presupposes about the cell is true before anything is killed."""
        if self.victim not in ("kernel", "both"):
            return
        kind = {rows.lost: "started", rows.in_the_spool: "done"}.get(self.row)
        if kind:
            self.daemon.wait_spooled(kind, self.cell, HELD_UP_MS / 1000)

    def kernels(self):
        """Identities of this home's kernels: the children of its nursery."""
        nurseries = {identity.pid for identity in self.daemon.nurseries()}
        return [identity for identity in self.daemon.processes() if processes.parent_of(identity.pid) in nurseries]

    # -- for the rows

    def assert_unknown(self):
        """The call got no answer, and no daemon knows the cell."""
        with self.test.assertRaises(ConnectionLost):
            self.pending.result(5)
        with self.test.assertRaises(RpcError) as caught:
            self.daemon.call("cell.get", cell=self.cell)
        self.test.assertEqual(caught.exception.code, 1001)

    def resend(self):
        return self.daemon.run(self._code, cell=self.cell)

    def assert_settled(self):
        """After any fault: asked again the record is the same, nothing runs twice, and the session goes on."""
        first, second = (self.daemon.call("cell.get", cell=self.cell) for _ in range(2))
        self.test.assertEqual(first, second)
        effects = self.effects()
        again = self.resend()
        self.test.assertEqual((again["status"], again["replayed"]), (first["status"], True))
        self.test.assertEqual(self.effects(), effects)
        after = self.daemon.run("6 * 7", cell="after")
        self.test.assertEqual((after["status"], after["value"]), ("ok", "42"), after)
        listed = self.daemon.call("cell.list")["items"]
        self.test.assertEqual([row["cell"] for row in listed], ["after", self.cell])
        self.test.assertEqual(len(self.daemon.kernels()), 1)
