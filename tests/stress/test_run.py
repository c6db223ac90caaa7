"""A short run of bench/stress.py finds nothing, and one whose ledger or whose clients lie is found out."""

import contextlib
import unittest

import stress_case  # noqa: F401
from holdfast_test.client import RpcError
from stressing.cells import KINDS, code_of
from stressing.running import Options, run
from stressing.worker import Worker

SEED = 20260
SHORT = {"seed": SEED, "clients": 3, "sessions": 9, "length": 20, "requests": 150, "every": 35,
         "parked": 12, "idle_seconds": 1, "nursery_seconds": 0}


class RunsAnotherCellsCode(Worker):
    """Sends some cells under a second id, as a client does that makes a new id for each attempt."""

    def run_cell(self, session):
        cell = self.make_cell(session)
        again = self.make_cell(session)
        plain = next(kind for kind in KINDS if kind.name == "plain")
        cell.kind = again.kind = plain
        cell.code = again.code = code_of(plain, cell.id, session.here(cell.slot), self.effects.path, 0)
        again.slot = cell.slot
        cell.params = again.params = {"timeout_ms": 20000, "tools": list(cell.slot), "stream": True}
        self.send_cell(session, cell)
        self.send_cell(session, again)


class KeepsItsStopsSecret(Worker):
    """Stops kernels without saving, and does not write it into the ledger."""

    def stop_kernel(self, session):
        for kernel in session.kernels.values():
            with contextlib.suppress(RpcError):  # it is busy, or gone
                self.asking.client().call("kernel.stop", kernel=kernel, save=False)


class RunTest(unittest.TestCase):
    def found(self, **changes):
        report = run(Options(**{**SHORT, **changes}), lambda text: None)
        return report, "\n".join([f"seed {SEED}", *report.violations, report.logs])

    def test_a_short_run_finds_nothing(self):
        report, text = self.found()

        self.assertEqual(report.violations, [], text)
        self.assertGreater(report.statuses["ok"], 20)
        self.assertGreater(report.counts["kernels killed"] + report.counts["daemons killed"], 0)

    def test_a_cell_that_runs_twice_is_found(self):
        report, text = self.found(requests=40, every=0, idle_seconds=0, worker=RunsAnotherCellsCode)

        self.assertRegex(text, r"cell s\d+-\d+ ran 2 times")

    def test_a_namespace_that_goes_without_an_order_is_found(self):
        report, text = self.found(requests=120, every=0, idle_seconds=0, worker=KeepsItsStopsSecret)

        self.assertRegex(text, r"the namespace of cell s\d+-\d+ .* is gone and nobody ended it")


if __name__ == "__main__":
    unittest.main()
