"""A daemon on a copy of a home leaves the kernels to the daemon of the original."""

import os
import signal
import unittest

from holdfast_test import processes
from holdfast_test.daemon import DaemonEnded
from holdfast_test.homes import HomeCase
from holdfast_test.waiting import wait_until


class CopiedHomeTest(HomeCase):
    def assert_left_alone(self, copied):
        self.assertIn("left 1 kernels of another daemon's home alone", copied.log())
        self.assertEqual(copied.kernels(), [])
        self.assertEqual(copied.call("job.list", state="running")["items"], [])
        self.assertEqual(copied.run_directories(), [])

    def test_copied_while_the_daemon_runs_its_kernel_cell_and_jobs_are_left_alone(self):
        pending = self.start_gated()
        os.kill(self.daemon.pid, signal.SIGSTOP)  # the copy is of one instant, as a snapshot of the file system is
        copied = self.copy_home()
        os.kill(self.daemon.pid, signal.SIGCONT)

        copied.start()

        wait_until(lambda: not copied.run_directories(), "the removal of the copied directory")
        self.assert_left_alone(copied)
        self.assertEqual(copied.call("cell.get", cell="first")["status"], "ok")
        lost = copied.call("cell.wait", cell="gated")
        self.assertEqual((lost["status"], lost["final"]), ("lost", True), lost)
        self.assert_unharmed()
        self.gate.touch()
        result = pending.result()
        self.assert_ok(result, "42")
        self.assertEqual(result["notices"], [])
        self.assert_original_goes_on("42")
        for event in ("kernel-unreachable", "kernel-refused", "kernel-left"):
            self.assertNotIn(event, self.daemon.log())

    def test_its_session_starts_afresh_in_a_kernel_of_the_copys_own(self):
        self.daemon.stop()
        copied = self.copy_home()
        copied.start()

        fresh = copied.run("'x' in globals()")

        self.assert_ok(fresh, "False")
        self.assertNotEqual(fresh["kernel"]["pid"], self.pid)
        self.assertTrue(fresh["kernel"]["state_lost"], fresh["kernel"])
        self.assertEqual(set(copied.nurseries()) & set(self.started), set())
        copied.run("x = 'of the copy'")
        copied.restart(crash=True)
        self.assert_ok(copied.run("x"), "'of the copy'")
        self.assertEqual(copied.log().count("of another daemon's home alone"), 1)
        self.daemon.start()
        self.assertEqual(self.notice_kinds(self.assert_original_goes_on("41")), ["reattached"])

    def test_copied_while_stopped_the_original_has_them_when_it_starts_later(self):
        for crash in (False, True):
            with self.subTest(crash=crash):
                pending = self.start_gated() if crash else None
                self.daemon.kill() if crash else self.daemon.stop()
                copied = self.copy_home()
                copied.start()
                self.assertIn("left 1 kernels of another daemon's home alone", copied.log())
                self.assert_unharmed()

                self.daemon.start()

                if pending:
                    self.gate.touch()
                    self.assert_ok(self.daemon.call("cell.wait", cell="gated"), "42")
                self.assert_original_goes_on("42" if crash else "41")

    def test_whatever_the_copy_ends_is_its_own(self):
        self.daemon.kill()
        orders = {
            "reset": lambda copied: copied.call("session.reset"),
            "close": lambda copied: copied.call("session.close"),
            "close of the owner": lambda copied: copied.call("owner.close", owner="default"),
            "shutdown with kernels": lambda copied: (copied.call("shutdown", kernels=True), copied.wait_ended()),
        }
        for name, order in orders.items():
            with self.subTest(name):
                copied = self.copy_home()
                copied.start()
                copied.run("1")

                order(copied)

                self.assert_unharmed()
        self.daemon.start()
        self.assert_original_goes_on("41")

    def test_killed_at_each_step_of_the_opening_the_copy_leaves_them_alone_all_the_same(self):
        self.daemon.kill()
        for name in ("storage.open.before_identity", "storage.open.after_identity", "storage.open.before_move"):
            with self.subTest(name):
                copied = self.copy_home()
                with self.assertRaises(DaemonEnded):
                    copied.start(HOLDFAST_FAILPOINTS=f"{name}=kill", HOLDFAST_FAILPOINT_LOG=str(copied.failpoint_log))
                self.assertIn(name, copied.fired_failpoints())

                copied.start()

                self.assertEqual(copied.kernels(), [])
                self.assert_ok(copied.run("'x' in globals()"), "False")
                self.assert_unharmed()
        self.daemon.start()
        self.assert_original_goes_on("41")

    def test_a_copy_in_the_place_of_a_home_that_was_moved_is_a_copy_still(self):
        path = self.daemon.home
        self.daemon.stop()
        self.daemon.home = self.daemon.directory / "elsewhere"
        path.rename(self.daemon.home)
        copied = self.copy_home(to=path)

        copied.start()
        self.daemon.start()

        self.assertIn("left 1 kernels of another daemon's home alone", copied.log())
        self.assert_ok(copied.run("'x' in globals()"), "False")
        self.assert_original_goes_on("41")
        copied.restart(crash=True)
        self.daemon.restart(crash=True)
        self.assert_original_goes_on("41")


if __name__ == "__main__":
    unittest.main()
