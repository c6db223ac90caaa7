"""A kernel that nothing has run in for the idle limit is hibernated by the daemon's own clock, whether or not anybody asks for anything."""

import contextlib
import unittest

from holdfast_test import processes
from holdfast_test.cases import DaemonCase
from holdfast_test.client import RpcError
from holdfast_test.waiting import stays_true, wait_until


class IdleCase(DaemonCase):
    def state(self, session="default", **params):
        return self.daemon.call("session.get", session=session, **params)["state"]

    def state_files(self):
        return sorted(path.name for path in (self.daemon.home / "state").iterdir())


class IdleTest(IdleCase):
    environment = {"HOLDFAST_IDLE_SECONDS": "1"}

    def test_without_any_request_it_is_ended_and_its_directory_gone(self):
        self.daemon.run("x = 41")
        kernel = self.daemon.kernel_identities()[0]

        processes.wait_gone(kernel)

        wait_until(lambda: not self.daemon.run_directories(), "its directory to be gone")
        self.assertEqual(self.state(), "hibernated")

    def test_the_next_cell_has_the_variables_and_is_told_why(self):
        self.daemon.run("import threading\nx = 41\nlock = threading.Lock()")
        wait_until(lambda: self.state() == "hibernated", "it to be hibernated")

        result = self.daemon.run("x + 1", text_limit=4000)

        self.assert_ok(result, "42")
        self.assertEqual(self.notice_kinds(result), ["evicted", "restored"])
        evicted = result["notices"][0]
        self.assertRegex(evicted["text"], r"longer than idle_seconds allows; its namespace is saved and the next cell has it again, but for lock")
        self.assertEqual([each["name"] for each in evicted["details"]["skipped"]], ["lock"])
        self.assertEqual((result["kernel"]["reason"], result["kernel"]["restored"]), ("restored", True))
        self.assertIn("[evicted: ", result["text"])
        self.assertEqual(self.daemon.run("x")["notices"], [])

    def test_polling_is_no_activity(self):
        self.daemon.run("x = 41", cell="c1")
        kernel = self.daemon.kernel_identities()[0]
        client = self.daemon.connect()

        def is_hibernated():
            client.call("cell.get", cell="c1")
            client.call("kernel.list")
            with contextlib.suppress(RpcError):  # 1008 while it ends
                client.call("session.variables")
            client.call("cell.output", cell="c1")
            return client.call("session.get")["state"] == "hibernated"

        wait_until(is_hibernated, "it to be hibernated under polling")
        processes.wait_gone(kernel)

    def test_the_clock_starts_at_the_end_of_a_cell(self):
        self.daemon.run("import time; x = 41; time.sleep(2.5)")

        row = self.daemon.kernels()[0]

        self.assertLess(row["idle_ms"], 1000)
        self.assert_ok(self.daemon.run("x"), "41")
        self.assertEqual(self.daemon.kernels()[0]["kernel"], row["kernel"])

    def test_a_job_spares_it_and_its_end_starts_the_clock(self):
        self.daemon.run("x = 1; j = run('sleep', '3')")
        kernel = self.daemon.kernels()[0]["kernel"]
        job = self.daemon.call("job.list")["items"][0]["job"]
        stays_true(lambda: self.state() == "idle", 2, "a kernel with a job to be there")

        wait_until(lambda: self.daemon.call("job.list")["items"][0]["state"] == "finished", "the job to end")

        row = self.daemon.kernels()[0]
        self.assertEqual(row["kernel"], kernel)
        self.assertLess(row["idle_ms"], 1000, job)
        wait_until(lambda: self.state() == "hibernated", "it to be hibernated")

    def test_a_cell_in_the_background_is_a_cell(self):
        self.daemon.run("import asyncio\nawait asyncio.sleep(3)", background_after_ms=50, wait_ms=0, cell="c1")
        wait_until(lambda: self.daemon.call("cell.get", cell="c1")["status"] == "running", "it to run")
        stays_true(lambda: self.state() == "busy", 2, "it to be there")
        self.assert_ok(self.daemon.call("cell.wait", cell="c1"))

    def test_a_child_is_reaped_for_its_age_as_others_are(self):
        self.daemon.run("x = 1", child="c1")

        wait_until(lambda: self.state(child="c1") == "hibernated", "the child's to be hibernated")

        self.assert_ok(self.daemon.run("x", child="c1"), "1")

    def test_events_tell_of_it_with_the_reason(self):
        listener = self.daemon.connect()
        listener.call("event.subscribe", types=["kernel_hibernated", "kernel_ended"])
        kernel = self.daemon.run("x = 1")["kernel"]["id"]

        hibernated = listener.wait_notification("event", kind="kernel_hibernated")
        ended = listener.wait_notification("event", kind="kernel_ended")

        self.assertEqual(hibernated["details"], {"kernel": kernel, "reason": "idle"})
        self.assertEqual(ended["details"], {"kernel": kernel, "reason": "hibernated"})


class NeverTest(IdleCase):
    environment = {"HOLDFAST_IDLE_SECONDS": "0"}

    def test_a_limit_of_zero_is_none(self):
        self.daemon.run("x = 1")

        stays_true(lambda: self.state() == "idle", 1.5, "it to be idle")


class ScaledTest(IdleCase):
    environment = {"HOLDFAST_IDLE_SECONDS": "600", "HOLDFAST_TIME_SCALE": "600", "HOLDFAST_ADMISSION_TIMEOUT_SECONDS": "6000"}

    def test_a_cell_longer_than_the_limit_is_not_reaped_when_it_ends(self):
        """A twelve minute cell under a ten minute limit, 600 times as fast."""
        result = self.daemon.run("import time; x = 41; time.sleep(1.2)")

        self.assert_ok(result)
        after = self.daemon.run("x")
        self.assert_ok(after, "41")
        self.assertEqual(after["kernel"]["id"], result["kernel"]["id"])
        wait_until(lambda: self.state() == "hibernated", "it to be hibernated a limit later")


class RestartTest(IdleCase):
    environment = {"HOLDFAST_IDLE_SECONDS": "2"}

    def test_one_over_its_limit_after_a_restart_is_reaped_at_once(self):
        self.daemon.run("x = 41")
        kernel = self.daemon.kernel_identities()[0]
        self.daemon.kill()
        stays_true(lambda: processes.identify(kernel.pid) == kernel, 2.2, "the kernel to outlive its limit without a daemon")

        self.daemon.start()

        processes.wait_gone(kernel, 1.5)
        self.assertEqual(self.state(), "hibernated")
        self.assert_ok(self.daemon.run("x"), "41")

    def test_a_restart_does_not_wind_the_clock_up_again(self):
        self.daemon.run("x = 41")
        kernel = self.daemon.kernel_identities()[0]
        before = self.daemon.kernels()[0]["idle_ms"]

        self.daemon.restart(crash=True)

        self.assertGreaterEqual(self.daemon.kernels()[0]["idle_ms"], before)
        processes.wait_gone(kernel, 4)

    def test_a_cell_that_ended_without_a_daemon_counts_from_its_end(self):
        client, _ = self.daemon.start_cell("import time\nprint('on', flush=True)\ntime.sleep(0.5)\nx = 41", "c1")
        client.wait_streamed("c1", "on")
        kernel = self.daemon.kernel_identities()[0]
        self.daemon.kill()
        self.daemon.wait_spooled("done", "c1")
        stays_true(lambda: processes.identify(kernel.pid) == kernel, 2.2, "the kernel to outlive its limit without a daemon")

        self.daemon.start()

        processes.wait_gone(kernel, 1.5)
        self.assert_ok(self.daemon.call("cell.get", cell="c1"))
        self.assert_ok(self.daemon.run("x"), "41")


if __name__ == "__main__":
    unittest.main()
