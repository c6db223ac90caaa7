"""A home that is moved between two daemons keeps its kernels; what they write lies where it is now."""

import unittest

from holdfast_test import processes
from holdfast_test.homes import HomeCase
from holdfast_test.waiting import wait_until


class MovedHomeTest(HomeCase):
    def move(self):
        """The daemon's home is elsewhere from now on; where it was."""
        before = self.daemon.home
        self.daemon.home = self.daemon.directory / "elsewhere"
        before.rename(self.daemon.home)
        return before

    def end_jobs(self):
        self.assert_ok(self.daemon.run("for each in (job, kept):\n    each.stop()\n    await each"))

    def test_moved_between_two_daemons_it_keeps_kernel_variables_jobs_and_the_running_cell(self):
        self.start_gated()
        self.daemon.kill()
        self.move()
        self.daemon.start()

        self.gate.touch()

        self.assertNotIn("of another daemon's home", self.daemon.log())
        self.assert_ok(self.daemon.call("cell.wait", cell="gated"), "42")
        self.assert_original_goes_on("42")

    def test_what_its_kernel_saves_at_its_grace_lies_in_the_home_where_it_is_now(self):
        self.daemon.restart(HOLDFAST_GRACE_SECONDS="2")
        self.end_jobs()
        self.daemon.kill()
        before = self.move()
        processes.wait_gone(self.started[0], 20)
        self.daemon.start()

        result = self.daemon.run("x")

        self.assert_ok(result, "41")
        self.assertTrue(result["kernel"]["restored"], result["kernel"])
        self.assertFalse(before.exists(), "nothing may make it again")

    def test_nothing_of_its_kernel_is_saved_in_another_home_in_its_old_place(self):
        self.daemon.restart(HOLDFAST_GRACE_SECONDS="3")
        self.end_jobs()
        self.daemon.kill()
        other = self.make_daemon()
        other.home.rmdir()
        other.home = self.move()
        other.home.mkdir(mode=0o700)
        other.start()
        other.run("y = 1")  # its first session, as the kernel's is in the home that was moved
        processes.wait_gone(self.started[0], 20)

        self.assertEqual(list((other.home / "state").iterdir()), [])

        other.call("session.reset")
        self.assert_ok(other.run("'x' in globals()"), "False")
        self.daemon.start()
        self.assert_ok(self.daemon.run("x"), "41")

    def test_how_its_kernel_ended_is_written_where_it_is_now(self):
        self.daemon.kill()
        self.move()
        kernel, job, kept, nursery = self.started
        processes.end_all([kernel])
        wait_until(lambda: list(self.daemon.home.glob("run/*/exit")), "the exit file")
        processes.wait_gone(job)
        processes.end_all([nursery])  # nobody else knows any more
        self.daemon.start()

        (told,) = (notice for notice in self.daemon.run("1")["notices"] if notice["kind"] == "restarted")

        self.assertIn("SIGKILL", told["text"])
        self.assertTrue(processes.is_alive(kept))

    def test_its_session_is_forked_and_its_kernels_are_rebuilt_where_it_is_now(self):
        self.daemon.kill()
        self.move()
        self.daemon.start()
        self.assert_ok(self.daemon.run("x"), "41")

        self.daemon.call("session.fork", into="copy")
        self.assert_ok(self.daemon.run("x", session="copy"), "41")
        closed = self.daemon.run("import os\nfor fd in (1, 2): os.close(fd)\nos.closerange(3, 900)\nprint('on')\nx")
        self.assert_ok(closed, "41")
        self.assert_ok(self.daemon.run("print('heard')\nx"), "41")
        self.daemon.restart(crash=True)
        self.assert_original_goes_on("41")


if __name__ == "__main__":
    unittest.main()
