"""A recovery whose step fails is tried again, and one whose daemon is killed at a step is done by the next daemon: once, and whole."""

import contextlib
import signal
import unittest

from holdfast_test import processes
from holdfast_test.cases import DaemonCase
from holdfast_test.client import ConnectionLost
from holdfast_test.daemon import DaemonEnded


class TriedAgainTest(DaemonCase):
    """A recovery that fails is tried again. The first hits of the attach are the nursery's and the kernel's, in either order."""

    def assert_recovers(self, failpoint, failures):
        first = self.daemon.run("x = 41")
        self.daemon.kill()
        armed = f"{failpoint}={failures}*error->off"
        self.daemon.start(HOLDFAST_FAILPOINTS=armed, HOLDFAST_FAILPOINT_LOG=str(self.daemon.failpoint_log))

        result = self.daemon.run("x += 1\nx")

        self.assert_ok(result, "42")
        self.assertEqual((result["kernel"]["pid"], result["kernel"]["state_lost"]), (first["kernel"]["pid"], False))
        self.assertEqual(self.notice_kinds(result), ["reattached"])
        self.assertEqual(self.daemon.run("x")["notices"], [])
        self.assertEqual(self.daemon.fired_failpoints(), [failpoint] * failures)
        self.assert_ok(self.daemon.run("1", session="new"), "1")

    def test_an_attach_that_cannot_be_said(self):
        self.assert_recovers("core.before_attach_sent", 2)

    def test_an_attach_that_cannot_be_said_again_and_again(self):
        self.assert_recovers("core.before_attach_sent", 6)

    def test_a_hello_that_is_not_taken(self):
        self.assert_recovers("core.after_hello", 1)

    def test_a_hello_that_is_not_taken_again_and_again(self):
        self.assert_recovers("core.after_hello", 4)


class KilledWhileRecoveringTest(DaemonCase):
    """The daemon is killed at a step of its recovery, again and again; the one after it has everything, once."""

    def setUp(self):
        super().setUp()
        self.gate = self.daemon.directory / "gate"
        self.effects = self.daemon.directory / "effects"
        self.first = self.daemon.run("import os, time\nx = 41\njob = run('sleep', '600')")
        self.job = processes.identify(self.daemon.call("job.list")["items"][0]["pid"])
        waiting = f"while not os.path.exists({str(self.gate)!r}): time.sleep(0.01)"
        code = f"open({str(self.effects)!r}, 'a').write('ran ')\nprint('on', flush=True)\n{waiting}\nx"
        client, _ = self.daemon.start_cell(code, "gated")
        client.wait_streamed("gated", "on")
        self.daemon.start_cell(f"open({str(self.effects)!r}, 'a').write('queued ')\nx + 1", "queued")
        self.daemon.kill()

    def kill_at(self, name, passing):
        """A daemon that is killed at that step once it has passed it so often."""
        failpoint = f"{name}={passing}*off->kill" if passing else f"{name}=kill"
        with contextlib.suppress(DaemonEnded, ConnectionLost):  # before its first answer, or within it
            self.daemon.start(HOLDFAST_FAILPOINTS=failpoint, HOLDFAST_FAILPOINT_LOG=str(self.daemon.failpoint_log))
        if self.daemon.process is not None:
            self.assertEqual(self.daemon.wait_ended(), -signal.SIGKILL)
        self.assertEqual(self.daemon.fired_failpoints()[-1], name)

    def assert_converges(self):
        self.daemon.start()
        self.gate.touch()
        results = [self.daemon.call("cell.wait", cell="gated"), self.daemon.call("cell.wait", cell="queued"), self.daemon.run("x")]
        for result, value in zip(results, ("41", "42", "41")):
            self.assert_ok(result, value)
            self.assertEqual((result["kernel"]["pid"], result["kernel"]["state_lost"]), (self.first["kernel"]["pid"], False))
        self.assertEqual([kind for result in results for kind in self.notice_kinds(result)], ["reattached"])
        self.assertEqual(self.effects.read_text(), "ran queued ")
        self.assertEqual(results[0]["stdout"], "on\n")
        self.assertTrue(processes.is_alive(self.job))
        self.assertEqual(len(self.daemon.kernels()), 1)

    def test_before_the_first_attach(self):
        self.kill_at("core.before_attach_sent", 0)
        self.assert_converges()

    def test_before_the_second_attach(self):
        self.kill_at("core.before_attach_sent", 1)
        self.assert_converges()

    def test_after_the_hello(self):
        self.kill_at("core.after_hello", 0)
        self.assert_converges()

    def test_at_each_of_them_in_turn_three_times(self):
        for _ in range(3):
            for step in (("core.before_attach_sent", 0), ("core.before_attach_sent", 1), ("core.after_hello", 0)):
                self.kill_at(*step)
        self.assert_converges()

    def test_at_each_commit_of_the_recovery(self):
        for name in ("storage.boot.before_commit", "storage.boot.after_commit", "storage.open.after_identity", "storage.open.before_move"):
            self.kill_at(name, 0)
        self.assert_converges()


if __name__ == "__main__":
    unittest.main()
