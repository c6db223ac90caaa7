"""Over max_kernels the kernel idle for longest is hibernated, never one that works; its session's next cell has its variables."""

import os
import signal
import unittest

from holdfast_test import processes
from holdfast_test.client import ConnectionLost
from holdfast_test.cases import DaemonCase
from holdfast_test.waiting import stays_true, wait_until

SLOW_TO_SAVE = "import time\nclass Slow:\n  def __reduce__(self): time.sleep(1.5); return Slow, ()\nslow = Slow()"


class EvictionCase(DaemonCase):
    def sessions(self, **params):
        """State by session."""
        return {row["session"]: row["state"] for row in self.daemon.call("session.list", limit=1000, **params)["items"]}

    def fill(self, *sessions, **params):
        for session in sessions:
            self.assert_ok(self.daemon.run(f"x = {session!r}", session=session, **params))

    def assert_has_its_own(self, *sessions, **params):
        for session in sessions:
            self.assert_ok(self.daemon.run("x", session=session, **params), repr(session))

    def wait_kernels(self, number):
        wait_until(lambda: len(self.daemon.kernels()) == number, f"{number} kernels to be there")

    def wait_state(self, session, state):
        wait_until(lambda: self.sessions()[session] == state, f"session {session} to be {state}")

    def state_files(self):
        return sorted(path.name for path in (self.daemon.home / "state").iterdir())

    def start(self, code, cell, **params):
        """A cell that has printed `on`."""
        client, pending = self.daemon.start_cell(code, cell, **params)
        client.wait_streamed(cell, "on")
        return pending


class CapTest(EvictionCase):
    environment = {"HOLDFAST_MAX_KERNELS": "2"}

    def test_the_one_idle_for_longest_goes_and_comes_back_with_its_variables(self):
        self.fill("a", "b")
        self.daemon.run("1", session="a")  # b is older now

        self.fill("c")

        self.wait_kernels(2)
        self.assertEqual(self.sessions(), {"a": "idle", "b": "hibernated", "c": "idle"})
        result = self.daemon.run("x", session="b")
        self.assert_ok(result, "'b'")
        self.assertEqual(self.notice_kinds(result), ["evicted", "restored"])
        self.assertIn("there were more kernels than allowed", result["notices"][0]["text"])
        self.wait_kernels(2)
        self.assert_has_its_own("a", "b", "c")

    def test_kernel_list_tells_whose_turn_it_is(self):
        self.fill("a", "b")
        self.daemon.run("1", session="a")
        self.assertEqual({row["session"]: row["victim_rank"] for row in self.daemon.kernels()}, {"b": 1, "a": 2})

        pending = self.start("print('on', flush=True)\nimport time; time.sleep(1)", "c1", session="b")

        self.assertEqual({row["session"]: row["victim_rank"] for row in self.daemon.kernels()}, {"b": None, "a": 1})
        self.assert_ok(pending.result())

    def test_a_busy_kernel_is_skipped_though_it_is_older_and_none_is_ended_while_all_are_busy(self):
        until_told = "import os, time\nprint('on', flush=True)\nwhile not os.path.exists({path!r}): time.sleep(0.01)\nx = {name!r}"
        paths = {name: str(self.daemon.directory / name) for name in "abcd"}
        running = {
            name: self.start(until_told.format(path=path, name=name), f"c-{name}", session=name) for name, path in paths.items()
        }

        stays_true(lambda: len(self.daemon.kernels()) == 4, 0.5, "four busy kernels over a cap of two")
        open(paths["c"], "w").close()
        self.assert_ok(running["c"].result())

        self.wait_state("c", "hibernated")
        self.assertEqual(self.sessions(), {"a": "busy", "b": "busy", "c": "hibernated", "d": "busy"})
        for name in "abd":
            open(paths[name], "w").close()
            self.assert_ok(running[name].result())
        self.wait_kernels(2)
        self.assert_has_its_own(*"abcd")

    def test_a_job_spares_its_kernel_and_the_end_of_the_job_does_not(self):
        self.daemon.run("run('sleep', '60'); x = 'a'", session="a")
        self.fill("b")
        self.fill("c")
        self.wait_state("b", "hibernated")
        job = self.daemon.call("job.list")["items"][0]["job"]
        self.assertEqual(self.sessions()["a"], "idle")
        self.daemon.run("run('sleep', '60'); x = 'c'", session="c")
        self.fill("b")
        self.wait_kernels(2)  # b again: the only one without a job

        self.daemon.call("job.stop", job=job)
        self.fill("d")

        self.wait_state("a", "hibernated")
        self.assert_has_its_own("a")

    def test_one_that_cannot_be_saved_whole_goes_last(self):
        self.daemon.run("import threading\nx = 'a'\nlock = threading.Lock()", session="a")
        kernel = self.daemon.kernels(session="a")[0]["kernel"]
        self.fill("b", "c")

        self.wait_state("b", "hibernated")
        self.wait_kernels(2)

        self.assertEqual(self.daemon.kernels(session="a")[0]["kernel"], kernel)
        self.assertEqual({row["session"]: row["victim_rank"] for row in self.daemon.kernels()}, {"c": 1, "a": 2})
        self.assertIn("1 of its names cannot be saved", self.daemon.log())
        busy = self.start("import time; print('on', flush=True); time.sleep(2)", "c1", session="c")
        self.fill("d")
        self.wait_state("a", "hibernated")  # nobody else is idle
        result = self.daemon.run("x", session="a")
        self.assert_ok(result, "'a'")
        self.assertEqual([each["name"] for each in result["notices"][0]["details"]["skipped"]], ["lock"])
        self.assertEqual([each["name"] for each in result["kernel"]["skipped"]], ["lock"])
        self.assert_ok(busy.result())

    def test_a_hundred_sessions_keep_their_variables_under_the_cap(self):
        names = [f"s{number}" for number in range(100)]

        self.fill(*names)

        self.wait_kernels(2)
        wait_until(lambda: len(self.daemon.run_directories()) <= 2, "the directories of the others to be gone")
        self.assert_has_its_own(*names)

    def test_five_children_keep_their_variables_under_a_cap_of_two(self):
        for child in "abcde":
            self.daemon.run(f"x = {child!r}", child=child)

        for child in "abcde":
            self.assert_ok(self.daemon.run("x", child=child), repr(child))

    def test_a_childs_kernel_is_pinned_until_it_is_released(self):
        self.daemon.run("x = 1", child="c1")
        kernel = self.daemon.kernels(child="c1")[0]
        self.fill("a", "b", "c")
        self.wait_kernels(2)

        self.assertIsNone(self.daemon.kernels(child="c1")[0]["victim_rank"])
        self.assertEqual(self.daemon.kernels(child="c1")[0]["kernel"], kernel["kernel"])
        self.daemon.call("owner.close", child="c1")
        self.wait_kernels(1)

    def test_a_cell_that_comes_while_its_kernel_is_saved_runs_there_and_another_one_goes(self):
        self.daemon.run(SLOW_TO_SAVE + "\nx = 'a'", session="a")
        kernel = self.daemon.kernels()[0]["kernel"]
        self.fill("b", "c")
        wait_until(lambda: "1.0.part" in self.state_files(), "it to save")

        result = self.daemon.run("x", session="a")

        self.assert_ok(result, "'a'")
        self.assertEqual(result["kernel"]["id"], kernel)
        self.wait_kernels(2)
        self.assert_has_its_own("a", "b", "c")

    def test_a_reset_or_a_close_while_its_kernel_is_saved_wins(self):
        for method, outcome in (("session.reset", "new"), ("session.close", None)):
            with self.subTest(method):
                self.daemon.run(SLOW_TO_SAVE + "\nx = 'a'", session="a")
                self.fill("b", "c")
                wait_until(lambda: any(name.endswith(".part") for name in self.state_files()), "it to save")

                self.daemon.call(method, session="a")

                self.assertEqual(self.sessions().get("a"), outcome)
                self.assertEqual(self.daemon.run("x", session="a")["error"]["name"], "NameError")
                self.daemon.call("owner.close")

    def test_one_that_cannot_be_saved_is_kept_and_another_one_goes(self):
        self.fill("a")
        obstacle = self.daemon.home / "state" / "1.0.part"
        obstacle.mkdir()
        self.fill("b", "c")

        self.wait_state("b", "hibernated")

        self.assertEqual(self.sessions(), {"a": "idle", "b": "hibernated", "c": "idle"})
        obstacle.rmdir()
        self.assert_has_its_own("a", "b", "c")

    def test_a_kernel_that_still_starts_is_not_taken_for_an_idle_one(self):
        slow = self.daemon.directory / "slow-python"
        slow.write_text(f"#!/bin/sh\nsleep 2\nexec {__import__('sys').executable} \"$@\"\n")
        slow.chmod(0o755)
        starting = self.daemon.connect().send("run", code="x = 'slow'; x", session="slow", python=str(slow))
        self.fill("a", "b", "c")

        self.assert_ok(starting.result(), "'slow'")
        self.assertEqual(starting.result()["kernel"]["reason"], "first")
        self.assert_has_its_own("a", "b", "c", "slow")

    def test_six_cells_at_once_on_a_hibernated_session_start_one_kernel_and_run_in_order(self):
        self.fill("a", "b", "c")
        self.wait_state("a", "hibernated")
        client = self.daemon.connect()

        pending = [client.send("run", code=f"x += '{number}'; x", session="a") for number in range(6)]

        results = [each.result() for each in pending]
        self.assertEqual([each["value"] for each in results], [repr("a" + "012345"[: n + 1]) for n in range(6)])
        self.assertEqual(len({each["kernel"]["id"] for each in results}), 1)


class SlowDiskTest(EvictionCase):
    """What comes while a saved namespace is on its way to the disk, its kernel still there."""

    environment = {"HOLDFAST_MAX_KERNELS": "2"}

    def setUp(self):
        super().setUp()
        points = "storage.disk.before_commit=delay(1000);core.before_saved_recorded=delay(1)"
        self.daemon.restart(HOLDFAST_FAILPOINTS=points, HOLDFAST_FAILPOINT_LOG=str(self.daemon.failpoint_log))

    def until_recording(self):
        """The row of kernel a, which goes."""
        self.fill("a")
        kernel = self.daemon.kernels(session="a")[0]
        self.fill("b")
        before = self.recordings()
        self.daemon.connect().send("run", code="x = 'c'", session="c")  # its row goes to the disk, too, and is not waited for
        wait_until(lambda: self.recordings() > before, "the namespace to be recorded")
        self.assertEqual([each["kernel"] for each in self.daemon.kernels(session="a")], [kernel["kernel"]])
        return kernel

    def recordings(self):
        return str(self.daemon.fired_failpoints()).count("core.before_saved_recorded")

    def test_a_reset_or_a_close_wins(self):
        for method, outcome in (("session.reset", "new"), ("session.close", None)):
            with self.subTest(method):
                kernel = self.until_recording()

                self.daemon.call(method, session="a")

                self.assertEqual(self.sessions().get("a"), outcome)
                result = self.daemon.run("x", session="a")
                self.assertEqual(result["error"]["name"], "NameError")
                self.assertEqual([each for each in self.notice_kinds(result) if each in ("evicted", "restored", "state_lost")], [])
                self.assertNotEqual(result["kernel"]["id"], kernel["kernel"])
                self.daemon.call("owner.close")

    def test_a_cell_waits_and_has_its_variables(self):
        kernel = self.until_recording()

        result = self.daemon.run("x", session="a")

        self.assert_ok(result, "'a'")
        self.assertTrue(result["kernel"]["restored"])
        self.assertNotEqual(result["kernel"]["id"], kernel["kernel"])

    def test_the_death_of_its_kernel_loses_nothing(self):
        kernel = self.until_recording()

        os.kill(kernel["pid"], signal.SIGKILL)

        self.wait_state("a", "hibernated")
        self.assert_has_its_own("a", "b", "c")


class NoCapTest(EvictionCase):
    environment = {"HOLDFAST_MAX_KERNELS": "0"}

    def test_a_cap_of_zero_is_none(self):
        self.fill("a", "b", "c")

        stays_true(lambda: len(self.daemon.kernels()) == 3, 0.5, "three kernels to be there")


class NegativeCapTest(EvictionCase):
    def test_a_negative_cap_is_refused_at_the_start(self):
        refused = self.daemon.command("serve", environment={"HOLDFAST_MAX_KERNELS": "-1", "HOLDFAST_HOME": str(self.daemon.directory / "o")})

        self.assertEqual(refused.returncode, 2, refused)
        self.assertIn("HOLDFAST_MAX_KERNELS", refused.stderr)


class CrashTest(EvictionCase):
    """Killed at each step of a hibernation, the namespace is in one place afterwards, and what is told of it is true."""

    environment = {"HOLDFAST_MAX_KERNELS": "1"}

    def test_the_daemon_is_killed_while_a_kernel_is_hibernated(self):
        for name, was_evicted in (
            ("core.before_saved_recorded", False),
            ("core.after_saved_recorded", False),
            ("core.after_saved_unlinked", True),
        ):
            with self.subTest(name):
                self.daemon.restart(HOLDFAST_FAILPOINTS=f"{name}=kill", HOLDFAST_FAILPOINT_LOG=str(self.daemon.failpoint_log))
                kernel = self.daemon.run("x = 41", session="a")["kernel"]["id"]
                client = self.daemon.connect()
                pending = client.send("run", code="x = 1", session="b", cell="b-" + name)
                self.assertEqual(self.daemon.wait_ended(), -9)
                try:
                    pending.result(5)
                except ConnectionLost:
                    pass
                self.assertIn(name, self.daemon.fired_failpoints())
                self.daemon.start(HOLDFAST_MAX_KERNELS="9")

                result = self.daemon.run("x += 1; x", session="a")

                self.assert_ok(result, "42")
                self.assertFalse(result["kernel"]["state_lost"], result["kernel"])
                self.assertEqual(result["kernel"]["id"] != kernel, was_evicted)
                self.assertEqual("evicted" in self.notice_kinds(result), was_evicted, result["notices"])
                self.assertEqual(self.daemon.call("session.get", session="a")["saved_bytes"], 0)
                self.daemon.call("owner.close")
                wait_until(lambda: not self.daemon.run_directories(), "no kernel's directory to be left")
                alive = {each.pid for each in self.daemon.nurseries()} | {self.daemon.pid}
                wait_until(lambda: {each.pid for each in self.daemon.processes()} <= alive, "no kernel to be left")

    def test_of_two_in_one_session_the_one_that_was_undone_is_not_told_and_the_other_is(self):
        self.daemon.restart(HOLDFAST_MAX_KERNELS="9")
        gone = self.daemon.run("x = 1", session="a", tools=["one"])["kernel"]["id"]
        kept = self.daemon.run("x = 2", session="a", tools=[])["kernel"]["id"]
        self.daemon.restart(HOLDFAST_MAX_KERNELS="1", HOLDFAST_FAILPOINTS="core.after_saved_recorded=1*off->kill",
                            HOLDFAST_FAILPOINT_LOG=str(self.daemon.failpoint_log))
        wait_until(lambda: [each["kernel"] for each in self.daemon.kernels()] == [kept], "the older one to be hibernated")
        self.daemon.connect().send("run", code="1", session="b", cell="over-the-cap")
        self.assertEqual(self.daemon.wait_ended(), -9)

        self.daemon.start(HOLDFAST_MAX_KERNELS="9")

        def told():
            notices = self.daemon.call("notice.list", owner="default", session="a")["items"]
            return [each["details"]["kernel"] for each in notices if each["kind"] == "evicted"]

        wait_until(lambda: told() == [gone], "the notice of the one that is hibernated to be the only one")
        self.assertEqual([each["kernel"] for each in self.daemon.kernels(session="a")], [kept])


if __name__ == "__main__":
    unittest.main()
