"""Reset and close end a session's running cell as interrupted, its kernel, and all that the kernel started."""

import os
import unittest

from holdfast_test import processes
from holdfast_test.cases import DaemonCase
from holdfast_test.client import RpcError
from holdfast_test.waiting import wait_until

SLEEPING = "import time\nprint('before', flush=True)\ntime.sleep(60)\nprint('after')\n'late'"


class ResetTest(DaemonCase):
    def start_sleeping(self, **place):
        client, pending = self.daemon.start_cell(SLEEPING, "c1", **place)
        client.wait_streamed("c1", "before")
        return pending

    def assert_interrupted(self, result):
        self.assertEqual((result["status"], result["final"]), ("interrupted", True), result)
        self.assertEqual(result["stdout"], "before\n")
        self.assertIsNone(result["value"])

    def test_reset_in_mid_cell_ends_it_as_interrupted_and_its_result_reaches_no_later_cell(self):
        pending = self.start_sleeping()
        old = processes.identify(self.daemon.kernels()[0]["pid"])

        self.daemon.call("session.reset")
        after = self.daemon.run("'time' in globals()")

        self.assert_interrupted(pending.result())
        processes.wait_gone(old)
        self.assert_ok(after, "False")
        self.assertEqual(after["stdout"], "")
        self.assertNotEqual(after["kernel"]["pid"], old.pid)
        self.assertTrue(after["kernel"]["state_reset"])
        self.assertFalse(after["kernel"]["state_lost"])
        self.assertEqual(after["kernel"]["reason"], "reset")

    def test_reset_as_a_param_of_run_does_the_same(self):
        self.daemon.run("x = 1")

        after = self.daemon.run("'x' in globals()", reset=True)

        self.assert_ok(after, "False")
        self.assertTrue(after["kernel"]["state_reset"])
        self.assertFalse(after["kernel"]["reused"])
        self.assertEqual(len(self.daemon.kernels()), 1)

    def test_a_reset_of_an_idle_session_keeps_its_records(self):
        self.daemon.run("1", cell="c1")

        self.daemon.call("session.reset")

        self.assertEqual(self.daemon.call("cell.get", cell="c1")["value"], "1")

    def test_close_in_mid_cell_ends_it_as_interrupted_and_the_session_is_gone(self):
        pending = self.start_sleeping()
        old = processes.identify(self.daemon.kernels()[0]["pid"])

        row = self.daemon.call("session.close")

        self.assert_interrupted(pending.result())
        processes.wait_gone(old)
        self.assertEqual(row["session"], "default")
        self.assertEqual(self.daemon.kernels(), [])
        with self.assertRaises(RpcError) as caught:
            self.daemon.call("session.get")
        self.assertEqual(caught.exception.code, 1001)
        wait_until(lambda: not self.daemon.run_directories(), "the run directory to go")

    def test_a_new_session_may_bear_the_name_of_a_closed_one(self):
        self.daemon.run("x = 1")
        self.daemon.call("session.close")

        after = self.daemon.run("'x' in globals()")

        self.assert_ok(after, "False")
        self.assertEqual(after["kernel"]["reason"], "first")
        self.assertFalse(after["kernel"]["state_lost"])

    def test_children_of_a_cell_are_gone_after_a_reset(self):
        started = (
            "import subprocess\n"
            "plain = subprocess.Popen(['sleep', '77.25'])\n"
            "apart = subprocess.Popen(['sleep', '77.25'], start_new_session=True)\n"
            "subprocess.run('setsid nohup sleep 77.25 >/dev/null 2>&1 &', shell=True)\n"
        )
        self.daemon.run(started)
        wait_until(lambda: len(self.sleeps()) == 3, "three sleeping children")

        self.daemon.call("session.reset")

        wait_until(lambda: not self.sleeps(), "the end of the children")
        self.assert_ok(self.daemon.run("1"), "1")

    def sleeps(self):
        ours = set(self.daemon.processes())
        return [identity for identity in processes.with_argument("77.25") if identity in ours]

    def test_children_that_shed_environment_and_session_are_gone_after_a_reset_and_another_session_s_stay(self):
        seconds = f"77.{os.getpid()}"  # nothing else tells whose they are
        started = (
            "import subprocess\n"
            f"shed = subprocess.Popen(['env', '-i', 'setsid', 'sleep', '{seconds}'])\n"
            f"subprocess.run(['env', '-i', 'setsid', 'sh', '-c', 'sleep {seconds} >/dev/null 2>&1 &'])\n"
        )
        self.daemon.run(started, session="other")
        wait_until(lambda: len(processes.with_argument(seconds)) == 2, "two children of the other session")
        of_other = set(processes.with_argument(seconds))
        self.addCleanup(lambda: processes.end_all(processes.with_argument(seconds)))
        self.daemon.run(started)
        wait_until(lambda: len(processes.with_argument(seconds)) == 4, "two children of this one")

        self.daemon.call("session.reset")

        wait_until(lambda: set(processes.with_argument(seconds)) == of_other, "the end of the children")
        self.daemon.call("session.close", session="other")
        wait_until(lambda: not processes.with_argument(seconds), "the end of the other session's")

    def test_children_of_a_killed_kernel_are_ended(self):
        pid = self.daemon.run("import subprocess; child = subprocess.Popen(['sleep', '77.25'])")["kernel"]["pid"]
        wait_until(lambda: len(self.sleeps()) == 1, "the sleeping child")

        processes.end_all([processes.identify(pid)])

        wait_until(lambda: not self.sleeps(), "the end of the child")

    def test_a_live_process_pool_does_not_stop_a_reset(self):
        code = (
            "import concurrent.futures, multiprocessing\n"
            "pool = concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context('fork'))\n"
            "sum(pool.map(abs, range(4)))"
        )
        self.assert_ok(self.daemon.run(code), "6")
        before = len(self.daemon.processes())

        self.daemon.call("session.reset")

        self.assert_ok(self.daemon.run("1"), "1")
        wait_until(lambda: len(self.daemon.processes()) < before, "the end of the pool")
        self.assertEqual(len(self.daemon.processes()), 3)  # daemon, nursery, kernel

    def test_an_atexit_handler_that_sleeps_does_not_stop_a_reset(self):
        old = processes.identify(self.daemon.run("import atexit, time; atexit.register(time.sleep, 1000)")["kernel"]["pid"])

        self.daemon.call("session.reset")

        processes.wait_gone(old)
        self.assert_ok(self.daemon.run("1"), "1")

    def test_queued_cells_of_a_session_that_closes_end_as_interrupted_without_running(self):
        path = self.daemon.directory / "effects"
        running = self.start_sleeping()
        _, queued = self.daemon.start_cell(f"open({str(path)!r}, 'w')", "c2")

        self.daemon.call("session.close")

        self.assert_interrupted(running.result())
        self.assertEqual(queued.result()["status"], "interrupted")
        self.assertFalse(path.exists())

    def test_an_unknown_session_is_not_found(self):
        for method in ("session.get", "session.reset", "session.close", "cell.list"):
            with self.subTest(method), self.assertRaises(RpcError) as caught:
                self.daemon.call(method, session="never-used")
            self.assertEqual((caught.exception.code, caught.exception.data["kind"]), (1001, "not_found"))


class KernelStopTest(DaemonCase):
    def test_an_idle_kernel_is_ended_and_the_next_cell_has_a_fresh_one(self):
        first = self.daemon.run("x = 1")
        identity = processes.identify(first["kernel"]["pid"])

        row = self.daemon.call("kernel.stop", kernel=first["kernel"]["id"])

        self.assertEqual(row["kernel"], first["kernel"]["id"])
        processes.wait_gone(identity)
        self.assertNotEqual(self.daemon.run("1")["kernel"]["id"], first["kernel"]["id"])

    def test_a_busy_kernel_is_never_stopped(self):
        client, pending = self.daemon.start_cell("import time\nprint('before', flush=True)\ntime.sleep(1.5)\n'whole'", "c1")
        client.wait_streamed("c1", "before")
        kernel = self.daemon.kernels()[0]

        with self.assertRaises(RpcError) as caught:
            self.daemon.call("kernel.stop", kernel=kernel["kernel"])

        self.assertEqual((caught.exception.code, caught.exception.data["kind"]), (1004, "busy"))
        self.assert_ok(pending.result(), "'whole'")

    def test_an_unknown_kernel_is_not_found(self):
        with self.assertRaises(RpcError) as caught:
            self.daemon.call("kernel.stop", kernel="k-00000000000000000000000000")
        self.assertEqual(caught.exception.code, 1001)


if __name__ == "__main__":
    unittest.main()
