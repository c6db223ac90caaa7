"""Jobs: processes that a cell starts with run(...), as the daemon and its clients see them."""

import re
import unittest

from holdfast_test import processes
from holdfast_test.cases import DaemonCase
from holdfast_test.client import RpcError
from holdfast_test.daemon import binary
from holdfast_test.waiting import wait_until

# The leader and a child that ignores TERM: only the end of the whole group ends both.
FAMILY = "j = run('sh', '-c', 'trap \"\" TERM; sleep 600 & echo $! ; wait')\nj.id"
SLEEP = "j = run('sleep', '600'{})\nj.id"


class JobCase(DaemonCase):
    def jobs(self, **params):
        return self.daemon.call("job.list", **params)["items"]

    def job(self, job):
        return next(row for row in self.jobs() if row["job"] == job)

    def start_job(self, code=SLEEP.format(""), **params):
        """Runs a cell whose value is a job's id; its row."""
        result = self.daemon.run(code, **params)
        self.assert_ok(result)
        return self.job(result["value"].strip("'"))

    def wait_state(self, job, state):
        wait_until(lambda: self.job(job)["state"] == state, f"job {job} to be {state}")
        return self.job(job)

    def output(self, job, **params):
        return self.daemon.call("job.output", job=job, **params)

    def text_of(self, page):
        return "".join(chunk["text"] for chunk in page["chunks"])

    def of_kind(self, result, kind):
        return [notice for notice in result["notices"] if notice["kind"] == kind]

    def refused(self, code, method, **params):
        with self.assertRaises(RpcError) as caught:
            self.daemon.call(method, **params)
        self.assertEqual(caught.exception.code, code, caught.exception)
        return caught.exception.message

    def wait_notice(self, kind):
        found = []

        def is_there():
            found[:] = [notice for notice in self.daemon.call("notice.list")["items"] if notice["kind"] == kind]
            return found

        wait_until(is_there, f"a notice {kind}")
        return found


class ListTest(JobCase):
    def test_a_job_outlives_its_cell_and_is_listed_with_its_process(self):
        row = self.start_job()

        self.assertEqual((row["state"], row["command"], row["exit_code"]), ("running", "sleep 600", None))
        self.assertTrue(processes.identify(row["pid"]))
        self.assertEqual(row["kernel"], self.daemon.kernels()[0]["kernel"])
        self.assertEqual(self.daemon.kernels()[0]["jobs"], 1)
        self.assertEqual(self.daemon.call("session.get")["jobs"], 1)
        self.assertEqual(self.daemon.kernels()[0]["state"], "idle")

    def test_jobs_are_listed_newest_first_by_page_and_by_filter(self):
        first = self.start_job()["job"]
        second = self.start_job()["job"]
        other = self.start_job(session="other", owner="ada")["job"]
        self.daemon.call("job.stop", job=first)

        page = self.daemon.call("job.list", limit=2)
        self.assertEqual([row["job"] for row in page["items"]], [other, second])
        rest = self.daemon.call("job.list", limit=2, after=page["next"])
        self.assertEqual(([row["job"] for row in rest["items"]], rest["next"]), ([first], None))
        self.assertEqual([row["job"] for row in self.jobs(owner="ada")], [other])
        self.assertEqual([row["job"] for row in self.jobs(session="default")], [second, first])
        self.assertEqual([row["job"] for row in self.jobs(state="stopped")], [first])
        self.assertEqual(self.jobs(owner="nobody"), [])

    def test_events_tell_of_start_and_end(self):
        listener = self.daemon.connect()
        listener.call("event.subscribe", types=["job_started", "job_finished"])

        row = self.start_job("j = run('true'); await_it = j.wait(); j.id")

        started = listener.wait_notification("event", kind="job_started")
        ended = listener.wait_notification("event", kind="job_finished")
        told = {"job": row["job"], "kernel": row["kernel"], "cell": started["details"]["cell"]}
        self.assertEqual(started["details"], {**told, "reason": "cell"})
        self.assertEqual(ended["details"], {**told, "state": "finished", "reason": "exit"})

    def test_closing_the_session_ends_its_jobs_and_forgets_them(self):
        row = self.start_job()
        leader = processes.identify(row["pid"])

        self.daemon.call("session.close")

        processes.wait_gone(leader)
        self.assertEqual(self.jobs(), [])
        self.refused(1001, "job.output", job=row["job"])


class OutputTest(JobCase):
    def test_output_is_read_by_pages_in_written_order(self):
        row = self.start_job("j = run('sh', '-c', 'echo one; echo two >&2; echo three')\nj.id")
        self.wait_state(row["job"], "finished")

        whole = self.output(row["job"])
        self.assertEqual(sorted(self.text_of(whole).split()), ["one", "three", "two"])
        self.assertEqual({chunk["stream"] for chunk in whole["chunks"]}, {"stdout", "stderr"})
        self.assertEqual((whole["next_offset"], whole["total_bytes"], whole["dropped"], whole["final"]), (14, 14, [], True))
        pieces, offset = "", 0
        while offset < 14:
            page = self.output(row["job"], offset=offset, limit=5)
            self.assertGreater(page["next_offset"], offset)
            pieces, offset = pieces + self.text_of(page), page["next_offset"]
        self.assertEqual(pieces, self.text_of(whole))
        self.assertEqual(self.job(row["job"])["output_bytes"], 14)

    def test_output_is_there_while_the_job_runs_and_while_a_cell_runs(self):
        row = self.start_job("j = run('sh', '-c', 'echo begun; sleep 600')\nj.id")
        client, _ = self.daemon.start_cell("import time\nprint('on', flush=True)\ntime.sleep(600)", "busy")
        client.wait_streamed("busy", "on")

        wait_until(lambda: self.output(row["job"])["total_bytes"] == 6, "the job's first line")

        page = self.output(row["job"])
        self.assertEqual((self.text_of(page), page["final"]), ("begun\n", False))

    def test_the_output_of_a_job_whose_kernel_is_gone_is_named_as_dropped(self):
        row = self.start_job("j = run('echo', 'gone')\nj.wait()\nj.id")
        self.wait_state(row["job"], "finished")
        self.daemon.call("session.reset")

        page = self.output(row["job"])

        self.assertEqual((page["chunks"], page["dropped"], page["final"]), ([], [{"from": 0, "to": 5}], True))


class StopTest(JobCase):
    def test_stop_ends_the_whole_group(self):
        row = self.start_job(FAMILY)
        wait_until(lambda: self.text_of(self.output(row["job"])), "the child's number")
        family = [processes.identify(pid) for pid in (row["pid"], int(self.text_of(self.output(row["job"]))))]
        self.assertTrue(all(family))

        stopped = self.daemon.call("job.stop", job=row["job"])

        self.assertEqual((stopped["job"], stopped["state"], stopped["exit_code"]), (row["job"], "stopped", -9))
        self.assertFalse([each for each in family if processes.is_alive(each)])
        self.assertEqual(self.daemon.kernels()[0]["jobs"], 0)
        self.assert_ok(self.daemon.run("j.poll()"), "-9")

    def test_stopping_one_that_has_ended_answers_its_row(self):
        row = self.start_job("j = run('sh', '-c', 'exit 3')\nj.wait()\nj.id")
        self.wait_state(row["job"], "finished")

        again = self.daemon.call("job.stop", job=row["job"])

        self.assertEqual((again["state"], again["exit_code"]), ("finished", 3))

    def test_a_job_that_nobody_knows_is_not_found(self):
        self.assertIn("j-none", self.refused(1001, "job.stop", job="j-none"))
        self.assertIn("j-none", self.refused(1001, "job.output", job="j-none"))

    def test_a_kernel_with_a_live_job_is_not_stopped_and_the_job_is_named(self):
        row = self.start_job()

        message = self.refused(1004, "kernel.stop", kernel=row["kernel"])

        self.assertIn(row["job"], message)
        self.daemon.call("job.stop", job=row["job"])
        self.daemon.call("kernel.stop", kernel=row["kernel"])


class NoticeTest(JobCase):
    def start_and_end_job(self):
        """One whose end comes after its cell's, so that no result has told of it."""
        row = self.start_job()
        processes.end_all([processes.identify(row["pid"])])
        self.wait_notice("job_finished")
        return row

    def test_a_finish_that_nobody_read_is_told_once_with_the_next_result(self):
        row = self.start_and_end_job()

        told = self.of_kind(self.daemon.run("1"), "job_finished")

        self.assertEqual(len(told), 1)
        self.assertIn("signal 9", told[0]["text"])
        self.assertEqual(told[0]["details"]["jobs"], [{"job": row["job"], "command": "sleep 600"}])
        self.assertEqual(self.daemon.run("2")["notices"], [])
        self.assertEqual(self.daemon.call("notice.list")["items"], [])

    def test_a_finish_that_a_cell_read_is_told_by_no_notice(self):
        row = self.start_job("j = run('true')\nj.wait()\nj.id")
        self.wait_state(row["job"], "finished")

        self.assertEqual(self.daemon.call("notice.list")["items"], [])
        self.assertEqual(self.daemon.run("1")["notices"], [])

    def test_finishes_without_end_are_told_by_so_many_notices_and_no_more(self):
        result = self.daemon.run(
            "import os, time\nfor n in range(6):\n    jobs = [run('true') for n in range(50)]\n"
            "    while any(os.path.exists('/proc/%d' % j.pid) for j in jobs): time.sleep(0.01)"
        )

        self.assertEqual(len(self.of_kind(result, "job_finished")), 64)

    def test_reading_it_later_withdraws_the_notice(self):
        self.start_and_end_job()
        client, pending = self.daemon.start_cell("j.poll()\nprint('read', flush=True)\nimport time\ntime.sleep(600)", "reading")
        client.wait_streamed("reading", "read")

        wait_until(lambda: not self.daemon.call("notice.list")["items"], "the notice to be withdrawn")

        self.daemon.call("cell.interrupt")
        self.assertEqual(pending.result()["notices"], [])

    def test_a_finish_while_the_daemon_was_dead_is_told(self):
        row = self.start_job()
        leader = processes.identify(row["pid"])
        self.daemon.kill()
        processes.end_all([leader])
        self.daemon.start()

        self.assertEqual(self.wait_state(row["job"], "finished")["exit_code"], -9)
        told = self.of_kind(self.daemon.run("1"), "job_finished")
        self.assertEqual([notice["details"]["jobs"][0]["job"] for notice in told], [row["job"]])
        self.daemon.restart(crash=True)
        self.assertEqual(self.of_kind(self.daemon.run("2"), "job_finished"), [])


class SurvivalTest(JobCase):
    def test_a_job_survives_the_daemon_and_is_named_when_its_kernel_is_back(self):
        row = self.start_job()
        leader = processes.identify(row["pid"])

        self.daemon.restart(crash=True)

        told = self.of_kind(self.daemon.run("1"), "reattached")
        self.assertEqual(len(told), 1)
        self.assertEqual(told[0]["details"]["jobs"], [{"job": row["job"], "command": "sleep 600"}])
        self.assertIn(row["job"], told[0]["text"])
        self.assertTrue(processes.is_alive(leader))
        self.assertEqual(self.job(row["job"])["state"], "running")
        self.assertEqual(self.daemon.call("job.stop", job=row["job"])["state"], "stopped")

    def test_the_death_of_its_kernel_ends_a_job_and_names_it(self):
        row = self.start_job()
        leader = processes.identify(row["pid"])

        processes.end_all([processes.identify(self.daemon.kernels()[0]["pid"])])

        processes.wait_gone(leader)
        self.wait_state(row["job"], "stopped")
        told = self.of_kind(self.daemon.run("1"), "restarted")
        self.assertEqual([notice["details"]["jobs"] for notice in told], [[{"job": row["job"], "command": "sleep 600"}]])
        self.assertIn(row["job"], told[0]["text"])
        self.assertEqual(self.daemon.call("session.get")["jobs"], 0)

    def test_one_to_be_kept_outlives_its_kernel_and_can_be_stopped_still(self):
        row = self.start_job(SLEEP.format(", keep=True"))
        leader = processes.identify(row["pid"])

        processes.end_all([processes.identify(self.daemon.kernels()[0]["pid"])])
        wait_until(lambda: not self.daemon.kernels(), "the end of the kernel")

        self.assertTrue(processes.is_alive(leader))
        self.assertEqual(self.job(row["job"])["state"], "running")
        self.assertEqual(self.daemon.call("session.get")["jobs"], 1)
        stopped = self.daemon.call("job.stop", job=row["job"])
        self.assertEqual(stopped["state"], "stopped")
        processes.wait_gone(leader)

    def test_a_daemon_that_a_job_starts_is_not_part_of_it(self):
        other = self.daemon.directory / "other"
        code = f"j = run({binary()!r}, '--home', {str(other)!r}, 'run', '1', keep=True)\nj.wait()\nrun('sleep', '600', keep=True)\nj.id"
        self.assert_ok(self.daemon.run(code))
        daemon = processes.identify(int((self.daemon.command("--home", str(other), "status", "--pid")).stdout))
        self.daemon.call("session.reset")

        for row in self.daemon.call("job.list")["items"]:
            self.daemon.call("job.stop", job=row["job"])

        self.assertTrue(processes.is_alive(daemon))
        self.assertEqual(self.daemon.command("--home", str(other), "stop").returncode, 0)
        processes.wait_gone(daemon)

    def test_the_end_of_a_kept_one_is_seen_though_its_exit_code_is_not(self):
        row = self.start_job(SLEEP.format(", keep=True"))
        leader = processes.identify(row["pid"])
        self.daemon.call("session.reset")
        self.assertTrue(processes.is_alive(leader))

        processes.end_all([leader])

        self.assertIsNone(self.wait_state(row["job"], "lost")["exit_code"])


class CommandLineTest(JobCase):
    def test_jobs_job_and_logs_show_it_and_stop_ends_it(self):
        row = self.start_job("j = run('sh', '-c', 'echo here; sleep 600')\nj.id")
        wait_until(lambda: self.output(row["job"])["total_bytes"] == 5, "its output")

        self.assertIn(row["job"], self.daemon.command("jobs").stdout)
        self.assertRegex(self.daemon.command("job", row["job"]).stdout, r"state\s+running")
        logs = self.daemon.command("logs", row["job"])
        self.assertEqual((logs.stdout, logs.returncode), ("here\n", 0))
        follower = self.daemon.start_command("logs", "-f", row["job"])
        stopped = self.daemon.command("job", row["job"], "--stop")
        self.assertTrue(re.search(r"state\s+stopped", stopped.stdout), stopped)
        self.assertEqual((follower.communicate(timeout=30)[0], follower.returncode), ("here\n", 0))

    def test_a_job_that_is_not_there_is_refused(self):
        self.daemon.run("1")
        for command in (("job", "j-none"), ("job", "j-none", "--stop"), ("logs", "j-none")):
            self.assertEqual(self.daemon.command(*command).returncode, 4, command)


if __name__ == "__main__":
    unittest.main()
