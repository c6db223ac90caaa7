"""Interrupts and deadlines end a cell, whatever it does, and leave the kernel when they can."""

import time
import unittest

from holdfast_test import processes
from holdfast_test.cases import SharedDaemonCase
from holdfast_test.client import RpcError
from holdfast_test.waiting import wait_until

SLEEPING = "import time\nprint('before', flush=True)\ntime.sleep(60)\nprint('after')"
SOON_SECONDS = 5.0  # "at once" on a loaded machine


class InterruptTest(SharedDaemonCase):
    def call(self, method, **params):
        return self.client.call(method, session=self.session, **params)

    def start_sleeping(self, cell="c1"):
        pending = self.start_cell(SLEEPING, cell)
        self.client.wait_streamed(cell, "before\n")
        return pending

    def test_an_interrupted_cell_ends_with_its_output_and_the_kernel_goes_on(self):
        pid = self.run_cell("x = 41")["kernel"]["pid"]
        pending = self.start_sleeping()

        began = time.monotonic()
        answer = self.call("cell.interrupt", cell="c1")

        self.assertLess(time.monotonic() - began, SOON_SECONDS)
        self.assertEqual((answer["status"], answer["final"]), ("interrupted", True), answer)
        self.assertEqual(answer["stdout"], "before\n")
        self.assertEqual(pending.result()["status"], "interrupted")
        after = self.run_cell("x + 1")
        self.assert_ok(after, "42")
        self.assertEqual(after["kernel"]["pid"], pid)

    def test_without_a_cell_the_foreground_one_is_interrupted(self):
        pending = self.start_sleeping()

        self.assertEqual(self.call("cell.interrupt")["cell"], "c1")

        self.assertEqual(pending.result()["status"], "interrupted")

    def test_an_interrupted_queued_cell_never_starts_and_the_running_one_goes_on(self):
        running = self.start_cell("import time\nprint('before', flush=True)\ntime.sleep(1)\n'whole'", "c1")
        queued = self.start_cell("ran = True", "c2")

        answer = self.call("cell.interrupt", cell="c2")

        self.assertEqual((answer["status"], answer["started_at"]), ("interrupted", None), answer)
        self.assertEqual(queued.result()["status"], "interrupted")
        self.assert_ok(running.result(), "'whole'")
        self.assert_ok(self.run_cell("'ran' in globals()"), "False")

    def test_an_interrupt_of_a_final_cell_answers_its_result_and_hits_no_later_one(self):
        self.run_cell("7", cell="c1")
        pending = self.start_cell("import time; time.sleep(0.5); 'whole'", "c2")

        answer = self.call("cell.interrupt", cell="c1")

        self.assertEqual((answer["status"], answer["value"]), ("ok", "7"))
        self.assert_ok(pending.result(), "'whole'")

    def test_an_unknown_cell_is_not_found(self):
        self.run_cell("1")

        with self.assertRaises(RpcError) as caught:
            self.call("cell.interrupt", cell="never")
        self.assertEqual(caught.exception.code, 1001)

    def test_a_busy_loop_is_interrupted(self):
        pending = self.start_cell("print('before', flush=True)\nwhile True: pass", "c1")
        self.client.wait_streamed("c1", "before\n")

        self.call("cell.interrupt", cell="c1")

        self.assertEqual(pending.result()["status"], "interrupted")

    def test_a_cell_that_swallows_interrupts_is_killed_after_the_grace_and_the_loss_is_said(self):
        code = (
            "import time\nprint('before', flush=True)\n"
            "while True:\n    try:\n        time.sleep(0.05)\n    except: pass"
        )
        pid = self.run_cell("x = 1")["kernel"]["pid"]
        pending = self.start_cell(code, "c1")
        self.client.wait_streamed("c1", "before\n")

        self.call("cell.interrupt", cell="c1")
        result = pending.result()
        after = self.run_cell("'x' in globals()")

        self.assertEqual((result["status"], result["stdout"]), ("interrupted", "before\n"), result)
        self.assertEqual(result["death"]["cause"], "unresponsive")
        self.assertRegex(result["error"]["traceback"], r'Traceback .*:\n  File "<cell \d+>", line 5, in <module>\n.*sleep\(0.05\)\n')
        self.assert_ok(after, "False")
        self.assertNotEqual(after["kernel"]["pid"], pid)
        self.assertTrue(after["kernel"]["state_lost"])

    def test_a_cell_over_its_timeout_ends_with_its_output_and_the_queue_moves_on(self):
        pid = self.run_cell("x = 1")["kernel"]["pid"]
        pending = self.start_cell(SLEEPING, "c1", timeout_ms=500)
        following = self.start_cell("x", "c2")

        result = pending.result(SOON_SECONDS + 5)

        self.assertEqual((result["status"], result["stdout"]), ("timeout", "before\n"), result)
        self.assertGreaterEqual(result["duration_ms"], 500)
        self.assert_ok(following.result(), "1")
        self.assertEqual(following.result()["kernel"]["pid"], pid)

    def test_the_timeout_counts_from_the_start_and_not_from_the_queue(self):
        self.start_cell("import time; time.sleep(1.5)", "c1")

        result = self.run_cell("7", timeout_ms=1000)

        self.assert_ok(result, "7")
        self.assertLess(result["duration_ms"], 1000)

    def test_no_timeout_means_none(self):
        self.assert_ok(self.run_cell("import time; time.sleep(0.5); 7", timeout_ms=0), "7")

    def test_a_shell_that_waits_for_input_ends_at_the_deadline(self):
        code = "import subprocess\nsubprocess.run('read x; sleep 61.5', shell=True, capture_output=True)"

        result = self.run_cell(code, timeout_ms=700)

        self.assertEqual(result["status"], "timeout", result)
        self.assert_ok(self.run_cell("1"), "1")

    def test_an_interrupt_works_in_a_flood_of_short_lines(self):
        pending = self.start_cell("while True: print(1)", "c1")
        wait_until(lambda: self.output_bytes("c1") > 100_000, "some output", 30)

        began = time.monotonic()
        self.call("cell.interrupt", cell="c1")

        self.assertLess(time.monotonic() - began, SOON_SECONDS)
        result = pending.result()
        self.assertEqual((result["status"], set(result["stdout"].splitlines()[:100])), ("interrupted", {"1"}))
        self.assert_ok(self.run_cell("2"), "2")

    def test_an_interrupt_works_in_a_flood_of_output_which_is_bounded_and_counted(self):
        pid = self.run_cell("1")["kernel"]["pid"]
        daemon_before, kernel_before = self.resident(self.daemon.pid), self.resident(pid)
        line = "x" * 999
        pending = self.client.send("run", session=self.session, code=f"while True: print({line!r})", cell="c1")
        # The kernel sends 16 MiB; what comes after is only counted, and told with the result.
        wait_until(lambda: self.output_bytes("c1") >= (16 << 20) - 1000, "16 MiB of output", 60)

        began = time.monotonic()
        self.call("cell.interrupt", cell="c1")
        result = pending.result()

        self.assertLess(time.monotonic() - began, SOON_SECONDS)
        self.assertEqual(result["status"], "interrupted")
        self.assertGreaterEqual(result["stdout_bytes"], (16 << 20) - 1000)
        self.assertTrue(result["stdout_truncated"])
        self.assertLess(len(result["stdout"]), 66_000)
        self.assertIn(f"[... {result['stdout_bytes'] - 65536} bytes left out ...]", result["stdout"])
        self.assertTrue(result["stdout"].startswith(line + "\n"))
        self.assertTrue(result["stdout"].rstrip("\n").endswith(line))  # print writes the line and its end apart
        self.assertLess(self.resident(self.daemon.pid) - daemon_before, 64 << 20)
        self.assertLess(self.resident(pid) - kernel_before, 64 << 20)
        self.assert_ok(self.run_cell("2"), "2")

    def output_bytes(self, cell):
        return self.call("cell.output", cell=cell, limit=1)["total_bytes"]

    @staticmethod
    def resident(pid):
        with open(f"/proc/{pid}/statm") as file:
            return int(file.read().split()[1]) * 4096

    def test_an_interrupt_after_a_restart_of_the_daemon_reaches_the_running_cell(self):
        self.start_sleeping()
        kernel = processes.identify(self.daemon.kernels(session=self.session)[0]["pid"])
        self.daemon.restart(crash=True)
        self.client = self.daemon.connect()

        answer = self.call("cell.interrupt", cell="c1")

        self.assertEqual((answer["status"], answer["stdout"]), ("interrupted", "before\n"), answer)
        self.assertTrue(processes.is_alive(kernel))


if __name__ == "__main__":
    unittest.main()
