"""One daemon per home, wherever the home is; what a killed one left behind is no obstacle."""

import unittest

from holdfast_test.cases import DaemonCase
from holdfast_test.daemon import Daemon, DaemonEnded


class OneDaemonTest(DaemonCase):
    def second_on_the_same_home(self):
        second = Daemon()
        self.addCleanup(second.close)
        second.home = self.daemon.home
        return second

    def test_a_second_daemon_on_a_home_refuses_and_names_the_first_ones_pid(self):
        with self.assertRaises(DaemonEnded) as caught:
            self.second_on_the_same_home().start()

        self.assertNotEqual(caught.exception.returncode, 0)
        self.assertIn(str(self.daemon.pid), caught.exception.output)

    def test_the_refused_one_takes_nothing_from_the_first(self):
        self.daemon.run("x = 1")
        with self.assertRaises(DaemonEnded):
            self.second_on_the_same_home().start()

        self.assert_ok(self.daemon.run("x"), "1")

    def test_what_a_sigkill_leaves_behind_is_no_obstacle(self):
        self.daemon.run("x = 1")
        self.daemon.kill()
        self.assertTrue(self.daemon.socket_path.exists(), "the killed daemon's socket file is the leftover meant here")

        self.daemon.start()

        self.assert_ok(self.daemon.run("x"), "1")

    def test_kernels_do_not_hold_the_lock_of_a_daemon_that_is_gone(self):
        self.daemon.run("import subprocess; child = subprocess.Popen(['sleep', '600'])")

        self.daemon.restart(crash=True)

        self.assert_ok(self.daemon.run("child.poll() is None"), "True")

    def test_a_graceful_stop_leaves_no_socket(self):
        self.daemon.stop()

        self.assertFalse(self.daemon.socket_path.exists())

    def test_two_homes_know_nothing_of_each_other(self):
        other = self.make_daemon()
        other.start()
        self.daemon.run("x = 1")
        other.run("y = 1")

        self.assertEqual(len(self.daemon.kernels()), 1)
        self.assertEqual(len(other.kernels()), 1)
        self.assertEqual(other.run("'x' in globals()")["value"], "False")


class LongHomeTest(DaemonCase):
    def setUp(self):
        # Longer than a unix socket's path may be (107 bytes), in pieces that a file system takes.
        name = "/".join(["long" * 25] * 3)
        self.daemon = self.make_daemon(home_name=name)
        self.assertGreaterEqual(len(str(self.daemon.home)), 300)
        self.daemon.start()

    def test_a_home_of_300_characters_runs_cells_and_survives_a_crash(self):
        self.daemon.run("x = 41")
        self.daemon.restart(crash=True)

        self.assert_ok(self.daemon.run("x + 1"), "42")


class StatusTest(DaemonCase):
    def test_status_tells_who_serves_which_home(self):
        self.daemon.run("1")

        status = self.daemon.call("status")

        self.assertEqual(status["pid"], self.daemon.pid)
        self.assertEqual(status["home"], str(self.daemon.home))
        self.assertEqual(status["attaching"], 0)
        self.assertEqual(sum(status["kernels"].values()), 1)
        self.assertTrue(str(status["protocol"]).startswith("1"), status)
        self.assertRegex(status["started_at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertIn("version", status)
        self.assertIn("limits", status)

    def test_a_daemon_prints_nothing_on_stdout_but_logs_to_its_file(self):
        self.daemon.run("print('secret words'); 1")

        self.assertIn(str(self.daemon.pid), self.daemon.log())
        self.assertNotIn("secret words", self.daemon.log() + self.daemon.printed())


class ConfigurationTest(DaemonCase):
    def setUp(self):
        self.daemon = self.make_daemon()

    def refused(self, text):
        (self.daemon.home / "config.toml").write_text(text)
        with self.assertRaises(DaemonEnded) as caught:
            self.daemon.start()
        self.assertNotEqual(caught.exception.returncode, 0)
        return caught.exception.output

    def test_an_unknown_key_is_refused_with_file_line_and_key(self):
        output = self.refused("# a comment\nno_such_key = 1\n")

        self.assertIn("config.toml", output)
        self.assertIn("no_such_key", output)
        self.assertRegex(output, r"\b2\b")

    def test_a_bad_value_is_refused_with_its_key(self):
        self.assertIn("cell_timeout_seconds", self.refused('cell_timeout_seconds = "soon"\n'))

    def test_a_key_takes_effect_and_the_environment_wins_over_it(self):
        (self.daemon.home / "config.toml").write_text('pass_env = ["FROM_FILE"]\n')
        self.daemon.start(FROM_FILE="1")
        self.assert_ok(self.daemon.run("import os; os.environ.get('FROM_FILE')"), "'1'")
        self.daemon.call("session.close")
        self.daemon.restart(FROM_FILE="1", FROM_ENVIRONMENT="2", HOLDFAST_PASS_ENV="FROM_ENVIRONMENT")

        result = self.daemon.run("import os; (os.environ.get('FROM_FILE'), os.environ.get('FROM_ENVIRONMENT'))")

        self.assert_ok(result, "(None, '2')")


if __name__ == "__main__":
    unittest.main()
