"""A daemon with another program serves the kernels of the one before as they are, and replaces those that are idle and can be saved whole."""

import os
import unittest

from holdfast_test import processes
from holdfast_test.cases import DaemonCase
from holdfast_test.daemon import binary
from holdfast_test.waiting import stays_true, wait_until

LOCK = "import threading\nlock = threading.Lock()\nx = 41"
SOON = {"HOLDFAST_TIME_SCALE": "10"}  # upgrades come after half a second


def other_binary():
    """The same executable with another program in it."""
    return os.environ.get("HOLDFAST_OTHER_BINARY") or os.path.join(os.path.dirname(binary()), "holdfast_other_program")


class StaleCase(DaemonCase):
    def upgrade(self, crash=False, **extra):
        """From now on the daemon is of the other build."""
        self.daemon.binary = other_binary()
        self.daemon.restart(crash=crash, **extra)

    def downgrade(self, crash=False, **extra):
        self.daemon.binary = None
        self.daemon.restart(crash=crash, **extra)

    def kernel(self, session="default"):
        rows = self.daemon.kernels(session=session)
        return rows[0] if rows else None

    def wait_hibernated(self, session="default"):
        def is_there():
            return self.daemon.call("session.get", session=session)["state"] == "hibernated"

        wait_until(is_there, f"session {session} to be hibernated")

    def start_gated(self, code, cell="gated", **params):
        """A cell that prints `on`, then waits for the gate before it runs the code."""
        gate = self.daemon.directory / f"{cell}.gate"
        wait = f"import os, time\nprint('on', flush=True)\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.01)\n"
        client, _ = self.daemon.start_cell(wait + code, cell, **params)
        client.wait_streamed(cell, "on")
        return gate


class UpgradeTest(StaleCase):
    def test_an_idle_kernel_is_shown_as_stale_and_served_then_replaced_with_its_variables(self):
        first = self.daemon.run("x = 41")["kernel"]
        self.assertFalse(self.kernel()["stale"])
        self.upgrade(crash=True)

        result = self.daemon.run("x += 1; x")  # five seconds pass before it is replaced

        self.assert_ok(result, "42")
        self.assertEqual(result["kernel"]["id"], first["id"])
        row = self.kernel()
        self.assertEqual((row["kernel"], row["stale"], row["victim_rank"]), (first["id"], True, 1))
        self.assertIn("idle (stale)", self.daemon.command("kernels").stdout)
        self.wait_hibernated()
        result = self.daemon.run("x")
        self.assert_ok(result, "42")
        self.assertEqual(self.notice_kinds(result), ["upgraded", "restored"])
        self.assertIn("another version of the kernel's program", result["notices"][0]["text"])
        self.assertNotEqual(result["kernel"]["id"], first["id"])
        self.assertEqual((result["kernel"]["restored"], result["kernel"]["state_lost"]), (True, False))
        self.assertFalse(self.kernel()["stale"])

    def test_a_running_cell_a_queued_one_and_a_job_go_on_and_spare_their_kernel_until_they_end(self):
        first = self.daemon.run("run('sleep', '600').id")
        gate = self.start_gated("x = 41\nprint('off', flush=True)\nx")
        queued = self.daemon.connect().send("run", code="x += 1; x", cell="queued")
        wait_until(lambda: self.kernel()["queued"] == 1, "the second cell to wait")
        self.upgrade(crash=True, **SOON)

        stays_true(lambda: self.kernel()["state"] == "busy", 1.5, "the kernel to be there, busy")
        self.assertTrue(self.kernel()["stale"])
        gate.touch()

        done, next_one = self.daemon.call("cell.wait", cell="gated"), self.daemon.call("cell.wait", cell="queued")
        self.assert_ok(done, "41")
        self.assertEqual(done["stdout"], "on\noff\n")
        self.assert_ok(next_one, "42")
        self.assertEqual({done["kernel"]["id"], next_one["kernel"]["id"]}, {first["kernel"]["id"]})
        self.assertEqual(self.daemon.call("cell.get", cell="gated")["value"], "41")
        stays_true(lambda: self.kernel() is not None, 1.5, "the kernel with a live job to be there")
        row = self.daemon.call("job.list")["items"][0]
        self.assertEqual((row["job"], row["state"]), (first["value"].strip("'"), "running"))
        self.daemon.call("job.stop", job=row["job"])

        self.wait_hibernated()
        self.assert_ok(self.daemon.run("x"), "42")

    def test_one_that_cannot_be_saved_whole_stays_and_is_looked_at_again_after_its_next_cell(self):
        first = self.daemon.run(LOCK)["kernel"]
        self.upgrade(**SOON)
        wait_until(lambda: "of its names cannot be saved" in self.daemon.log(), "the attempt to save it")

        stays_true(lambda: self.kernel() and self.kernel()["kernel"] == first["id"], 1.5, "the kernel to be there")
        self.assertEqual(self.daemon.log().count("of its names cannot be saved"), 1)
        result = self.daemon.run("lock.acquire(), x")
        self.assert_ok(result, "(True, 41)")
        self.assertEqual(result["kernel"]["id"], first["id"])
        self.daemon.run("del lock")

        self.wait_hibernated()
        self.assert_ok(self.daemon.run("x"), "41")

    def test_between_cells_in_quick_succession_nothing_is_saved(self):
        first = self.daemon.run("x = 0")["kernel"]
        self.upgrade()

        for number in range(20):
            result = self.daemon.run("x += 1; x")
            self.assert_ok(result, str(number + 1))
            self.assertEqual(result["kernel"]["id"], first["id"])
        self.assertNotIn("is chosen to be hibernated", self.daemon.log())

    def test_a_childs_kernel_is_pinned(self):
        first = self.daemon.run("x = 41", child="c")["kernel"]
        self.upgrade(**SOON)

        stays_true(lambda: len(self.daemon.kernels(child="c")) == 1, 1.5, "the child's kernel to be there")
        self.assertTrue(self.daemon.kernels(child="c")[0]["stale"])
        self.assertEqual(self.daemon.run("x", child="c")["kernel"]["id"], first["id"])

    def test_many_are_replaced_a_few_at_a_time_and_all_keep_their_variables(self):
        names = [f"s{number}" for number in range(24)]
        for name in names:
            self.daemon.run(f"x = {name!r}", session=name)
        self.upgrade(crash=True, **SOON)

        wait_until(lambda: not self.daemon.kernels(), "all to be hibernated", 30)
        for name in names:
            self.assert_ok(self.daemon.run("x", session=name), repr(name))

    def test_a_downgrade_is_the_same_and_a_kernel_that_is_ours_again_is_not_stale(self):
        first = self.daemon.run(LOCK)["kernel"]
        self.upgrade()
        self.daemon.run("y = 1", session="newer")
        self.assertEqual((self.kernel()["stale"], self.kernel("newer")["stale"]), (True, False))

        self.downgrade(crash=True)

        self.assertEqual((self.kernel()["stale"], self.kernel("newer")["stale"]), (False, True))
        self.assertEqual(self.daemon.run("x")["kernel"]["id"], first["id"])
        self.wait_hibernated("newer")
        self.assert_ok(self.daemon.run("y", session="newer"), "1")
        self.assertFalse(self.kernel("newer")["stale"])

    def test_a_namespace_that_the_program_before_saved_is_restored(self):
        self.daemon.run("x = 41\ndef plus(): return x + 1")
        self.daemon.call("kernel.stop", kernel=self.kernel()["kernel"])
        self.upgrade()

        result = self.daemon.run("plus()")

        self.assert_ok(result, "42")
        self.assertTrue(result["kernel"]["restored"])
        self.assertFalse(self.kernel()["stale"])

    def test_the_copy_of_a_stale_kernel_is_stale_and_is_replaced_too(self):
        self.daemon.run("x = 41")
        self.upgrade()

        self.daemon.call("session.fork", into="copy")

        self.assertTrue(self.kernel("copy")["stale"])
        self.wait_hibernated("copy")
        self.assert_ok(self.daemon.run("x", session="copy"), "41")


OTHER_PROTOCOL = "import sys\nsys.modules['holdfast_kernel.limits'].PROTOCOL = 2\n"


class ProtocolTest(StaleCase):
    """A kernel of another protocol, which refuses the attach of the next daemon, is saved and ended; none of its session's cells is sent to it."""

    def test_it_is_saved_and_the_next_cell_has_its_variables(self):
        first = self.daemon.run(OTHER_PROTOCOL + "x = 41")["kernel"]
        self.daemon.restart(crash=True)

        self.wait_hibernated()
        result = self.daemon.run("x")

        self.assert_ok(result, "41")
        self.assertNotEqual(result["kernel"]["id"], first["id"])
        self.assertEqual([each for each in self.notice_kinds(result) if each != "reattached"], ["upgraded", "restored"])
        self.assertEqual(len(self.daemon.kernels()), 1)

    def test_it_is_saved_in_part_if_it_cannot_be_saved_whole(self):
        self.daemon.run(OTHER_PROTOCOL + LOCK)
        self.daemon.restart()

        result = self.daemon.run("x")

        self.assert_ok(result, "41")
        self.assertEqual([each["name"] for each in result["kernel"]["skipped"] if each["name"] == "lock"], ["lock"])

    def test_what_runs_in_it_ends_first_and_a_queued_cell_runs_in_the_next_kernel(self):
        self.daemon.run(OTHER_PROTOCOL)
        gate = self.start_gated("x = 41\nx")
        queued = self.daemon.connect().send("run", code="x += 1; x", cell="queued")
        wait_until(lambda: self.kernel()["queued"] == 1, "the second cell to wait")
        self.daemon.restart(crash=True)
        gate.touch()

        done, next_one = self.daemon.call("cell.wait", cell="gated"), self.daemon.call("cell.wait", cell="queued")

        self.assert_ok(done, "41")
        self.assert_ok(next_one, "42")
        self.assertNotEqual(done["kernel"]["id"], next_one["kernel"]["id"])
        self.assertTrue(next_one["kernel"]["restored"])

    def test_one_that_cannot_be_saved_is_ended_and_its_loss_told(self):
        self.daemon.run(OTHER_PROTOCOL + "x = 41")
        (self.daemon.home / "state" / "1.0.part").mkdir()
        self.daemon.restart()

        result = self.daemon.run("x")

        self.assertEqual(result["error"]["name"], "NameError")
        self.assertTrue(result["kernel"]["state_lost"])
        self.assertIn("it spoke another protocol than this daemon", str(result["notices"]))

    def test_one_that_refuses_its_own_protocol_is_killed_and_its_loss_told(self):
        never = "class Never(int):\n  def __ne__(self, other): return True\n"
        self.daemon.run(never + OTHER_PROTOCOL.replace("= 2", "= Never(2)"))
        self.daemon.restart()

        result = self.daemon.run("x")

        self.assertEqual(result["error"]["name"], "NameError")
        self.assertIn("killed by SIGKILL, it spoke another protocol than this daemon", str(result["notices"]))


class NurseryTest(StaleCase):
    def test_fresh_kernels_come_from_a_nursery_of_the_new_program_and_the_old_one_ends_with_its_last_kernel(self):
        self.daemon.run(LOCK)
        (old,) = self.daemon.nurseries()
        self.upgrade()
        self.daemon.run("1", session="newer")
        self.assertEqual(len(self.daemon.nurseries()), 2)
        stays_true(lambda: processes.is_alive(old), 0.5, "the nursery of the stale kernel to be there")

        os.kill(self.kernel()["pid"], 9)
        wait_until(lambda: not processes.is_alive(old), "the old nursery to end")

        self.assertEqual(len(self.daemon.nurseries()), 1)
        result = self.daemon.run("1")
        self.assertIn("killed by SIGKILL", result["notices"][0]["text"])  # its nursery has told before it ended
        self.assertEqual(len(self.daemon.nurseries()), 1)

    def test_one_that_is_ours_again_after_a_downgrade_gives_kernels_however_it_was_told_to_end(self):
        self.daemon.run(LOCK)
        self.upgrade()
        self.daemon.run("1", session="newer")
        self.downgrade()

        self.daemon.run("x = 1", session="older")
        os.kill(self.kernel()["pid"], 9)

        self.assert_ok(self.daemon.run("x", session="older"), "1")
        self.assert_ok(self.daemon.run("1"), "1")

    def test_a_kernel_that_was_asked_for_when_the_daemon_was_replaced_is_there_once(self):
        self.daemon.restart(HOLDFAST_FAILPOINTS="nursery.after_fork=delay(1000)", HOLDFAST_FAILPOINT_LOG=str(self.daemon.failpoint_log))
        self.daemon.connect().send("run", code="x = 40", cell="one")
        wait_until(lambda: "nursery.after_fork" in self.daemon.fired_failpoints(), "a kernel to be forked")
        self.upgrade(crash=True)

        self.assert_ok(self.daemon.run("x = 41; x", cell="one"), "41")

        def kernels():
            nurseries = {each.pid for each in self.daemon.nurseries()}
            return [each for each in self.daemon.processes() if processes.parent_of(each.pid) in nurseries]

        wait_until(lambda: len(kernels()) == 1, "one kernel to be left")
        self.assert_ok(self.daemon.run("x"), "41")


if __name__ == "__main__":
    unittest.main()
