"""What a session is told once after a restart: that its kernel carried on, or what it lost."""

import unittest

from holdfast_test import processes
from holdfast_test.cases import DaemonCase
from holdfast_test.waiting import wait_until

WAITING = "import time\nprint('before', flush=True)\ntime.sleep({seconds})"


class ReattachedTest(DaemonCase):
    def notice(self, result, kind):
        found = [notice for notice in result["notices"] if notice["kind"] == kind]
        self.assertEqual(len(found), 1, result["notices"])
        return found[0]

    def test_the_next_result_says_once_that_nothing_was_running(self):
        self.daemon.run("1")
        for crash in (False, True):
            with self.subTest(crash=crash):
                self.daemon.restart(crash=crash)

                notice = self.notice(self.daemon.run("2"), "reattached")

                self.assertIn("nothing was running", notice["text"].lower())
                self.assertEqual(self.daemon.run("3")["notices"], [])

    def test_it_names_the_cell_that_was_running(self):
        client, _ = self.daemon.start_cell(WAITING.format(seconds=2), "long-cell")
        client.wait_streamed("long-cell", "before")
        self.daemon.restart(crash=True)

        results = [self.daemon.call("cell.wait", cell="long-cell"), self.daemon.run("2")]
        told = [notice for result in results for notice in result["notices"] if notice["kind"] == "reattached"]

        self.assertEqual(len(told), 1, results)
        self.assertIn("long-cell", told[0]["text"])
        self.assertEqual(told[0]["details"]["cells"], ["long-cell"])

    def test_a_notice_has_an_id_an_instant_and_stays_part_of_its_record(self):
        self.daemon.run("1")
        self.daemon.restart(crash=True)

        result = self.daemon.run("2", cell="told")
        notice = self.notice(result, "reattached")

        self.assertRegex(notice["id"], r"^n-")
        self.assertRegex(notice["at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertEqual(self.daemon.run("2", cell="told")["notices"], [notice])

    def test_a_notice_waits_in_the_list_until_it_rides_on_a_result(self):
        self.daemon.run("1")
        self.daemon.restart(crash=True)
        wait_until(lambda: self.daemon.call("notice.list")["items"], "a waiting notice")

        waiting = self.daemon.call("notice.list")["items"]
        told = self.daemon.run("2")["notices"]

        self.assertEqual([notice["id"] for notice in waiting], [notice["id"] for notice in told])
        self.assertEqual(self.daemon.call("notice.list")["items"], [])

    def test_an_acked_notice_does_not_ride(self):
        self.daemon.run("1")
        self.daemon.restart(crash=True)
        wait_until(lambda: self.daemon.call("notice.list")["items"], "a waiting notice")
        waiting = self.daemon.call("notice.list")["items"]

        acked = self.daemon.call("notice.ack", ids=[notice["id"] for notice in waiting] + ["n-unknown"])

        self.assertEqual(acked["acked"], len(waiting))
        self.assertEqual(self.daemon.run("2")["notices"], [])

    def test_a_notice_not_yet_told_survives_another_crash(self):
        self.daemon.run("1")
        self.daemon.restart(crash=True)
        wait_until(lambda: self.daemon.call("notice.list")["items"], "a waiting notice")
        self.daemon.restart(crash=True)

        self.notice(self.daemon.run("2"), "reattached")


class RestartedTest(DaemonCase):
    def kill_kernel_while_the_daemon_is_down(self):
        kernel = processes.identify(self.daemon.kernels()[0]["pid"])
        self.daemon.kill()
        processes.end_all([kernel])
        self.daemon.start()

    def test_a_kernel_that_died_meanwhile_is_told_with_the_lost_cell_and_the_lost_state(self):
        client, _ = self.daemon.start_cell(WAITING.format(seconds=60), "long-cell")
        client.wait_streamed("long-cell", "before")
        self.kill_kernel_while_the_daemon_is_down()

        lost = self.daemon.call("cell.wait", cell="long-cell")
        after = self.daemon.run("'time' in globals()")

        self.assertEqual(lost["status"], "lost")
        self.assert_ok(after, "False")
        self.assertTrue(after["kernel"]["state_lost"])
        told = lost["notices"] + after["notices"]  # the lost cell's result may be the next one of the session
        restarted = [notice for notice in told if notice["kind"] == "restarted"]
        self.assertEqual(len(restarted), 1, told)
        self.assertEqual(restarted[0]["details"]["cells"], ["long-cell"])
        self.assertIn("long-cell", restarted[0]["text"])
        self.assertNotIn("reattached", [notice["kind"] for notice in told])

    def test_it_is_told_once(self):
        self.daemon.run("x = 1")
        self.kill_kernel_while_the_daemon_is_down()

        first, second = self.daemon.run("2"), self.daemon.run("3")

        self.assertIn("restarted", self.notice_kinds(first))
        self.assertTrue(first["kernel"]["state_lost"])
        self.assertEqual(second["notices"], [])
        self.assertFalse(second["kernel"]["state_lost"])

    def test_a_session_whose_kernel_lives_hears_nothing_of_anothers_loss(self):
        self.daemon.run("x = 1", session="living")
        self.daemon.run("x = 1", session="dying")
        dying = next(row for row in self.daemon.kernels() if row["session"] == "dying")
        self.daemon.kill()
        processes.end_all([processes.identify(dying["pid"])])
        self.daemon.start()

        self.assertEqual(self.notice_kinds(self.daemon.run("x", session="living")), ["reattached"])
        self.assertIn("restarted", self.notice_kinds(self.daemon.run("1", session="dying")))


if __name__ == "__main__":
    unittest.main()
