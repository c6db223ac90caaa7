"""A stop that ends the kernels too: cells are interrupted, namespaces saved, jobs and nurseries ended; the next daemon restores."""

import os
import signal
import unittest
from pathlib import Path

from holdfast_test import processes
from holdfast_test.cases import DaemonCase
from holdfast_test.waiting import wait_until


class StopCase(DaemonCase):
    environment = {"HOLDFAST_INTERRUPT_GRACE_SECONDS": "0.5"}

    def stop(self, not_saved=0):
        """Ends daemon and kernels; nothing of the home runs any more."""
        answer = self.daemon.call("shutdown", seconds=60, kernels=True)
        self.assertEqual(self.daemon.wait_ended(), 0)
        self.assertEqual(answer, {"kernels_left": 0, "not_saved": not_saved})
        self.assertEqual(self.daemon.processes(), [])
        self.assertEqual(self.daemon.run_directories(), [])


class StopWithKernelsTest(StopCase):
    def test_variables_are_there_again_in_another_kernel(self):
        first = self.daemon.run("survivor = 41")["kernel"]["pid"]
        self.stop()
        self.daemon.start()

        after = self.daemon.run("survivor += 1\nsurvivor")

        self.assert_ok(after, "42")
        self.assertNotEqual(after["kernel"]["pid"], first)
        self.assertTrue(after["kernel"]["restored"])
        self.assertEqual(self.notice_kinds(after), ["restored"])

    def test_every_session_has_its_own_again(self):
        sessions = [f"s-{number}" for number in range(40)]  # more than are saved at a time
        for session in sessions:
            self.daemon.run(f"mine = {session!r}", session=session)
        self.stop()
        self.daemon.start()

        for session in sessions:
            self.assert_ok(self.daemon.run("mine", session=session), repr(session))

    def test_a_kernel_that_is_not_attached_yet_is_waited_for_and_saved(self):
        gate = self.daemon.directory / "gate"
        self.daemon.run(
            "import ctypes, os, threading, time\nx = 41\ndef hold():\n"
            f"    while not os.path.exists({str(gate)!r}):\n        time.sleep(0.01)\n"
            f"    open({str(gate) + '.shut'!r}, 'w').close(); ctypes.PyDLL(None).usleep(900000)\n"
            "threading.Thread(target=hold, daemon=True).start()"
        )
        self.daemon.kill()
        gate.touch()
        wait_until(Path(f"{gate}.shut").exists, "a held interpreter")
        self.daemon.start()

        self.stop()
        self.daemon.start()

        self.assert_ok(self.daemon.run("x"), "41")

    def test_a_running_cell_is_interrupted_and_what_it_had_made_is_saved(self):
        client, pending = self.daemon.start_cell("x = 1\nprint('on', flush=True)\nimport time\ntime.sleep(600)", "long")
        client.wait_streamed("long", "on")

        self.stop()
        self.assertEqual(pending.result(10)["status"], "interrupted")
        self.daemon.start()

        self.assertEqual(self.daemon.call("cell.get", cell="long")["status"], "interrupted")
        self.assert_ok(self.daemon.run("x"), "1")

    def test_so_is_one_in_the_background(self):
        client, _ = self.daemon.start_cell(
            "import asyncio\nx = 1\nprint('on', flush=True)\nawait asyncio.sleep(600)", "behind", background_after_ms=1
        )
        client.wait_streamed("behind", "on")
        self.assert_ok(self.daemon.run("y = 2"))

        self.stop()
        self.daemon.start()

        self.assertEqual(self.daemon.call("cell.get", cell="behind")["status"], "interrupted")
        self.assert_ok(self.daemon.run("(x, y)"), "(1, 2)")

    def test_a_cell_that_does_not_obey_is_killed_with_its_kernel_and_the_next_one_is_told(self):
        client, _ = self.daemon.start_cell(
            "import time\nprint('on', flush=True)\nwhile True:\n    try: time.sleep(600)\n    except KeyboardInterrupt: pass", "stubborn"
        )
        client.wait_streamed("stubborn", "on")

        self.stop(not_saved=1)
        self.daemon.start()

        self.assertEqual(self.daemon.call("cell.get", cell="stubborn")["status"], "interrupted")
        after = self.daemon.run("'time' in globals()")
        self.assert_ok(after, "False")
        self.assertTrue(after["kernel"]["state_lost"])

    def test_a_waiting_cell_runs_in_the_restored_kernel(self):
        client, _ = self.daemon.start_cell("x = 1\nprint('on', flush=True)\nimport time\ntime.sleep(600)", "long")
        client.wait_streamed("long", "on")
        self.daemon.start_cell("x + 1", "behind")

        self.stop()
        self.daemon.start()

        self.assert_ok(self.daemon.call("cell.wait", cell="behind"), "2")

    def test_jobs_end_and_one_that_is_kept_goes_on(self):
        pids = self.daemon.run("a = run('sleep', '600')\nb = run('sleep', '601', keep=True)\n(a.pid, b.pid)")["value"]
        ended, kept = (processes.identify(int(pid)) for pid in pids.strip("()").split(", "))

        self.daemon.call("shutdown", seconds=60, kernels=True)
        self.daemon.wait_ended()

        self.assertFalse(processes.is_alive(ended))
        self.assertTrue(processes.is_alive(kept))
        processes.end_all([kept])

    def test_a_stopped_kernel_holds_nothing_up(self):
        self.daemon.run("x = 1", session="stopped")
        self.daemon.run("x = 2", session="well")
        stopped = next(row["pid"] for row in self.daemon.kernels() if row["session"] == "stopped")
        self.daemon.kill()
        os.kill(stopped, signal.SIGSTOP)
        self.daemon.start(HOLDFAST_HELLO_DEADLINE_SECONDS="0.3")
        wait_until(lambda: sorted(row["state"] for row in self.daemon.kernels()) == ["idle", "unreachable"], "one of them attached")

        self.stop(not_saved=1)
        self.daemon.start()

        self.assert_ok(self.daemon.run("x", session="well"), "2")

    def test_the_command_line_says_what_it_did(self):
        self.daemon.run("survivor = 41")

        stopped = self.daemon.command("stop", "--kernels")
        self.daemon.wait_ended()

        self.assertEqual((stopped.returncode, stopped.stdout), (0, "stopped; 0 kernels live on\n"))
        self.assertEqual(self.daemon.processes(), [])


class JustStartedTest(StopCase):
    """A daemon that is stopped with its kernels before these have answered it."""

    environment = {**StopCase.environment, "HOLDFAST_HELLO_DEADLINE_SECONDS": "20"}

    def restart_unattached(self):
        """Each kernel answers the next daemon late."""
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual([row["state"] for row in self.daemon.kernels()], ["starting"])

    def setUp(self):
        super().setUp()
        self.daemon.restart(HOLDFAST_FAILPOINTS="kernel.before_hello_sent=1*off->1*delay(2000)->off")

    def test_kernels_that_are_being_attached_are_waited_for_and_saved(self):
        self.daemon.run("survivor = 41")
        self.restart_unattached()

        self.stop()
        self.daemon.start()

        self.assert_ok(self.daemon.run("survivor"), "41")

    def test_a_cell_that_runs_in_one_is_interrupted_and_what_it_had_made_is_saved(self):
        client, _ = self.daemon.start_cell("x = 1\nprint('on', flush=True)\nimport time\ntime.sleep(600)", "long")
        client.wait_streamed("long", "on")
        self.restart_unattached()

        self.stop()
        self.daemon.start()

        self.assertEqual(self.daemon.call("cell.get", cell="long")["status"], "interrupted")
        self.assert_ok(self.daemon.run("x"), "1")


class CrashTest(DaemonCase):
    def test_killed_at_each_step_the_next_daemon_has_the_namespace_once(self):
        for failpoint in ("before_saved_recorded", "after_saved_recorded", "after_saved_unlinked"):
            with self.subTest(failpoint=failpoint):
                session = failpoint
                self.daemon.run("survivor = 41", session=session)
                self.daemon.restart(HOLDFAST_FAILPOINTS=f"core.{failpoint}=kill")
                wait_until(lambda: self.daemon.call("status")["attaching"] == 0, "every kernel attached")
                client = self.daemon.connect()
                client.send("shutdown", kernels=True)
                self.assertEqual(self.daemon.wait_ended(), -signal.SIGKILL)
                self.daemon.start()

                self.assert_ok(self.daemon.run("survivor += 1\nsurvivor", session=session), "42")


if __name__ == "__main__":
    unittest.main()
