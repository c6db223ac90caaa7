"""What stands beside a kernel that is given up: other kernels of its session, who waits for its end, what it saves itself."""

import os
import signal
import unittest

from holdfast_test import processes
from holdfast_test.cases import DaemonCase
from holdfast_test.client import RpcError
from holdfast_test.waiting import wait_until


class OrphanCase(DaemonCase):
    environment = {"HOLDFAST_HELLO_DEADLINE_SECONDS": "0.3"}

    def setUp(self):
        super().setUp()
        self.pid = self.daemon.run("survivor = 41")["kernel"]["pid"]
        self.process = processes.identify(self.pid)
        self.kernel = self.daemon.kernels()[0]["kernel"]

    def rows(self):
        return {row["kernel"]: row for row in self.daemon.kernels()}

    def restart_stopped(self, budget="0.5", **settings):
        self.daemon.kill()
        os.kill(self.pid, signal.SIGSTOP)
        self.daemon.start(HOLDFAST_ATTACH_BUDGET_SECONDS=budget, **settings)

    def wait_given_up(self):
        wait_until(lambda: self.rows()[self.kernel]["state"] == "orphan", "an orphan", 20)


class OtherKernelTest(OrphanCase):
    def test_a_start_that_fails_after_it_was_given_up_leaves_a_session_that_goes_on(self):
        self.restart_stopped("1.5", HOLDFAST_FAILPOINTS="kernel.before_hello_sent=1*delay(5000)->off")
        self.daemon.start_cell("1", "other", tools=["read_file"])
        wait_until(lambda: len(self.rows()) == 2, "a second kernel")
        self.wait_given_up()
        second = next(row for row in self.rows().values() if row["kernel"] != self.kernel)
        self.daemon.call("cell.interrupt", cell="other")
        os.kill(second["pid"], signal.SIGKILL)
        wait_until(lambda: second["kernel"] not in self.rows(), "its end")

        self.assert_ok(self.daemon.run("1"), "1")
        self.daemon.restart(crash=True)
        self.assert_ok(self.daemon.run("2"), "2")

    def test_one_that_never_answered_is_ended_as_nothing_ran_in_it(self):
        gate = "kernel.before_hello_sent=1*delay(1500)->off"
        self.daemon.restart(HOLDFAST_ATTACH_BUDGET_SECONDS="0.5", HOLDFAST_FAILPOINTS=gate)
        _, pending = self.daemon.start_cell("1", "first", session="new")
        started = lambda: next((row["pid"] for row in self.daemon.kernels(session="new") if row["pid"]), None)
        process = processes.identify(wait_until(started, "its process"))
        processes.send_signal(process, signal.SIGSTOP)

        self.assert_ok(pending.result(), "1")

        processes.wait_gone(process)


class LeftFileTest(OrphanCase):
    def test_what_it_saved_itself_goes_with_it(self):
        self.daemon.restart(HOLDFAST_GRACE_SECONDS="1")
        self.daemon.run("1")
        self.restart_stopped(HOLDFAST_GRACE_SECONDS="1")
        self.wait_given_up()
        self.daemon.run("fresh = 1")
        self.daemon.kill()
        os.kill(self.pid, signal.SIGCONT)
        wait_until(lambda: not processes.is_alive(self.process), "its end at its grace", 20)
        wait_until(lambda: len(list((self.daemon.home / "state").iterdir())) == 2, "what both saved", 20)

        self.daemon.start()
        self.assert_ok(self.daemon.run("fresh"), "1")

        wait_until(lambda: self.kernel not in self.rows(), "nothing of it")
        wait_until(lambda: not list((self.daemon.home / "state").iterdir()), "no saved file")


class WaiterTest(OrphanCase):
    def test_who_waits_for_its_end_hears_that_the_daemon_ends(self):
        self.restart_stopped(HOLDFAST_FAILPOINTS="core.before_orphan_forgotten=error")
        self.wait_given_up()
        client = self.daemon.connect()
        pending = client.send("kernel.stop", kernel=self.kernel)
        wait_until(lambda: not processes.is_alive(self.process), "its end")

        self.daemon.stop()

        with self.assertRaises(RpcError) as told:
            pending.result()
        self.assertEqual(told.exception.code, 1012)


if __name__ == "__main__":
    unittest.main()
