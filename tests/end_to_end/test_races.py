"""Requests that meet a kernel, a nursery or a daemon at an awkward moment: each still gets its one answer, and it is true."""

import signal
import time
import unittest

from holdfast_test import processes
from holdfast_test.cases import DaemonCase
from holdfast_test.client import RpcError
from holdfast_test.waiting import wait_until

ENDED_SECONDS = 12.0  # a deadline of half a second, the interrupt's grace, the daemon's margin, and a slow machine


class DeadlineTest(DaemonCase):
    def test_a_cell_that_holds_the_interpreter_from_its_first_instruction_ends_at_its_deadline(self):
        for code in ("import ctypes\nctypes.PyDLL(None).sleep(100)", "import os\nos.kill(os.getpid(), 19)", "import os\nos.execvp('sleep', ['sleep', '100'])"):
            with self.subTest(code):
                began = time.monotonic()

                result = self.daemon.run(code, timeout_ms=500)

                self.assertLess(time.monotonic() - began, ENDED_SECONDS)
                self.assertEqual((result["status"], result["death"]["cause"]), ("timeout", "unresponsive"), result)
                self.assert_ok(self.daemon.run("1"), "1")

    def test_one_that_meets_a_kernel_which_has_fallen_silent_before_runs_in_a_fresh_one(self):
        held = self.daemon.directory / "held"
        hold = f"import ctypes, threading\ndef hold():\n    open({str(held)!r}, 'w').close()\n    ctypes.PyDLL(None).sleep(100)\n"
        alarm = f"import signal\ndef ring(*_):\n    open({str(held)!r}, 'w').close()\n    while True: pass\nsignal.signal(14, ring)\n"
        for code in (hold + "threading.Timer(0.1, hold).start()", alarm + "signal.setitimer(signal.ITIMER_REAL, 0.1)"):
            with self.subTest(code):
                held.unlink(missing_ok=True)
                self.daemon.run(code)
                wait_until(held.exists, "the silence")

                result = self.daemon.run("1+1", timeout_ms=500)

                self.assert_ok(result, "2")
                self.assertTrue(result["kernel"]["state_lost"], result)
                self.assertIn("did not respond in time", result["notices"][0]["text"])

    def test_one_that_holds_the_interpreters_lock_leaves_a_trace_of_where_it_stood(self):
        result = self.daemon.run("import ctypes\n\ndef hold():\n    ctypes.PyDLL(None).sleep(100)\n\nhold()", timeout_ms=500)

        self.assertEqual(result["death"]["signal"], "SIGABRT", result)
        self.assertRegex(result["death"]["log_tail"], r'File "<cell \d+>", line 4 in hold\n')

    def test_a_cell_that_replaces_the_clocks_still_has_its_deadline(self):
        result = self.daemon.run("import time\nsleep = time.sleep\ntime.monotonic = lambda: 0.0\nsleep(60)", timeout_ms=500)

        self.assertEqual(result["status"], "timeout", result)

    def test_a_cell_that_sets_its_wall_clock_back_is_not_ended_early(self):
        self.daemon.run("import time\ntime.time = lambda: 1e5")

        result = self.daemon.run("time.sleep(5)\n'slept'", timeout_ms=20_000)

        self.assert_ok(result, "'slept'")


class InterruptTest(DaemonCase):
    def test_an_interrupt_before_the_kernel_is_attached_again_reaches_the_running_cell(self):
        effect = self.daemon.directory / "effect"
        client, _pending = self.daemon.start_cell(f"import time\nprint('before', flush=True)\ntime.sleep(30)\nopen({str(effect)!r}, 'w')", "c1")
        client.wait_streamed("c1", "before")
        kernel = processes.identify(self.daemon.kernels()[0]["pid"])
        processes.send_signal(kernel, signal.SIGSTOP)
        self.daemon.kill()
        self.daemon.start()

        pending = self.daemon.connect().send("cell.interrupt", cell="c1")
        row = self.daemon.call("cell.list")["items"][0]
        processes.send_signal(kernel, signal.SIGCONT)
        result = pending.result()

        self.assertEqual(row["status"], "running")
        self.assertEqual((result["status"], result["stdout"]), ("interrupted", "before\n"), result)
        self.assertFalse(effect.exists())

    def test_an_interrupt_sent_right_behind_its_run_costs_no_state(self):
        pid = self.daemon.run("x = 41")["kernel"]["pid"]
        client = self.daemon.connect()

        pending = client.send("run", code="import time\ntime.sleep(60)", cell="c1")
        client.send("cell.interrupt", cell="c1")
        result = pending.result()
        after = self.daemon.run("x + 1")

        self.assertEqual(result["status"], "interrupted", result)
        self.assert_ok(after, "42")
        self.assertEqual(after["kernel"]["pid"], pid)


class EndingTest(DaemonCase):
    def test_a_reset_ends_what_a_cell_started_though_the_nursery_is_dead(self):
        pid = int(self.daemon.run("import subprocess\nsubprocess.Popen(['sleep', '77']).pid")["value"])
        child = processes.identify(pid)
        processes.end_all(self.daemon.nurseries())

        self.daemon.call("session.reset")

        processes.wait_gone(child)

    def test_runs_that_meet_the_close_of_their_session_run_or_are_to_be_sent_again(self):
        client = self.daemon.connect()
        for round_number in range(10):
            session = f"s{round_number}"
            client.call("run", session=session, code="1")

            closing = client.send("session.close", session=session)
            runs = [client.send("run", session=session, code="2") for _ in range(3)]

            closing.result()
            for run in runs:
                try:
                    self.assertEqual(run.result()["value"], "2")
                except RpcError as refused:
                    self.assertEqual((refused.code, refused.data["retry"]), (1012, True))

    def test_a_daemon_that_is_stopped_while_it_starts_a_nursery_ends(self):
        for _ in range(5):
            daemon = self.make_daemon()
            daemon.start()
            client = daemon.connect()
            client.send("run", code="1")

            client.send("shutdown")

            daemon.wait_ended(30)
            daemon.close()


class AdmissionTest(DaemonCase):
    def test_runs_beyond_the_queue_are_refused_while_no_kernel_can_start(self):
        self.daemon.run("1")
        nursery = self.daemon.nurseries()[0]
        processes.send_signal(nursery, signal.SIGSTOP)
        self.addCleanup(processes.send_signal, nursery, signal.SIGCONT)
        client = self.daemon.connect()

        pending = [client.send("run", session="other", code="1", cell=f"c{number}") for number in range(80)]
        refused = pending[79]

        with self.assertRaises(RpcError) as caught:
            refused.result()
        self.assertEqual(caught.exception.code, 1006)
        processes.send_signal(nursery, signal.SIGCONT)
        self.assert_ok(pending[0].result(), "1")


class StrictTest(DaemonCase):
    def setUp(self):
        self.daemon = self.make_daemon({"HOLDFAST_DURABILITY": "strict"})
        self.daemon.start()

    def test_strict_cells_run_in_order_and_are_replayed_after_a_crash(self):
        client = self.daemon.connect()
        pending = [client.send("run", code=f"x = {number}\nx", cell=f"c{number}") for number in range(5)]
        values = [each.result()["value"] for each in pending]
        self.daemon.kill()
        self.daemon.start()

        again = self.daemon.run("x = 3\nx", cell="c3")

        self.assertEqual(values, ["0", "1", "2", "3", "4"])
        self.assertTrue(again["replayed"])
        self.assert_ok(again, "3")


if __name__ == "__main__":
    unittest.main()
