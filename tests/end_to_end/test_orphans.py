"""A kernel that cannot be reached is kept, given up once its budget is spent, told, and ended with its jobs at the idle limit."""

import ast
import ctypes
import os
import signal
import unittest
from pathlib import Path

from holdfast_test import processes
from holdfast_test.cases import DaemonCase
from holdfast_test.waiting import wait_until

WITH_JOB = "import os\nsurvivor = 41\nhold = run('sleep', '120')\n(os.getpid(), hold.pid, hold.id)"
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2


def obey_permissions():
    """Makes the program that follows subject to file modes, also as root."""
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


class UnreachableCase(DaemonCase):
    environment = {"HOLDFAST_HELLO_DEADLINE_SECONDS": "0.3"}
    short = {"HOLDFAST_ATTACH_BUDGET_SECONDS": "0.5"}

    def make_daemon(self, environment=None, **options):
        daemon = super().make_daemon(environment, **options)
        daemon.before_exec = obey_permissions
        return daemon

    def setUp(self):
        super().setUp()
        self.pid, job, self.job = ast.literal_eval(self.daemon.run(WITH_JOB, cell="first")["value"])
        self.kernel = self.daemon.kernels()[0]["kernel"]
        self.process, self.job_process = processes.identify(self.pid), processes.identify(job)
        self.run_directory = self.daemon.home / "run" / self.kernel

    def stop_kernel(self):
        os.kill(self.pid, signal.SIGSTOP)

    def deny_socket(self):
        (self.run_directory / "kernel.sock").chmod(0)

    def restart_unreachable(self, make_unreachable, **settings):
        self.daemon.kill()
        make_unreachable()
        self.daemon.start(**settings)

    def wait_given_up(self):
        wait_until(lambda: self.states().get(self.kernel) == "orphan", "an orphan", 20)

    def states(self):
        return {row["kernel"]: row["state"] for row in self.daemon.kernels()}


class KeptTest(UnreachableCase):
    def test_a_kernel_whose_socket_refuses_is_kept_until_it_answers(self):
        self.restart_unreachable(self.deny_socket)
        wait_until(lambda: self.states() == {self.kernel: "unreachable"}, "an unreachable kernel")
        (self.run_directory / "kernel.sock").chmod(0o600)

        self.assert_ok(self.daemon.run("survivor += 1\n(survivor, os.getpid())"), f"(42, {self.pid})")

    def test_a_stopped_kernel_is_kept_until_it_goes_on(self):
        self.restart_unreachable(self.stop_kernel)
        wait_until(lambda: self.states() == {self.kernel: "unreachable"}, "an unreachable kernel")
        os.kill(self.pid, signal.SIGCONT)

        self.assert_ok(self.daemon.run("survivor += 1\n(survivor, os.getpid())"), f"(42, {self.pid})")

    def holding_interpreter(self):
        """What makes the kernel hold its interpreter for 5 s."""
        gate = self.daemon.directory / "gate"
        self.daemon.run(
            "import ctypes, threading, time\ndef hold():\n"
            f"    while not os.path.exists({str(gate)!r}):\n        time.sleep(0.05)\n"
            f"    open({str(gate) + '.shut'!r}, 'w').close(); ctypes.PyDLL(None).sleep(5)\nthreading.Thread(target=hold, daemon=True).start()"
        )

        def shut():
            gate.touch()
            wait_until(Path(f"{gate}.shut").exists, "a held interpreter")

        return shut

    def test_what_was_told_of_a_silent_kernel_is_withdrawn_when_it_dies(self):
        self.restart_unreachable(self.holding_interpreter())
        wait_until(lambda: self.daemon.call("notice.list")["items"], "its notice")
        processes.end_all([self.process])

        after = self.daemon.run("1")

        self.assertIn("restarted", self.notice_kinds(after))
        self.assertNotIn("silent", self.notice_kinds(after))

    def test_a_kernel_that_holds_its_interpreter_is_waited_for_and_told_once(self):
        shut = self.holding_interpreter()

        # Its budget of 0.5 s would be spent ten times.
        self.restart_unreachable(shut, **self.short)
        wait_until(lambda: self.states() == {self.kernel: "unreachable"}, "a kernel that does not answer", 4)

        after = self.daemon.run("survivor += 1\n(survivor, os.getpid())", cell="after")

        self.assert_ok(after, f"(42, {self.pid})")
        self.assertEqual(self.notice_kinds(after).count("silent"), 1, after["notices"])
        self.assertNotIn("unreachable", self.notice_kinds(after))
        self.assertEqual(self.states(), {self.kernel: "idle"})
        self.assertEqual(self.daemon.run("1")["notices"], [])

    def test_one_wedged_kernel_delays_no_other(self):
        others = [f"other-{number}" for number in range(10)]
        for session in others:
            self.daemon.run("x = 1", session=session)
        self.restart_unreachable(self.stop_kernel)

        for session in others:
            self.assert_ok(self.daemon.run("x", session=session), "1")
        wait_until(lambda: self.states()[self.kernel] == "unreachable", "an unreachable kernel")
        os.kill(self.pid, signal.SIGCONT)


class GivenUpTest(UnreachableCase):
    def orphaned_and_reaped(self, make_unreachable):
        self.restart_unreachable(make_unreachable, HOLDFAST_IDLE_SECONDS="6", **self.short)
        self.wait_given_up()

        fresh = self.daemon.run("import os\nos.getpid()")

        self.assert_ok(fresh)
        self.assertNotEqual(int(fresh["value"]), self.pid)
        self.assertTrue(fresh["kernel"]["state_lost"])
        told = [notice for notice in fresh["notices"] if notice["kind"] == "unreachable"]
        self.assertEqual(len(told), 1, fresh["notices"])
        self.assertIn("could not be reached", told[0]["text"])
        self.assertIn(f"{self.job} (sleep 120)", told[0]["text"])
        self.assertEqual(told[0]["details"]["jobs"], [{"job": self.job, "command": "sleep 120"}])
        self.assertTrue(processes.is_alive(self.process), "the orphan was ended before the idle limit")

        wait_until(lambda: not processes.is_alive(self.process), "the orphan's end", 20)
        wait_until(lambda: not processes.is_alive(self.job_process), "its job's end", 20)
        wait_until(lambda: f"orphan {self.kernel}: ended" in self.daemon.log(), "the log's line", 20)
        wait_until(lambda: not self.run_directory.exists(), "the removal of its directory", 20)
        self.assertEqual(self.daemon.log().count("orphan K".replace("K", self.kernel)), 1)
        self.assertNotIn(self.kernel, self.states())
        self.assertEqual([row["state"] for row in self.daemon.call("job.list")["items"]], ["stopped"])
        after = self.daemon.run("import os\nos.getpid()")
        self.assert_ok(after)
        self.assertNotEqual(int(after["value"]), self.pid)

    def test_a_kernel_whose_socket_refuses_for_the_whole_budget_is_replaced_told_and_ended(self):
        self.orphaned_and_reaped(self.deny_socket)

    def test_a_stopped_kernel_is_replaced_told_and_ended(self):
        self.orphaned_and_reaped(self.stop_kernel)

    def test_an_orphan_outlives_restarts_and_its_limit_is_counted_from_when_it_was_given_up(self):
        self.restart_unreachable(self.stop_kernel, **self.short)
        self.wait_given_up()
        self.daemon.restart(crash=True)
        self.assertEqual(self.states(), {self.kernel: "orphan"})
        self.assertTrue(processes.is_alive(self.process))

        self.daemon.restart(HOLDFAST_IDLE_SECONDS="0.1")

        wait_until(lambda: not processes.is_alive(self.process), "the orphan's end", 20)

    def test_one_that_ended_by_itself_meanwhile_is_forgotten(self):
        self.restart_unreachable(self.stop_kernel, HOLDFAST_IDLE_SECONDS="3", **self.short)
        self.wait_given_up()
        os.kill(self.pid, signal.SIGKILL)

        wait_until(lambda: self.kernel not in self.states(), "nothing of it", 20)
        wait_until(lambda: not self.run_directory.exists(), "the removal of its directory", 20)

    def test_a_reset_ends_it_at_once(self):
        self.restart_unreachable(self.stop_kernel, **self.short)
        self.wait_given_up()

        self.daemon.call("session.reset")

        wait_until(lambda: not processes.is_alive(self.process), "the orphan's end", 20)
        wait_until(lambda: not processes.is_alive(self.job_process), "its job's end", 20)

    def test_a_close_leaves_nothing_of_it(self):
        self.restart_unreachable(self.stop_kernel, **self.short)
        self.wait_given_up()

        self.daemon.call("session.close")

        self.assertFalse(processes.is_alive(self.process))
        self.assertEqual(self.daemon.kernels(), [])
        wait_until(lambda: not self.run_directory.exists(), "the removal of its directory", 20)

    def test_it_can_be_stopped(self):
        self.restart_unreachable(self.stop_kernel, **self.short)
        self.wait_given_up()

        row = self.daemon.call("kernel.stop", kernel=self.kernel)

        self.assertEqual(row["kernel"], self.kernel)
        self.assertFalse(processes.is_alive(self.process))
        self.assertEqual(self.daemon.kernels(), [])

    def test_a_stop_with_kernels_ends_it(self):
        self.restart_unreachable(self.stop_kernel, **self.short)
        self.wait_given_up()

        self.daemon.call("shutdown", kernels=True)
        self.daemon.wait_ended()

        self.assertFalse(processes.is_alive(self.process))


class CellsTest(UnreachableCase):
    def test_the_running_cell_is_lost_and_the_waiting_one_runs_in_the_fresh_kernel(self):
        client, _ = self.daemon.start_cell("import time\nprint('on', flush=True)\ntime.sleep(600)", "long")
        client.wait_streamed("long", "on")
        self.daemon.start_cell("import os\nos.getpid()", "behind")
        self.restart_unreachable(self.stop_kernel, **self.short)

        lost = self.daemon.call("cell.wait", cell="long")
        behind = self.daemon.call("cell.wait", cell="behind")

        self.assertEqual(lost["status"], "lost")
        self.assertEqual(lost["stdout"], "on\n")
        self.assertIsNone(lost["death"])
        self.assertIn("given up", lost["kernel"]["note"])
        self.assert_ok(behind)
        self.assertNotEqual(int(behind["value"]), self.pid)
        told = [notice for result in (lost, behind) for notice in result["notices"] if notice["kind"] == "unreachable"]
        self.assertEqual([notice["details"]["cells"] for notice in told], [["long"]])

    def test_a_result_that_it_had_spooled_is_no_loss(self):
        gate = self.daemon.directory / "gate"
        client, _ = self.daemon.start_cell(
            f"import os, time\nprint('on', flush=True)\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.01)\n'done'", "long"
        )
        client.wait_streamed("long", "on")

        def end_then_stop():
            gate.touch()
            self.daemon.wait_spooled("done", "long")
            self.stop_kernel()

        self.restart_unreachable(end_then_stop, **self.short)

        self.assert_ok(self.daemon.call("cell.wait", cell="long"), "'done'")

    def test_what_the_orphan_saves_at_its_grace_is_not_taken_for_the_fresh_kernels(self):
        self.daemon.restart(HOLDFAST_GRACE_SECONDS="3")
        self.daemon.run("1")
        self.restart_unreachable(self.stop_kernel, HOLDFAST_GRACE_SECONDS="3", **self.short)
        self.wait_given_up()
        self.daemon.run("survivor = 'fresh'")
        fresh = processes.identify(next(row["pid"] for row in self.daemon.kernels() if row["state"] != "orphan"))
        self.daemon.kill()
        wait_until(lambda: not processes.is_alive(fresh), "the fresh kernel's end at its grace", 20)
        processes.end_all([self.job_process])  # it held its kernel
        os.kill(self.pid, signal.SIGCONT)
        wait_until(lambda: not processes.is_alive(self.process), "the orphan's end at its grace", 20)
        self.daemon.start()

        self.assert_ok(self.daemon.run("survivor"), "'fresh'")
        wait_until(lambda: f"orphan {self.kernel}: ended" in self.daemon.log(), "the orphan's end", 20)
        state = self.daemon.home / "state"
        wait_until(lambda: list(state.iterdir()) == [], "the removal of what either saved")


class CrashTest(UnreachableCase):
    """A daemon that is killed at a step, or whose store refuses it, and the next one."""

    def orphan_until(self, failpoint, action, **settings):
        self.restart_unreachable(
            self.stop_kernel,
            HOLDFAST_FAILPOINTS=f"core.{failpoint}={action}",
            HOLDFAST_FAILPOINT_LOG=str(self.daemon.failpoint_log),
            **self.short,
            **settings,
        )

    def assert_converges(self):
        """The session has a fresh kernel and was told once; the orphan, its job and its directory go at the limit."""
        results = [self.daemon.run("import os\nos.getpid()"), self.daemon.run("1")]
        self.assertNotEqual(int(results[0]["value"]), self.pid)
        self.assertEqual([kind for result in results for kind in self.notice_kinds(result)].count("unreachable"), 1)
        self.daemon.restart(HOLDFAST_IDLE_SECONDS="0.5")
        wait_until(lambda: not processes.is_alive(self.process), "the orphan's end", 20)
        wait_until(lambda: not processes.is_alive(self.job_process), "its job's end", 20)
        wait_until(lambda: self.kernel not in self.states() and not self.run_directory.exists(), "nothing of it", 20)

    def test_killed_before_it_is_recorded_as_given_up(self):
        self.orphan_until("before_orphan_recorded", "kill")
        self.assertEqual(self.daemon.wait_ended(), -signal.SIGKILL)
        self.daemon.start(**self.short)
        self.wait_given_up()
        self.assert_converges()

    def test_killed_after_it_is_recorded_as_given_up(self):
        self.orphan_until("after_orphan_recorded", "kill")
        self.assertEqual(self.daemon.wait_ended(), -signal.SIGKILL)
        self.daemon.start()
        self.assertEqual(self.states(), {self.kernel: "orphan"})
        self.assert_converges()

    def assert_forgotten(self):
        self.daemon.start()
        wait_until(lambda: self.kernel not in self.states(), "nothing of it", 20)
        wait_until(lambda: not self.run_directory.exists(), "the removal of its directory", 20)
        self.assertFalse(processes.is_alive(self.process))
        self.assert_ok(self.daemon.run("1"))

    def test_killed_before_its_end_is_recorded(self):
        self.orphan_until("before_orphan_forgotten", "kill", HOLDFAST_IDLE_SECONDS="1")
        self.assertEqual(self.daemon.wait_ended(), -signal.SIGKILL)
        self.assert_forgotten()

    def test_killed_after_its_end_is_recorded(self):
        self.orphan_until("after_orphan_forgotten", "kill", HOLDFAST_IDLE_SECONDS="1")
        self.assertEqual(self.daemon.wait_ended(), -signal.SIGKILL)
        self.assert_forgotten()

    def refused_once(self, failpoint):
        self.orphan_until(failpoint, "1*error->off", HOLDFAST_IDLE_SECONDS="2")
        self.wait_given_up()
        wait_until(lambda: self.kernel not in self.states() and not self.run_directory.exists(), "nothing of it", 20)
        self.assertFalse(processes.is_alive(self.process))
        self.assert_ok(self.daemon.run("1"))

    def test_a_store_that_refuses_its_giving_up_once_takes_it_later(self):
        self.refused_once("before_orphan_recorded")

    def test_a_store_that_refuses_its_end_once_takes_it_later(self):
        self.refused_once("before_orphan_forgotten")


if __name__ == "__main__":
    unittest.main()
