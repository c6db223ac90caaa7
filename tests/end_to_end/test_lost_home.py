"""A daemon whose home is removed or moved away ends and says why; what lies at its path afterwards is not touched."""

import shutil
import signal
import unittest

from holdfast_test import processes
from holdfast_test.cases import DaemonCase
from holdfast_test.daemon import DaemonEnded
from holdfast_test.waiting import wait_until

NOTICED_SECONDS = 5.0  # home_check is 500 ms; its end takes less than a second: the machine may be loaded
ENDED_SECONDS = 10.0  # kernels end within 1 s of the removal of their directories


def remove(home):
    """rm -rf, again while somebody still makes files in it."""

    def is_gone():
        shutil.rmtree(home, ignore_errors=True)
        return not home.exists()

    wait_until(is_gone, f"the end of {home}")


class LostHomeTest(DaemonCase):
    def setUp(self):
        super().setUp()
        self.kernel = self.daemon.run("x = 41")["kernel"]
        self.gate = self.daemon.directory / "gate"
        code = f"import os, time\nwhile not os.path.exists({str(self.gate)!r}): time.sleep(0.01)\nprint('through')\nx"
        self.client, self.pending = self.daemon.start_cell(code, "c1")
        wait_until(lambda: self.daemon.call("cell.get", cell="c1")["status"] == "running", "the start")

    def second_at_the_same_path(self):
        second = self.make_daemon()
        second.home = self.daemon.home
        return second

    def last_line(self):
        return self.daemon.printed().strip().splitlines()[-1]

    def test_a_removed_home_ends_its_daemon_which_says_why_and_leaves_no_process(self):
        self.daemon.run("1", session="another")
        started = self.daemon.processes()
        self.assertGreaterEqual(len(started), 4, "daemon, nursery and two kernels")

        remove(self.daemon.home)
        status = self.daemon.wait_ended(NOTICED_SECONDS)

        self.assertGreater(status, 0)
        self.assertIn(f"home {self.daemon.home} was removed", self.last_line())
        told = self.pending.result()
        self.assertFalse(told["final"], told)
        self.assertIn(f"home {self.daemon.home} was removed", told["kernel"]["note"])
        for identity in started:
            processes.wait_gone(identity, ENDED_SECONDS)
        self.assertEqual(self.daemon.processes(), [])
        self.assertFalse(self.daemon.home.exists(), "nothing may make it again")

    def test_a_fresh_home_at_the_path_of_a_removed_one_is_not_disturbed(self):
        remove(self.daemon.home)
        second = self.second_at_the_same_path()

        second.start()
        mine = second.run("y = 1; print('mine')")
        self.daemon.wait_ended(NOTICED_SECONDS)

        after = second.run("y")
        self.assert_ok(after, "1")
        self.assertEqual(after["kernel"]["pid"], mine["kernel"]["pid"])
        self.assertEqual(second.call("cell.output", cell=mine["cell"])["chunks"][0]["text"], "mine\n")
        with self.assertRaises(DaemonEnded) as third:
            self.second_at_the_same_path().start()
        self.assertIn(str(second.pid), third.exception.output)
        second.restart(crash=True)
        self.assert_ok(second.run("y"), "1")

    def test_a_moved_home_ends_its_daemon_and_has_its_kernels_where_it_is_now(self):
        elsewhere = self.daemon.directory / "elsewhere"
        nursery = self.daemon.nurseries()
        self.daemon.home.rename(elsewhere)

        status = self.daemon.wait_ended(NOTICED_SECONDS)

        self.assertGreater(status, 0)
        self.assertIn(f"home {self.daemon.home} was moved away", self.last_line())
        self.assertFalse(self.daemon.home.exists(), "nothing may make it again")
        self.daemon.home = elsewhere
        self.daemon.start()
        self.gate.touch()
        result = self.daemon.call("cell.wait", cell="c1")
        self.assert_ok(result, "41")
        self.assertEqual(result["stdout"], "through\n")
        after = self.daemon.run("x + 1")
        self.assert_ok(after, "42")
        self.assertEqual((after["kernel"]["pid"], after["kernel"]["state_lost"]), (self.kernel["pid"], False))
        self.assert_ok(self.daemon.run("1", session="another"), "1")
        self.assertEqual(self.daemon.nurseries(), nursery)

    def test_a_home_moved_away_and_replaced_serves_both_from_then_on(self):
        elsewhere = self.daemon.directory / "elsewhere"
        self.daemon.home.rename(elsewhere)
        second = self.second_at_the_same_path()

        second.start()
        second.run("y = 1")
        self.daemon.wait_ended(NOTICED_SECONDS)

        self.daemon.home = elsewhere
        self.daemon.start()
        self.gate.touch()
        self.assert_ok(self.daemon.call("cell.wait", cell="c1"), "41")
        self.assert_ok(second.run("y"), "1")

    def test_a_run_that_waits_does_not_run_its_cell_again_in_a_fresh_home(self):
        effects = self.daemon.directory / "effects"
        code = f"import time\nopen({str(effects)!r}, 'a').write('ran')\nprint('begun', flush=True)\nwhile True: time.sleep(0.01)"
        command = self.daemon.start_command("run", "-s", "waiting", code)
        self.assertEqual(command.stdout.readline(), "begun\n")
        command.send_signal(signal.SIGSTOP)
        self.daemon.kill()
        remove(self.daemon.home)

        command.send_signal(signal.SIGCONT)
        _, complaint = command.communicate(timeout=30)

        self.assertEqual(command.returncode, 4, complaint)
        self.assertIn("no session waiting", complaint)
        self.assertEqual(effects.read_text(), "ran")

    def test_a_daemon_without_its_lock_file_ends_before_two_serve_one_home(self):
        (self.daemon.home / "lock").unlink()

        self.assertGreater(self.daemon.wait_ended(NOTICED_SECONDS), 0)

        self.assertIn("the file lock in it", self.last_line())
        self.daemon.start()
        self.gate.touch()
        self.assert_ok(self.daemon.call("cell.wait", cell="c1"), "41")


if __name__ == "__main__":
    unittest.main()
