"""Jobs go on while no daemon runs: deadlines are of the wall clock, ends are told to whoever listens, a dead kernel's jobs are ended."""

import ast
import shlex
import unittest

from holdfast_test import processes
from holdfast_test.cases import DaemonCase
from holdfast_test.waiting import wait_until

DEADLINE = 3.0  # seconds
LATEST = DEADLINE + 6.0  # until one is ended past its deadline: the machine may be loaded


class JobCase(DaemonCase):
    def jobs(self):
        return self.daemon.call("job.list")["items"]

    def start_job(self, *command, **options):
        """(id, identity of its process)"""
        words = "".join(f", {word!r}" for word in command)[2:] + "".join(f", {name}={value!r}" for name, value in options.items())
        job, pid = ast.literal_eval(self.daemon.run(f"job = run({words})\n(job.id, job.pid)")["value"])
        return job, processes.identify(pid)

    def of_kind(self, result, kind):
        return [notice for notice in result["notices"] if notice["kind"] == kind]

    def named(self, notices):
        return [each["job"] for notice in notices for each in notice["details"]["jobs"]]


class DeadlineTest(JobCase):
    environment = {"HOLDFAST_TIME_SCALE": "5"}  # the daemon's own timers only

    def start_three(self):
        code = (
            "import sys\nprogram = \"import time; print('progress', flush=True); time.sleep(600)\"\n"
            f"jobs = [run(sys.executable, '-c', program, timeout={DEADLINE}) for _ in range(3)]\n[job.pid for job in jobs]"
        )
        return [processes.identify(pid) for pid in ast.literal_eval(self.daemon.run(code)["value"])]

    def assert_three_timed_out(self, result):
        self.assert_ok(result)
        outcomes = ast.literal_eval(result["value"])
        self.assertEqual(len(outcomes), 3)
        for timed_out, duration, so_far in outcomes:
            self.assertTrue(timed_out)
            self.assertEqual(so_far, "progress\n")
            self.assertTrue(DEADLINE <= duration < LATEST, duration)

    OUTCOMES = "for job in jobs: await job\n[(job.timed_out, job.duration, job.read()) for job in jobs]"

    def test_three_at_once_each_end_at_their_deadline_with_their_output_so_far(self):
        self.start_three()

        self.assert_three_timed_out(self.daemon.run(self.OUTCOMES))

    def test_a_restart_in_between_changes_no_deadline(self):
        leaders = self.start_three()
        self.daemon.restart(crash=True)
        self.assertTrue(all(map(processes.is_alive, leaders)))

        self.assert_three_timed_out(self.daemon.run(self.OUTCOMES))

    def test_deadlines_that_pass_while_no_daemon_runs_are_kept_and_told(self):
        leaders = self.start_three()
        self.daemon.kill()
        for leader in leaders:
            processes.wait_gone(leader, LATEST)
        self.daemon.start()

        wait_until(lambda: [row["timed_out"] for row in self.jobs()] == [True] * 3, "three jobs past their deadlines")
        told = self.of_kind(self.daemon.run("1"), "job_finished")
        self.assertEqual(sorted(self.named(told)), sorted(row["job"] for row in self.jobs()))
        self.assert_three_timed_out(self.daemon.run(self.OUTCOMES))


class StillRunningTest(JobCase):
    def test_what_still_runs_is_named_with_its_command_once_for_each_restart(self):
        job, leader = self.start_job("sleep", "120")
        for crash in (False, True):
            with self.subTest(crash=crash):
                self.daemon.restart(crash=crash)

                (told,) = self.of_kind(self.daemon.run("1"), "reattached")

                self.assertEqual(told["details"]["jobs"], [{"job": job, "command": "sleep 120"}])
                self.assertIn(f"{job} (sleep 120)", told["text"])
                self.assertEqual(self.daemon.run("2")["notices"], [])
                self.assertTrue(processes.is_alive(leader))


class WakeTest(JobCase):
    """A job that ends after the restart, in a session that nobody has asked for anything since."""

    def setUp(self):
        super().setUp()
        self.gate = self.daemon.directory / "gate"
        self.job, self.leader = self.start_job("sh", "-c", f"until test -e {self.gate}; do sleep 0.05; done; echo through")
        self.daemon.restart(crash=True)

    def assert_told_once(self):
        (told,) = self.of_kind(self.daemon.run("1"), "job_finished")
        self.assertEqual(self.named([told]), [self.job])
        self.assertIn(self.job, told["text"])
        self.assertEqual(self.daemon.run("2")["notices"], [])
        self.daemon.restart(crash=True)
        self.assertEqual(self.of_kind(self.daemon.run("3"), "job_finished"), [])

    def test_wakes_who_listens_with_its_end_and_the_notice(self):
        listener = self.daemon.connect()
        listener.call("event.subscribe", types=["job_finished", "notice"])

        self.gate.touch()

        ended = listener.wait_notification("event", kind="job_finished")
        self.assertEqual((ended["session"], ended["owner"]), ("default", "default"))
        self.assertEqual((ended["details"]["job"], ended["details"]["state"]), (self.job, "finished"))
        notice = listener.wait_notification("event", kind="notice", where=lambda event: self.job in str(event["details"]))
        self.assertIn("job_finished", str(notice["details"]))
        self.assert_told_once()

    def test_with_nobody_there_it_is_in_the_list_and_on_the_next_result(self):
        self.gate.touch()
        processes.wait_gone(self.leader)

        def waiting():
            return [notice for notice in self.daemon.call("notice.list")["items"] if notice["kind"] == "job_finished"]

        wait_until(waiting, "the notice")
        self.assertEqual(self.named(waiting()), [self.job])
        self.assert_told_once()

    def test_in_a_session_that_has_left_memory_it_is_told_all_the_same(self):
        self.daemon.restart(HOLDFAST_IDLE_SECONDS="0.3")
        self.gate.touch()
        processes.wait_gone(self.leader)
        wait_until(lambda: self.daemon.call("session.get")["state"] == "hibernated", "the session without a kernel")
        self.daemon.restart(crash=True)

        self.assert_told_once()


class KilledWhileDownTest(JobCase):
    def setUp(self):
        super().setUp()
        self.kernel = processes.identify(self.daemon.run("x = 1")["kernel"]["pid"])

    def kill_while_down(self):
        self.daemon.kill()
        processes.end_all([self.kernel])
        self.daemon.start()

    def assert_stopped_and_named(self, job, command):
        wait_until(lambda: [row["state"] for row in self.jobs() if row["job"] == job] == ["stopped"], "the stopped job")
        (told,) = self.of_kind(self.daemon.run("1"), "restarted")
        self.assertEqual(told["details"]["jobs"], [{"job": job, "command": command}])
        self.assertIn(f"{job} ({command})", told["text"])
        self.assertEqual(self.of_kind(self.daemon.run("2"), "restarted"), [])

    def test_its_job_is_ended_though_nobody_asks_and_named(self):
        job, leader = self.start_job("sleep", "300")

        self.kill_while_down()

        processes.wait_gone(leader)
        self.assert_stopped_and_named(job, "sleep 300")

    def test_its_job_is_ended_with_all_of_its_group_though_the_nursery_died_too(self):
        program = "trap '' TERM; sleep 300 & echo $!; wait"
        job, leader = self.start_job("sh", "-c", program)
        wait_until(lambda: self.daemon.call("job.output", job=job)["total_bytes"], "the child's number")
        child = processes.identify(int(self.daemon.call("job.output", job=job)["chunks"][0]["text"]))
        nurseries = self.daemon.nurseries()
        self.daemon.kill()
        processes.end_all([*nurseries, self.kernel])
        self.assertTrue(processes.is_alive(leader))

        self.daemon.start()

        processes.wait_gone(leader)
        processes.wait_gone(child)
        self.assert_stopped_and_named(job, shlex.join(["sh", "-c", program]))

    def test_one_to_be_kept_goes_on_and_is_not_said_to_be_stopped(self):
        job, leader = self.start_job("sleep", "300", keep=True)

        self.kill_while_down()

        (told,) = self.of_kind(self.daemon.run("1"), "restarted")
        self.assertEqual(told["details"]["jobs"], [])
        self.assertTrue(processes.is_alive(leader))
        self.assertEqual(self.daemon.call("job.stop", job=job)["state"], "stopped")

    def test_a_job_that_had_ended_before_its_kernel_is_told_as_finished_and_not_as_stopped(self):
        gate = self.daemon.directory / "gate"
        job, leader = self.start_job("sh", "-c", f"until test -e {gate}; do sleep 0.05; done")
        self.daemon.kill()
        gate.touch()
        processes.wait_gone(leader)
        wait_until(self.spooled_finish, "the end in the spool")
        processes.end_all([self.kernel])
        self.daemon.start()

        result = self.daemon.run("1")

        self.assertEqual(self.named(self.of_kind(result, "restarted")), [])
        self.assertEqual(self.named(self.of_kind(result, "job_finished")), [job])
        self.assertEqual([(row["state"], row["exit_code"]) for row in self.jobs()], [("finished", 0)])

    def spooled_finish(self):
        return any(b"job_finished" in path.read_bytes() for path in self.daemon.home.glob("run/*/spool"))


if __name__ == "__main__":
    unittest.main()
