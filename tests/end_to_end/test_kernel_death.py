"""A kernel's death ends its cell as lost, with cause and output, and the next cell says that the state is gone."""

import os
import signal
import time
import unittest

from holdfast_test import processes
from holdfast_test.cases import DaemonCase

HEARD_SECONDS = 10.0  # upper bound on a loaded machine; about 1 s is meant

SEGFAULT = "import ctypes; ctypes.string_at(0)"
DEATHS = {  # what the cell does -> the death that the result names
    "sigkill": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", {"cause": "signal", "signal": "SIGKILL"}),
    "os_exit": ("import os; os._exit(3)", {"cause": "exit", "exit_code": 3}),
    "segfault": (SEGFAULT, {"cause": "signal", "signal": "SIGSEGV"}),
    "abort": ("import os; os.abort()", {"cause": "signal", "signal": "SIGABRT"}),
}


class KernelDeathTest(DaemonCase):
    def assert_lost(self, result, death, stdout=None):
        self.assertEqual((result["status"], result["final"]), ("lost", True), result)
        self.assertEqual({name: result["death"][name] for name in death}, death, result)
        if stdout is not None:
            self.assertEqual(result["stdout"], stdout, result)

    def assert_fresh_and_told(self, old_kernel, **place):
        after = self.daemon.run("'x' in globals()", **place)
        self.assert_ok(after, "False")
        self.assertNotEqual(after["kernel"]["id"], old_kernel)
        self.assertTrue(after["kernel"]["state_lost"], after)
        self.assertEqual(after["kernel"]["reason"], "died")
        self.assertIn("state_lost", self.notice_kinds(after), after)
        again = self.daemon.run("2", **place)
        self.assertFalse(again["kernel"]["state_lost"])
        self.assertEqual(self.notice_kinds(again), [])

    def dying_cell(self, way, after_restart=False):
        code, death = DEATHS[way]
        first = self.daemon.run("x = 1")
        if after_restart:
            self.daemon.restart(crash=True)

        began = time.monotonic()
        result = self.daemon.run(f"print('before')\n{code}\nprint('never')", cell="c1")
        elapsed = time.monotonic() - began

        self.assert_lost(result, death, "before\n")
        self.assertLess(elapsed, HEARD_SECONDS)
        self.assert_fresh_and_told(first["kernel"]["id"])
        self.assertEqual(self.daemon.call("cell.get", cell="c1")["status"], "lost")

    def test_a_kernel_that_ends_in_mid_cell_is_lost_with_its_cause_and_output(self):
        for way in DEATHS:
            with self.subTest(way):
                self.dying_cell(way)
                self.daemon.call("session.close")

    def test_the_same_is_heard_right_after_a_restart_of_the_daemon(self):
        for way in DEATHS:
            with self.subTest(way):
                self.dying_cell(way, after_restart=True)
                self.daemon.call("session.close")

    def test_a_kernel_killed_from_outside_in_mid_cell_is_lost_with_its_output(self):
        client, pending = self.daemon.start_cell("import time\nprint('before', flush=True)\ntime.sleep(60)", "c1")
        client.wait_streamed("c1", "before\n")
        kernel = processes.identify(self.daemon.kernels()[0]["pid"])

        began = time.monotonic()
        processes.send_signal(kernel, signal.SIGKILL)
        result = pending.result(HEARD_SECONDS)

        self.assert_lost(result, {"cause": "signal", "signal": "SIGKILL"}, "before\n")
        self.assertLess(time.monotonic() - began, HEARD_SECONDS)

    def test_what_a_cell_wrote_below_python_before_a_segfault_is_kept(self):
        result = self.daemon.run(f"import os\nprint('python')\nos.write(1, b'descriptor\\n')\n{SEGFAULT}")

        self.assert_lost(result, {"signal": "SIGSEGV"}, "python\ndescriptor\n")

    def test_cells_queued_behind_a_lost_one_run_in_a_fresh_kernel_and_are_told(self):
        _, first = self.daemon.start_cell("import time, os\ntime.sleep(0.5)\nos._exit(3)", "c1")
        _, second = self.daemon.start_cell("'time' in globals()", "c2")
        _, third = self.daemon.start_cell("3", "c3")

        self.assert_lost(first.result(), {"cause": "exit", "exit_code": 3})
        after = second.result()
        self.assert_ok(after, "False")
        self.assertTrue(after["kernel"]["state_lost"])
        self.assertIn("state_lost", self.notice_kinds(after))
        self.assert_ok(third.result(), "3")

    def test_an_idle_kernel_that_dies_is_replaced_and_the_loss_told_before_a_name_error(self):
        first = self.daemon.run("old = 1")
        kernel = processes.identify(first["kernel"]["pid"])
        processes.send_signal(kernel, signal.SIGTERM)
        processes.send_signal(kernel, signal.SIGKILL)
        processes.wait_gone(kernel)

        result = self.daemon.run("old")

        self.assertEqual((result["status"], result["error"]["name"]), ("error", "NameError"), result)
        self.assertTrue(result["kernel"]["state_lost"])
        self.assertIn("state_lost", self.notice_kinds(result))

    def test_sigterm_alone_is_no_silent_end(self):
        first = self.daemon.run("old = 1")
        os.kill(first["kernel"]["pid"], signal.SIGTERM)

        result = self.daemon.run("old")

        if result["status"] == "ok":
            self.assertEqual(result["kernel"]["pid"], first["kernel"]["pid"])
        else:
            self.assertEqual(result["error"]["name"], "NameError", result)
            self.assertTrue(result["kernel"]["state_lost"], result)

    def test_nothing_is_run_again_after_a_kernel_died(self):
        path = self.daemon.directory / "effects"
        code = f"with open({str(path)!r}, 'a') as file: file.write('ran\\n')\nimport os; os._exit(1)"

        self.assert_lost(self.daemon.run(code, cell="c1"), {"cause": "exit", "exit_code": 1})
        for number in (2, 3):
            self.assert_ok(self.daemon.run(str(number)), str(number))
        again = self.daemon.run(code, cell="c1")

        self.assertEqual((again["status"], again["replayed"]), ("lost", True))
        self.assertEqual(path.read_text(), "ran\n")

    def test_a_kernel_that_ends_while_the_daemon_is_down_makes_its_cell_lost_once(self):
        client, _ = self.daemon.start_cell("import time\nprint('before', flush=True)\ntime.sleep(60)", "c1")
        client.wait_streamed("c1", "before\n")
        old = self.daemon.kernels()[0]
        kernel = processes.identify(old["pid"])
        self.daemon.kill()
        processes.end_all([kernel])
        self.daemon.start()

        result = self.daemon.call("cell.wait", cell="c1")
        rows = self.daemon.call("cell.list")["items"]

        self.assert_lost(result, {"cause": "signal", "signal": "SIGKILL"}, "before\n")
        self.assertEqual([(row["cell"], row["status"]) for row in rows], [("c1", "lost")])

    def test_a_cell_that_kills_its_process_group_ends_no_other_kernel(self):
        other = self.daemon.run("x = 1", session="other")

        result = self.daemon.run("import os, signal; os.killpg(0, signal.SIGKILL)")
        after = self.daemon.run("x", session="other")

        self.assert_lost(result, {"cause": "signal", "signal": "SIGKILL"})
        self.assert_ok(after, "1")
        self.assertEqual(after["kernel"]["pid"], other["kernel"]["pid"])

    def test_another_session_does_not_notice(self):
        self.daemon.run("x = 1", session="other")
        pid = self.daemon.run("x = 1")["kernel"]["pid"]
        processes.end_all([processes.identify(pid)])

        other = self.daemon.run("x", session="other")

        self.assert_ok(other, "1")
        self.assertEqual(other["notices"], [])


if __name__ == "__main__":
    unittest.main()
