"""What is tried again, how often, and where a cell goes when its kernel is not the one it was accepted for."""

import os
import shutil
import signal
import time

from holdfast_test import processes
from holdfast_test.cases import DaemonCase
from holdfast_test.client import RpcError
from holdfast_test.waiting import wait_until

REQUEUES_MOST = 3
ENDED_SECONDS = 12.0  # a deadline of a second, the interrupt's grace, the daemon's margin, and a slow machine


class DeadStartTest(DaemonCase):
    def test_a_kernel_that_dies_before_its_hello_is_replaced_three_times_at_most(self):
        self.daemon.stop()
        self.daemon.start(HOLDFAST_FAILPOINTS="kernel.before_hello_sent=kill", HOLDFAST_FAILPOINT_LOG=str(self.daemon.failpoint_log))

        result = self.daemon.run("1")

        self.assertEqual((result["status"], result["error"]["name"]), ("error", "start_failed"), result)
        self.assertIn("SIGKILL", result["error"]["message"])
        self.assertEqual(result["notices"], [])
        self.assertEqual(self.daemon.fired_failpoints(), ["kernel.before_hello_sent"] * (REQUEUES_MOST + 1))
        self.assertEqual(self.daemon.kernels(), [])


class StoreTest(DaemonCase):
    def test_a_queued_cell_gets_its_kernel_though_the_first_try_to_record_one_fails(self):
        self.daemon.stop()
        self.daemon.start(HOLDFAST_FAILPOINTS="core.after_spawn_recorded=1*off->1*error->off")
        client, _ = self.daemon.start_cell("import time\nprint('before', flush=True)\ntime.sleep(60)", "first")
        client.wait_streamed("first", "before")
        queued = client.send("run", code="1+1", cell="second", stream=True)
        client.wait_accepted("second", queued)

        processes.send_signal(processes.identify(self.daemon.kernels()[0]["pid"]), signal.SIGKILL)

        self.assert_ok(queued.result(), "2")


class StrictTest(DaemonCase):
    def test_a_run_is_answered_though_its_cell_ends_before_its_id_is_synced(self):
        for method in ("cell.interrupt", "session.close"):
            with self.subTest(method):
                self.daemon.stop()
                self.daemon.start(HOLDFAST_DURABILITY="strict")
                self.daemon.run("1")
                self.daemon.restart(
                    HOLDFAST_DURABILITY="strict", HOLDFAST_FAILPOINTS="storage.disk.before_commit=delay(1500)"
                )
                client = self.daemon.connect()
                pending = client.send("run", code="import time\ntime.sleep(60)", cell="c-" + method)

                client.send(method)

                self.assertEqual(pending.result()["status"], "interrupted")


class IfKernelTest(DaemonCase):
    def test_a_queued_cell_for_one_kernel_does_not_run_in_the_next(self):
        kernel = self.daemon.run("x = 1")["kernel"]["id"]
        client, running = self.daemon.start_cell("import time\nprint('before', flush=True)\ntime.sleep(60)", "first")
        client.wait_streamed("first", "before")
        effect = self.daemon.directory / "effect"
        queued = client.send("run", code=f"open({str(effect)!r}, 'w')", cell="second", if_kernel=kernel, stream=True)
        client.wait_accepted("second", queued)

        self.daemon.call("session.reset")
        result = queued.result()

        self.assertEqual((result["status"], result["error"]["name"]), ("error", "kernel_changed"), result)
        self.assertIn(kernel, result["error"]["message"])
        self.assertFalse(effect.exists())
        self.assert_ok(self.daemon.run("2"), "2")


class OtherPythonTest(DaemonCase):
    def other_python(self):
        """The interpreter under another name: another python, by the path that it says."""
        path = self.daemon.directory / "other-python3"
        os.symlink(shutil.which("python3"), path)
        return str(path)

    def test_each_cell_runs_in_the_interpreter_that_it_was_sent_for(self):
        other = self.other_python()
        client = self.daemon.connect()
        source = "import sys\nsys.executable"

        pending = [client.send("run", code=source), client.send("run", code=source, python=other), client.send("run", code=source)]
        results = [each.result() for each in pending]

        self.assertNotEqual(results[0]["value"], repr(other))
        self.assertEqual([result["value"] for result in results[1:]], [repr(other)] * 2)
        self.assertEqual(results[1]["kernel"]["reason"], "environment_changed")
        self.assertEqual(results[2]["kernel"]["reason"], "reused")

    def test_one_that_is_not_there_is_refused_and_costs_nothing(self):
        self.daemon.run("x = 41")

        with self.assertRaises(RpcError) as refused:
            self.daemon.run("1", python="/no/such/python3")

        self.assertEqual(refused.exception.code, 1007)
        self.assertIn("/no/such/python3", refused.exception.message)
        self.assert_ok(self.daemon.run("x + 1"), "42")
        with self.assertRaises(RpcError):
            self.daemon.run("1", python="/no/such/python3", session="new")
        self.assert_ok(self.daemon.run("1", session="new"), "1")

    def test_settings_of_a_run_that_was_refused_are_not_the_session_s(self):
        with self.assertRaises(RpcError) as refused:
            self.daemon.run("1", cwd="/no/such/directory", env={"COLOUR": "blue"})

        self.assertEqual(refused.exception.code, 1007)
        self.assertIn("/no/such/directory", refused.exception.message)
        self.assert_ok(self.daemon.run("import os\n'COLOUR' in os.environ"), "False")

    def test_one_that_does_not_run_is_not_what_the_session_has_from_then_on(self):
        before = self.daemon.run("import sys\nsys.executable")

        with self.assertRaises(RpcError) as refused:
            self.daemon.run("1", python="/bin/false")
        after = self.daemon.run("sys.executable")

        self.assertEqual(refused.exception.code, 1007)
        self.assertEqual((after["value"], after["kernel"]["id"]), (before["value"], before["kernel"]["id"]))

    def test_a_python_that_does_not_start_fails_its_own_cells_only(self):
        dead = self.daemon.directory / "dead-python3"
        dead.write_text("#!/bin/sh\nprintf '\\377 out of order' >&2\nexit 7\n")
        dead.chmod(0o755)
        other = self.other_python()
        client = self.daemon.connect()
        self.daemon.run("1")

        pending = [
            client.send("run", code="import time\ntime.sleep(0.3)"),
            client.send("run", code="1", python=str(dead)),
            client.send("run", code="import sys\nsys.executable", python=other),
        ]

        self.assert_ok(pending[0].result())
        with self.assertRaises(RpcError) as refused:
            pending[1].result()
        self.assertEqual(refused.exception.code, 1007)
        self.assertIn("exit code 7", refused.exception.message)
        self.assertIn("\ufffd out of order", refused.exception.message)
        self.assert_ok(pending[2].result(), repr(other))

    def test_a_cell_for_one_kernel_cannot_ask_for_a_fresh_one(self):
        kernel = self.daemon.run("x = 5")["kernel"]["id"]

        for fresh in ({"reset": True}, {"python": self.other_python()}):
            with self.assertRaises(RpcError) as refused:
                self.daemon.run("x", if_kernel=kernel, **fresh)
            self.assertEqual(refused.exception.code, 1011)

        self.assert_ok(self.daemon.run("x"), "5")


class LeftoverTest(DaemonCase):
    def test_run_directories_that_a_killed_daemon_left_go_with_the_next_start(self):
        self.daemon.run("1")
        kept = self.daemon.run_directories()
        left = self.daemon.home / "run" / "k-00000000000000000000000000"
        left.mkdir(mode=0o700)
        (left / "journal").write_bytes(b"x")

        self.daemon.restart(crash=True)

        wait_until(lambda: self.daemon.run_directories() == kept, "that directory to be gone")
        self.assert_ok(self.daemon.run("1"), "1")

    def test_a_daemonised_child_without_a_mark_is_ended_though_the_nursery_is_dead(self):
        word = "7" + str(os.getpid())
        self.daemon.run(f"import subprocess\nsubprocess.run(['env', '-i', 'setsid', '-f', '/bin/sleep', '{word}'])")
        wait_until(lambda: processes.with_argument(word), "the child")
        child = processes.with_argument(word)[0]
        processes.end_all(self.daemon.nurseries())

        self.daemon.call("session.reset")

        processes.wait_gone(child)

    def test_a_pipe_in_place_of_the_exit_file_holds_nothing_up(self):
        exit_file = self.daemon.home / "run" / self.daemon.run("1")["kernel"]["id"] / "exit"

        result = self.daemon.run(f"import os\nos.mkfifo({str(exit_file)!r})\nos._exit(1)")

        self.assertEqual(result["status"], "lost", result)
        self.assert_ok(self.daemon.run("2"), "2")


class DeadlineTest(DaemonCase):
    def test_the_deadline_of_a_cell_that_was_sent_holds_over_a_restart_a_kernel_that_did_not_start_it_is_replaced(self):
        self.daemon.run("1")
        kernel = processes.identify(self.daemon.kernels()[0]["pid"])
        processes.send_signal(kernel, signal.SIGSTOP)
        pending = self.daemon.connect()
        pending.wait_accepted("c1", pending.send("run", code="1", cell="c1", timeout_ms=1000, stream=True))

        self.daemon.restart(crash=True)
        began = time.monotonic()
        result = self.daemon.call("cell.wait", cell="c1")

        self.assert_ok(result, "1")
        self.assertTrue(result["kernel"]["state_lost"])
        self.assertNotEqual(result["kernel"]["pid"], kernel.pid)
        self.assertLess(time.monotonic() - began, ENDED_SECONDS)


class NoticeTest(DaemonCase):
    def test_a_connection_lost_before_its_first_hello_is_no_restart(self):
        self.daemon.stop()
        self.daemon.start(HOLDFAST_FAILPOINTS="core.after_hello=1*error->off")

        self.assertEqual(self.daemon.run("1")["notices"], [])


class EventsTest(DaemonCase):
    def test_a_number_of_an_earlier_daemon_brings_all_events_of_this_one(self):
        self.daemon.run("1")
        seen = self.daemon.connect().call("event.subscribe")["seq"]
        self.daemon.restart()
        self.daemon.run("2", cell="after")

        client = self.daemon.connect()
        answer = client.call("event.subscribe", since=seen)

        self.assertGreater(answer["seq"], seen)
        self.assertEqual(answer["missed"], 0)
        accepted = client.wait_notification("event", where=lambda params: params["kind"] == "cell_accepted")
        self.assertEqual(accepted["details"]["cell"], "after")


class DyingStartTest(DaemonCase):
    """Every kernel dies before its hello, until the daemon is started without that."""

    environment = {"HOLDFAST_FALLBACK": "error"}

    def fail_to_start(self):
        self.daemon.restart(HOLDFAST_FAILPOINTS="kernel.before_hello_sent=kill")
        try:
            self.assertEqual(self.daemon.run("1")["error"]["name"], "start_failed")
        except RpcError as refused:  # none lived long enough for the cell to be accepted
            self.assertEqual(refused.code, 1007)
        self.daemon.restart()

    def test_a_loss_is_told_once_however_many_kernels_die_before_the_next_cell(self):
        self.daemon.run("x = 1")
        processes.end_all(self.daemon.kernel_identities())
        self.fail_to_start()

        result = self.daemon.run("1")

        self.assertEqual((result["kernel"]["reason"], result["kernel"]["state_lost"]), ("died", True))
        self.assertEqual(self.notice_kinds(result), ["restarted", "state_lost"])
