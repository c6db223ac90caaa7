"""No daemon for longer than a kernel's grace, or one that is killed at each step of saving and restoring: the namespace is in one place."""

import contextlib
import shutil
import unittest

from holdfast_test import processes
from holdfast_test.client import ConnectionLost
from holdfast_test.daemon import DaemonEnded
from holdfast_test.saved import FILL, SavedCase
from holdfast_test.waiting import wait_until


class GraceTest(SavedCase):
    environment = {"HOLDFAST_GRACE_SECONDS": "0.5"}

    def outlive(self):
        """No daemon for longer than the kernel's grace."""
        kernel = self.daemon.kernel_identities()[0]
        self.daemon.kill()
        processes.wait_gone(kernel)
        self.daemon.start()

    def test_a_kernel_that_ended_at_its_grace_is_found_saved(self):
        self.daemon.run(FILL)

        self.outlive()

        self.wait_state("hibernated")
        self.assertGreater(self.session()["saved_bytes"], 100)
        self.assertEqual(self.session()["notices"], 0)
        self.assert_restored(self.daemon.run("plus()"), "42")

    def test_why_one_could_not_be_saved_at_its_grace_is_told_to_the_next_cell(self):
        self.daemon.run("x = 1")
        (self.daemon.home / "state" / "1.0.part").mkdir()

        self.outlive()
        result = self.daemon.run("x", text_limit=4000)

        self.assertEqual((result["error"]["name"], result["kernel"]["state_lost"]), ("NameError", True), result)
        why = f"its namespace was not saved: cannot save to {self.daemon.home}/state/1.0: Is a directory"
        self.assertIn(why, result["notices"][0]["text"])
        self.assertIn(why, result["text"].splitlines()[0])

    def test_a_result_that_no_daemon_took_is_there_and_so_is_what_its_cell_left(self):
        self.daemon.run("x = 1")
        client, _ = self.daemon.start_cell("import time\nprint('on', flush=True)\ntime.sleep(0.5)\nx = 2\nx", "c1")
        client.wait_streamed("c1", "on")

        self.outlive()

        self.assert_ok(self.daemon.call("cell.wait", cell="c1"), "2")
        self.assert_restored(self.daemon.run("x"), "2")

    def test_a_file_that_is_older_than_the_last_cell_does_not_count(self):
        self.hibernate("x = 1")
        file = self.daemon.home / "state" / "1.0"
        kept = self.daemon.directory / "kept"
        shutil.copy2(file, kept)
        self.assert_restored(self.daemon.run("x = 2; x"), "2")
        wait_until(lambda: self.state_files() == [], "the file to be gone")
        shutil.copy2(kept, file)
        kernel = self.daemon.kernel_identities()[0]
        self.daemon.run("import os, threading\nthreading.Timer(0.2, os._exit, (0,)).start()")
        processes.wait_gone(kernel)

        result = self.daemon.run("x")

        self.assertEqual((result["error"]["name"], result["kernel"]["state_lost"]), ("NameError", True), result)


class CrashTest(SavedCase):
    """The daemon is killed at a step: a live kernel or a saved namespace has the names afterwards, and never both."""

    def crash_at(self, name, *call, **params):
        with self.daemon.connect() as client:
            pending = client.send(*call, **params)
            self.assertEqual(self.daemon.wait_ended(), -9)
            with self.assertRaises(ConnectionLost):
                pending.result(5)
        self.assertIn(name, self.daemon.fired_failpoints())
        self.daemon.start()

    def arm(self, name):
        return {"HOLDFAST_FAILPOINTS": f"{name}=kill", "HOLDFAST_FAILPOINT_LOG": str(self.daemon.failpoint_log)}

    def assert_one_has_it(self):
        result = self.daemon.run("x += 1; x")
        self.assert_ok(result, "42")
        self.assertFalse(result["kernel"]["state_lost"], result["kernel"])
        self.assertEqual((len(self.daemon.kernels()), self.session()["saved_bytes"]), (1, 0))
        wait_until(lambda: len(self.daemon.run_directories()) == 1, "no other kernel's directory to be left")
        kernel = self.daemon.kernel_identities()[0]
        nurseries = {each.pid for each in self.daemon.nurseries()}

        def kernels_alive():
            return [each for each in self.daemon.processes() if processes.parent_of(each.pid) in nurseries]

        wait_until(lambda: kernels_alive() == [kernel], "no other kernel to be left")
        # Had the file stayed, a later death would bring x = 41 back.
        self.daemon.kill()
        processes.end_all([kernel])
        self.daemon.start()
        self.assertEqual(self.daemon.run("x")["error"]["name"], "NameError")

    def test_while_it_is_stopped(self):
        for name in ("core.before_saved_recorded", "core.after_saved_recorded", "core.after_saved_unlinked"):
            with self.subTest(name):
                self.daemon.restart(**self.arm(name))
                self.daemon.run("x = 41")
                self.crash_at(name, "kernel.stop", kernel=self.daemon.kernels()[0]["kernel"])
                self.assert_one_has_it()

    def test_while_it_is_restored(self):
        for name in ("core.before_restored_recorded", "core.after_restored_recorded"):
            with self.subTest(name):
                self.hibernate("x = 41")
                self.daemon.restart(**self.arm(name))
                self.crash_at(name, "run", code="x", cell=name)
                self.assert_ok(self.daemon.call("cell.wait", cell=name), "41")
                self.assert_one_has_it()

    def test_while_one_that_ended_at_its_grace_is_taken_over(self):
        for name in ("core.before_saved_recorded", "core.after_saved_recorded"):
            with self.subTest(name):
                self.daemon.restart(HOLDFAST_GRACE_SECONDS="0.5")
                self.daemon.run("x = 41")
                kernel = self.daemon.kernel_identities()[0]
                self.daemon.kill()
                processes.wait_gone(kernel)
                self.start_until_killed(name)
                self.daemon.start()
                self.assert_one_has_it()

    def start_until_killed(self, name):
        with contextlib.suppress(DaemonEnded, ConnectionLost):  # before its first answer, or within it
            self.daemon.start(**self.arm(name))
        if self.daemon.process is not None:
            self.assertEqual(self.daemon.wait_ended(), -9)
        self.assertIn(name, self.daemon.fired_failpoints())


if __name__ == "__main__":
    unittest.main()
