"""A session is forked into another one with a copy of its namespace; what cannot be in two is named, and a crash leaves one or two, whole."""

import socket
import time
import unittest

from holdfast_test import processes
from holdfast_test.cases import DaemonCase
from holdfast_test.client import ConnectionLost, RpcError
from holdfast_test.saved import FILL, SavedCase
from holdfast_test.waiting import wait_until


class ForkCase(DaemonCase):
    def fork(self, into="b", **params):
        return self.daemon.call("session.fork", into=into, **params)

    def refused(self, code, into="b", **params):
        with self.assertRaises(RpcError) as caught:
            self.fork(into, **params)
        self.assertEqual(caught.exception.code, code, caught.exception.message)
        return caught.exception.message

    def names(self):
        return sorted(row["session"] for row in self.daemon.call("session.list")["items"])

    def wait_kernels_alive(self, count):
        def alive():
            nurseries = {identity.pid for identity in self.daemon.nurseries()}
            return sum(processes.parent_of(each.pid) in nurseries for each in self.daemon.processes())

        wait_until(lambda: alive() == count, f"{count} kernels to be alive")


class ForkTest(ForkCase):
    def test_the_copy_has_the_names_and_its_changes_are_its_own(self):
        self.daemon.run("x = [1]\ndef f(): return x")

        row = self.fork()
        in_copy = self.daemon.run("x.append(2); f()", session="b")

        self.assertEqual((row["session"], row["state"], row["left_behind"]), ("b", "idle", []))
        self.assert_ok(in_copy, "[1, 2]")
        self.assert_ok(self.daemon.run("f()"), "[1]")
        kernel = in_copy["kernel"]
        self.assertEqual((kernel["reason"], kernel["reused"], kernel["state_lost"], kernel["execution_count"]), ("reused", True, False, 1))
        self.assertEqual(in_copy["notices"], [])
        self.assertEqual(len({each["pid"] for each in self.daemon.kernels()}), 2)
        self.assertEqual(row["kernels"], [kernel["id"]])

    def test_the_copy_outlives_the_original_and_daemons(self):
        self.daemon.run("x = 41")
        self.fork()
        self.daemon.call("session.close")

        for crash in (False, True):
            self.daemon.restart(crash=crash)
            self.assert_ok(self.daemon.run("x + 1", session="b"), "42")

        self.assertEqual((self.names(), len(self.daemon.kernels())), (["b"], 1))

    def test_a_crash_right_after_the_answer_loses_nothing(self):
        self.daemon.run("x = 41")
        self.fork()

        self.daemon.restart(crash=True)

        self.assert_ok(self.daemon.run("x + 1", session="b"), "42")
        self.assert_ok(self.daemon.run("x"), "41")

    def test_a_copy_is_forked_saved_and_reset_like_any_session(self):
        self.daemon.run("x = 41")
        self.fork("b")
        self.fork("c", session="b")
        kernel = self.daemon.kernels(session="b")[0]["kernel"]

        self.daemon.call("kernel.stop", kernel=kernel)
        reset = self.daemon.run("x", session="c", reset=True)

        self.assert_ok(self.daemon.run("x", session="b"), "41")
        self.assertEqual((reset["error"]["name"], reset["kernel"]["reason"]), ("NameError", "reset"))
        self.assert_ok(self.daemon.run("x"), "41")

    def test_settings_and_the_working_directory_are_taken_over(self):
        here = str(self.daemon.directory)
        self.daemon.run("import os", cwd=here, env={"COLOUR": "blue"})
        self.fork()

        self.assert_ok(self.daemon.run("os.getcwd(), os.environ['COLOUR']", session="b"), repr((here, "blue")))
        self.assert_ok(self.daemon.run("import os; os.getcwd(), os.environ['COLOUR']", session="b", reset=True), repr((here, "blue")))

    def test_jobs_processes_and_connections_stay_with_the_original_and_are_named(self):
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)
        job = self.daemon.run(
            f"import socket, subprocess\nnear = socket.create_connection({server.getsockname()})\n"
            "child = subprocess.Popen(['sleep', '77'])\nj = run('sleep', '600')\nj.id"
        )["value"].strip("'")

        left = self.fork()["left_behind"]

        self.assertEqual({each["kind"] for each in left}, {"job", "process", "connection"})
        self.assertEqual([each["job"] for each in left if each["kind"] == "job"], [job])
        self.assertIn("sleep 77", [each["command"] for each in left if each["kind"] == "process"])
        self.assertEqual(self.daemon.call("job.list", session="b")["items"], [])
        self.assertEqual([row["state"] for row in self.daemon.call("job.list")["items"]], ["running"])
        self.assertEqual(self.daemon.run("near.send(b'x')", session="b")["status"], "error")
        self.assert_ok(self.daemon.run("near.send(b'x')"), "1")

    def test_threads_of_the_session_forbid_it_and_are_named(self):
        self.daemon.run(
            "import threading\nend = threading.Event()\nthread = threading.Thread(target=end.wait, name='worker-7')\nthread.start()"
        )

        self.assertIn("worker-7", self.refused(1013))

        self.assertEqual((self.names(), len(self.daemon.run_directories())), (["default"], 1))
        self.daemon.run("end.set(); thread.join()")
        self.assertEqual(self.fork()["state"], "idle")

    def test_a_busy_session_is_not_forked(self):
        client, _ = self.daemon.start_cell("import time\nprint('on', flush=True)\ntime.sleep(60)", "c1")
        client.wait_streamed("c1", "on")

        self.assertIn("c1", self.refused(1004))

        self.assertEqual(self.names(), ["default"])

    def test_into_a_session_that_exists_nothing_is_forked(self):
        self.daemon.run("x = 1")
        self.daemon.run("x = 2", session="b")

        self.assertIn("exists", self.refused(1013))
        self.assertIn("exists", self.refused(1013, "default"))

        self.assert_ok(self.daemon.run("x", session="b"), "2")
        self.refused(1001, "c", session="none")
        self.fork("c")

    def test_of_two_forks_into_one_name_one_is_made(self):
        self.daemon.run("x = 1")
        client = self.daemon.connect()
        pending = [client.send("session.fork", into="b") for _ in range(4)]
        made = 0
        for each in pending:
            try:
                self.assertEqual(each.result(30)["session"], "b")
                made += 1
            except RpcError as problem:
                self.assertIn(problem.code, (1004, 1012, 1013))

        self.assertEqual((made, self.names()), (1, ["b", "default"]))
        self.wait_kernels_alive(2)

    def test_a_session_without_a_kernel_gives_an_empty_one_with_its_settings(self):
        self.daemon.run("x = 1", env={"COLOUR": "blue"})
        self.daemon.call("session.reset")

        row = self.fork()

        self.assertEqual((row["state"], row["kernels"], row["left_behind"]), ("new", [], []))
        result = self.daemon.run("import os\nos.environ['COLOUR']", session="b")
        self.assert_ok(result, "'blue'")
        self.assertEqual((result["kernel"]["reason"], result["notices"]), ("first", []))

    def test_the_command_line_forks_and_names_what_stays(self):
        self.daemon.run("x = 41\nj = run('sleep', '600')")

        shown = self.daemon.command("fork", "default", "b")
        again = self.daemon.command("fork", "default", "b")

        self.assertEqual(shown.returncode, 0, shown)
        self.assertRegex(shown.stdout, r"(?m)^left with default: job j-\w+ \(sleep 600\)$")
        self.assertEqual(again.returncode, 4, again)
        self.assert_ok(self.daemon.run("x", session="b"), "41")

    def test_a_large_session_is_forked_without_copying_it(self):
        self.daemon.run("data = bytearray(100 << 20)")
        began = time.monotonic()
        self.fork()

        self.assertLess(time.monotonic() - began, 5)
        self.assert_ok(self.daemon.run("len(data)", session="b"), str(100 << 20))


class LostCloneTest(ForkCase):
    def test_cells_for_a_copy_that_never_came_up_are_answered_and_there_is_no_such_session(self):
        self.daemon.restart(
            HOLDFAST_FAILPOINTS="core.before_clone_recorded=delay(2000)", HOLDFAST_FAILPOINT_LOG=str(self.daemon.failpoint_log)
        )
        original = self.daemon.run("x = 41")["kernel"]["pid"]
        client = self.daemon.connect()
        fork = client.send("session.fork", into="b")
        wait_until(self.daemon.fired_failpoints, "the clone to be there")
        nurseries = {identity.pid for identity in self.daemon.nurseries()}
        born = [each for each in self.daemon.processes() if processes.parent_of(each.pid) in nurseries]

        processes.end_all([each for each in born if each.pid != original])
        pending = [client.send("run", code="x", session="b", cell=f"c{number}") for number in range(3)]

        with self.assertRaises(RpcError) as refused:
            fork.result()
        self.assertEqual(refused.exception.code, 1013, refused.exception.message)
        for each in pending:
            with self.subTest(each.id):
                try:
                    self.assertEqual((each.result()["status"], each.result()["started_at"]), ("interrupted", None))
                except RpcError as problem:
                    self.assertEqual((problem.code, problem.data["retry"]), (1012, True))
        wait_until(lambda: self.names() == ["default"], "the session that was to be the copy to be gone")
        self.assert_ok(self.daemon.run("x"), "41")


class LostStateForkTest(ForkCase):
    def test_a_copy_of_what_was_lost_says_so_as_the_original_does(self):
        self.daemon.run("x = 41")
        processes.end_all(self.daemon.kernel_identities())
        wait_until(lambda: not self.daemon.kernels(), "the end of the kernel")

        self.fork()

        for session in ("b", "default"):
            with self.subTest(session):
                result = self.daemon.run("'x' in globals()", session=session)
                self.assert_ok(result, "False")
                self.assertEqual((result["kernel"]["reason"], result["kernel"]["state_lost"]), ("died", True))
                self.assertIn("state_lost", self.notice_kinds(result))

    def test_a_copy_of_what_was_given_up_is_a_new_session(self):
        self.daemon.run("x = 41")
        self.daemon.call("session.reset")

        self.fork()

        result = self.daemon.run("1 + 1", session="b")
        self.assertEqual((result["kernel"]["reason"], result["kernel"]["state_lost"], result["notices"]), ("first", False, []))


class HibernatedForkTest(SavedCase):
    def test_a_hibernated_session_gives_a_hibernated_one_and_each_wakes_on_its_own(self):
        self.hibernate(FILL)

        row = self.daemon.call("session.fork", into="b")

        self.assertEqual((row["state"], row["saved_bytes"]), ("hibernated", self.session()["saved_bytes"]))
        self.assertEqual((self.state_files(), self.daemon.kernels()), (["1.0", "2.0"], []))
        self.assert_restored(self.daemon.run("x += 1; plus()", session="b"), "43")
        self.daemon.restart(crash=True)
        self.assert_restored(self.daemon.run("plus()"), "42")
        self.assert_ok(self.daemon.run("x", session="b"), "42")

    def test_without_the_file_nothing_is_made(self):
        self.hibernate(FILL)
        (self.daemon.home / "state" / "1.0").unlink()

        with self.assertRaises(RpcError) as refused:
            self.daemon.call("session.fork", into="b")

        self.assertEqual(refused.exception.code, 1013)
        self.assertEqual(len(self.daemon.call("session.list")["items"]), 1)


class CrashTest(ForkCase):
    def test_killed_at_any_step_the_copy_is_there_whole_or_not_at_all(self):
        for name, is_made in (
            ("core.after_fork_recorded", False),
            ("core.before_clone_recorded", False),
            ("core.after_clone_recorded", True),
        ):
            with self.subTest(name):
                self.daemon.restart(HOLDFAST_FAILPOINTS=f"{name}=kill", HOLDFAST_FAILPOINT_LOG=str(self.daemon.failpoint_log))
                self.daemon.run("x = 41")
                with self.daemon.connect() as client:
                    pending = client.send("session.fork", into=name)
                    self.assertEqual(self.daemon.wait_ended(), -9)
                    with self.assertRaises(ConnectionLost):
                        pending.result(5)
                self.daemon.start()

                self.assertEqual(name in self.names(), is_made)
                if not is_made:
                    self.wait_kernels_alive(1)
                    wait_until(lambda: len(self.daemon.run_directories()) == 1, "the directory of the clone to be gone")
                    self.assertEqual(self.fork(name)["state"], "idle")
                self.assert_ok(self.daemon.run("x + 1", session=name), "42")
                self.assert_ok(self.daemon.run("x"), "41")
                self.daemon.call("session.close", session=name)
                self.wait_kernels_alive(1)


if __name__ == "__main__":
    unittest.main()
