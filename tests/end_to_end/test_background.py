"""Cells that await go to the background after their time there; later cells run meanwhile, and each has its one result."""

import signal
import unittest

from holdfast_test import processes
from holdfast_test.cases import DaemonCase, SharedDaemonCase
from holdfast_test.client import RpcError

GATED = "import asyncio\ngo = asyncio.Event()\nprint('waits', flush=True)\nawait go.wait()\nprint('went')\n'late'"


class BackgroundTest(SharedDaemonCase):
    def call(self, method, **params):
        return self.client.call(method, session=self.session, **params)

    def start_gated(self, cell="behind", **params):
        """A cell that is in the background: a later one has run."""
        pending = self.start_cell(GATED, cell, background_after_ms=1, **params)
        self.assert_ok(self.run_cell("1 + 1"), "2")
        return pending

    def status_of(self, cell):
        return self.call("cell.get", cell=cell)["status"]

    def test_later_cells_run_while_it_awaits_and_it_ends_with_its_own_output_and_value(self):
        behind = self.start_gated()
        self.assertEqual(self.status_of("behind"), "running")

        self.assert_ok(self.run_cell("print('other')\ngo.set()"), None)

        result = behind.result()
        self.assert_ok(result, "'late'")
        self.assertEqual(result["stdout"], "waits\nwent\n")
        self.assertEqual(result["kernel"]["execution_count"], 1)

    def test_one_that_never_goes_behind_holds_the_queue(self):
        first = self.start_cell("import asyncio\nawait asyncio.sleep(0.5)\nfirst = True", "first", background_after_ms=0)

        self.assert_ok(self.run_cell("first"), "True")

        self.assert_ok(first.result(), None)

    def test_results_may_come_in_any_order_and_each_once(self):
        count = 16
        code = "import asyncio\ngates = globals().setdefault('gates', {})\ngates[%d] = asyncio.Event()\nawait gates[%d].wait()\n%d"
        pending = [self.start_cell(code % (n, n, n), "b%d" % n, background_after_ms=1) for n in range(count)]
        self.assert_ok(self.run_cell("len(gates)"), str(count))

        self.run_cell("for gate in reversed(gates.values()): gate.set()")

        for number, each in enumerate(pending):
            self.assert_ok(each.result(), str(number))
        rows = self.call("cell.list")["items"]
        self.assertEqual({row["status"] for row in rows}, {"ok"})

    def test_its_deadline_counts_on(self):
        behind = self.start_gated(timeout_ms=1000)

        result = behind.result()

        self.assertEqual((result["status"], result["stdout"]), ("timeout", "waits\n"))
        self.assert_ok(self.run_cell("'still here'"), "'still here'")

    def test_a_deadline_that_falls_while_another_holds_the_interpreter_waits_and_costs_no_kernel(self):
        pid = self.run_cell("x = 1")["kernel"]["pid"]
        behind = self.start_gated(timeout_ms=500)

        self.assert_ok(self.run_cell("import time\ntime.sleep(5)\nx"), "1")

        self.assertEqual(behind.result()["status"], "timeout")
        self.assertEqual(self.run_cell("x")["kernel"]["pid"], pid)

    def test_it_is_interrupted_by_its_id_and_not_as_the_foreground_one(self):
        behind = self.start_gated()

        with self.assertRaises(RpcError) as refused:
            self.call("cell.interrupt")
        answer = self.call("cell.interrupt", cell="behind")

        self.assertEqual(refused.exception.code, 1001)
        self.assertIn("behind", refused.exception.message)
        self.assertEqual((answer["status"], answer["stdout"]), ("interrupted", "waits\n"))
        self.assertEqual(behind.result()["status"], "interrupted")

    def test_a_reset_ends_it_as_interrupted(self):
        behind = self.start_gated()

        result = self.run_cell("'go' in globals()", reset=True)

        self.assert_ok(result, "False")
        self.assertEqual(behind.result()["status"], "interrupted")

    def test_the_row_of_its_kernel_is_busy_and_names_it(self):
        self.start_gated()

        row = self.call("session.get")

        self.assertEqual((row["state"], row["cell"], row["queued"]), ("busy", "behind", 0))
        self.call("cell.interrupt", cell="behind")

    def test_a_call_that_waits_only_so_long_hears_that_it_runs(self):
        answer = self.run_cell(GATED, cell="behind", background_after_ms=1, wait_ms=200)

        self.assertEqual((answer["status"], answer["final"]), ("running", False))
        self.run_cell("go.set()")
        self.assert_ok(self.call("cell.wait", cell="behind"), "'late'")


class BackgroundOverDeathsTest(DaemonCase):
    def start_gated(self):
        client, pending = self.daemon.start_cell(GATED, "behind", background_after_ms=1)
        self.assert_ok(self.daemon.run("1 + 1"), "2")
        return pending

    def test_it_is_behind_and_goes_on_after_the_daemons_death(self):
        self.start_gated()

        self.daemon.restart(crash=True)

        self.assert_ok(self.daemon.run("2 + 2"), "4")
        self.assertEqual(self.daemon.call("cell.get", cell="behind")["status"], "running")
        self.daemon.run("go.set()")
        result = self.daemon.call("cell.wait", cell="behind")
        self.assert_ok(result, "'late'")
        self.assertEqual(result["stdout"], "waits\nwent\n")

    def test_an_interrupt_before_its_kernel_is_attached_again_reaches_it_and_only_it(self):
        self.start_gated()
        other, _later = self.daemon.start_cell("import time\nprint('later', flush=True)\ntime.sleep(1)\n'whole'", "later")
        other.wait_streamed("later", "later")
        kernel = processes.identify(self.daemon.kernels()[0]["pid"])
        processes.send_signal(kernel, signal.SIGSTOP)
        self.daemon.restart(crash=True)

        pending = self.daemon.connect().send("cell.interrupt", cell="behind")
        rows = {row["cell"]: row["status"] for row in self.daemon.call("cell.list")["items"]}
        processes.send_signal(kernel, signal.SIGCONT)
        result = pending.result()

        self.assertEqual((rows["behind"], rows["later"]), ("running", "running"))
        self.assertEqual((result["status"], result["stdout"]), ("interrupted", "waits\n"), result)
        self.assert_ok(self.daemon.call("cell.wait", cell="later"), "'whole'")

    def test_one_that_ends_while_the_daemon_is_down_has_its_result(self):
        self.daemon.start_cell("import asyncio\nawait asyncio.sleep(0.7)\nprint('done', flush=True)\n'whole'", "behind", background_after_ms=1)
        self.assert_ok(self.daemon.run("1 + 1"), "2")

        self.daemon.kill()
        self.daemon.wait_spooled("done", "behind")
        self.daemon.start()

        self.assert_ok(self.daemon.call("cell.wait", cell="behind"), "'whole'")

    def test_with_its_kernel_both_it_and_the_foreground_cell_are_lost_and_named_once(self):
        behind = self.start_gated()
        client, front = self.daemon.start_cell("print('runs', flush=True)\nimport os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "front")

        lost = [behind.result(), front.result()]

        for result in lost:
            self.assertEqual((result["status"], result["death"]["signal"]), ("lost", "SIGKILL"), result)
        self.assertEqual([result["stdout"] for result in lost], ["waits\n", "runs\n"])
        after = self.daemon.run("1 + 1")
        self.assert_ok(after, "2")
        restarted = [notice for notice in after["notices"] if notice["kind"] == "restarted"]
        self.assertEqual([sorted(notice["details"]["cells"]) for notice in restarted], [["behind", "front"]])

    def test_a_cell_for_another_python_runs_beside_it(self):
        import sys

        behind = self.start_gated()
        self.assert_ok(self.daemon.run("7", python=sys.executable), "7")
        self.daemon.call("cell.interrupt", cell="behind")

        self.assertEqual(behind.result()["status"], "interrupted")


if __name__ == "__main__":
    unittest.main()
