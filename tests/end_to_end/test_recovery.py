"""Every recorded kernel is looked at by the next daemon though nobody asks, each on its own: one in trouble delays no other."""

import signal
import unittest

from holdfast_test import processes
from holdfast_test.cases import DaemonCase
from holdfast_test.waiting import wait_until

KERNELS = 30
AT_ONCE_SECONDS = 5.0  # for all of them on a loaded machine; the wedged one alone would cost each of them its deadline


class WedgedTest(DaemonCase):
    environment = {"HOLDFAST_HELLO_DEADLINE_SECONDS": "20"}  # whoever waited for the wedged one's would be told apart

    def setUp(self):
        super().setUp()
        client = self.daemon.connect()
        self.sessions = [f"s{number}" for number in range(KERNELS)]
        for each in [client.send("run", code=f"x = {number}", session=name) for number, name in enumerate(self.sessions)]:
            self.assert_ok(each.result(60))

    def assert_all_but_answer(self, wedged):
        client = self.daemon.connect()
        pending = {name: client.send("run", code="x", session=name, cell="after") for name in self.sessions}
        for number, name in enumerate(self.sessions):
            if name != wedged:
                self.assert_ok(pending[name].result(AT_ONCE_SECONDS), str(number))
        return pending

    def test_one_stopped_kernel_of_thirty_delays_none_of_the_others(self):
        wedged = self.sessions[KERNELS // 2]
        row = next(row for row in self.daemon.kernels() if row["session"] == wedged)
        stopped = processes.identify(row["pid"])
        self.daemon.kill()
        processes.send_signal(stopped, signal.SIGSTOP)
        self.daemon.start()

        pending = self.assert_all_but_answer(wedged)

        self.assertFalse(pending[wedged].is_answered)
        processes.send_signal(stopped, signal.SIGCONT)
        result = pending[wedged].result()
        self.assert_ok(result, str(KERNELS // 2))
        self.assertEqual(result["kernel"]["pid"], row["pid"])

    def test_a_stopped_nursery_delays_none_of_its_kernels(self):
        (nursery,) = self.daemon.nurseries()
        self.daemon.kill()
        processes.send_signal(nursery, signal.SIGSTOP)
        self.daemon.start()

        self.assert_all_but_answer(None)

        processes.send_signal(nursery, signal.SIGCONT)
        self.assert_ok(self.daemon.run("1", session="new"), "1")


class LookedAtTest(DaemonCase):
    """The daemon is restarted and nobody asks for anything: what it found is read from its log and from the disk."""

    def wait_logged(self, text):
        wait_until(lambda: text in self.daemon.log(), f"{text!r} in the log", 20)

    def test_each_is_looked_at_whatever_became_of_it_and_none_leaks(self):
        # Saved, dead, stopped and gone with its directory, while no daemon ran; and one that lives.
        sessions = ("living", "dead", "stopped", "removed", "done")
        for name in sessions:
            self.daemon.run("x = 1\njob = run('sleep', '600')" if name == "dead" else "x = 1", session=name)
        rows = {row["session"]: row for row in self.daemon.kernels()}
        kernels = {name: processes.identify(row["pid"]) for name, row in rows.items()}
        job = processes.identify(self.daemon.call("job.list")["items"][0]["pid"])
        client, _ = self.daemon.start_cell("import time\nprint('on', flush=True)\ntime.sleep(0.3)\n7", "last", session="done")
        client.wait_streamed("last", "on")
        directories = {name: self.daemon.home / "run" / row["kernel"] for name, row in rows.items()}
        self.daemon.kill()
        self.daemon.wait_spooled("done", "last")
        processes.end_all([kernels["dead"]])
        processes.send_signal(kernels["stopped"], signal.SIGSTOP)
        for path in directories["removed"].iterdir():
            path.unlink()
        directories["removed"].rmdir()
        processes.wait_gone(kernels["removed"])

        self.daemon.start(HOLDFAST_HELLO_DEADLINE_SECONDS="0.3", HOLDFAST_ATTACH_BUDGET_SECONDS="1", HOLDFAST_IDLE_SECONDS="4")

        self.wait_logged(f"kernel {rows['living']['kernel']} attached")
        self.wait_logged(f"kernel {rows['done']['kernel']} attached")
        self.wait_logged(f"kernel-ended kernel {rows['dead']['kernel']} ")
        self.wait_logged(f"kernel-ended kernel {rows['removed']['kernel']} ")
        self.wait_logged(f"kernel {rows['stopped']['kernel']} is unreachable")
        processes.wait_gone(job)
        self.wait_logged(f"orphan {rows['stopped']['kernel']}: ended")
        for name in sessions:
            processes.wait_gone(kernels[name], 20)
            wait_until(lambda name=name: not directories[name].exists(), f"the removal of the directory of {name}", 20)
        self.assertEqual(self.daemon.call("cell.get", session="done", cell="last")["value"], "7")

    def test_a_cell_whose_kernel_ended_meanwhile_is_lost_once_though_nobody_asks_and_nothing_stays_running(self):
        client, _ = self.daemon.start_cell("import time\nprint('before', flush=True)\ntime.sleep(600)", "long")
        client.wait_streamed("long", "before")
        kernel = self.daemon.kernel_identities()[0]
        self.daemon.kill()
        processes.end_all([kernel])
        self.daemon.start()
        self.wait_logged("kernel-ended")
        self.daemon.restart(crash=True)

        rows = self.daemon.call("cell.list")["items"]
        self.assertEqual([(row["cell"], row["status"]) for row in rows], [("long", "lost")])
        self.assertEqual(self.daemon.call("session.get")["queued"], 0)
        self.assertIsNone(self.daemon.call("session.get")["cell"])
        self.assertEqual(self.daemon.kernels(), [])


if __name__ == "__main__":
    unittest.main()
