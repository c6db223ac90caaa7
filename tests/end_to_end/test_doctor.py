"""`holdfast doctor`: what it finds of a home, a daemon, a python and leftovers, that it exits by that, and that it changes nothing."""

import json
import os
import signal
import unittest

from holdfast_test import processes
from holdfast_test.cases import DaemonCase

AN_HOUR = 3600


class DoctorCase(DaemonCase):
    """A home without a daemon."""

    def setUp(self):
        self.daemon = self.make_daemon()

    def doctor(self, *arguments, **options):
        done = self.daemon.command("--json", "doctor", *arguments, **options)
        report = json.loads(done.stdout)
        self.assertEqual(report["well"], done.returncode == 0, done.stdout)
        self.assertIn(done.returncode, (0, 4), done.stderr)
        for each in report["checks"]:
            self.assertEqual(each["advice"] is None, each["state"] == "ok", each)
        return report["checks"]

    def found(self, check, *arguments, **options):
        """State and text of a check; of several of that name the first that is not well."""
        named = [each for each in self.doctor(*arguments, **options) if each["check"] == check]
        self.assertTrue(named, check)
        worst = [each for each in named if each["state"] != "ok"] or named
        return worst[0]["state"], worst[0]["text"]


class HomeTest(DoctorCase):
    def test_a_fresh_home_is_well_and_stays_empty(self):
        done = self.daemon.command("doctor")

        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("ok     home       ", done.stdout)
        self.assertIn("none runs", done.stdout)
        self.assertEqual(list(self.daemon.home.iterdir()), [])

    def test_a_home_that_is_not_there_is_not_made(self):
        missing = self.daemon.directory / "missing" / "home"

        state, text = self.found("home", "--home", str(missing))

        self.assertEqual(state, "note", text)
        self.assertFalse(missing.parent.exists())

    def test_a_home_that_others_may_enter_is_wrong(self):
        self.daemon.home.chmod(0o755)
        (self.daemon.home / "config.toml").touch()

        state, text = self.found("home")

        self.assertEqual(state, "wrong")
        self.assertIn("mode 0755, wanted 0700", text)
        self.assertEqual(self.daemon.home.stat().st_mode & 0o777, 0o755)

    def test_a_setting_that_no_daemon_takes_is_wrong_and_the_rest_is_looked_at(self):
        (self.daemon.home / "config.toml").write_text("max_kernel = 3\n")

        self.assertEqual(self.found("settings")[0], "wrong")
        self.assertEqual(self.found("python")[0], "ok")


class PythonTest(DoctorCase):
    def test_the_interpreter_is_run_and_told(self):
        state, text = self.found("python")

        self.assertEqual(state, "ok")
        self.assertRegex(text, r"python3 \(/.*\) is 3\.\d+\.\d+$")

    def test_one_that_is_missing_or_no_python_is_wrong(self):
        for python, part in (("/no/such/python", "is not there"), ("/bin/false", "ended with 1"), ("/bin/cat", "")):
            with self.subTest(python=python):
                state, text = self.found("python", environment={"HOLDFAST_PYTHON": python})

                self.assertEqual(state, "wrong")
                self.assertIn(part, text)

    def test_a_module_of_preload_that_is_missing_is_named(self):
        state, text = self.found("python", environment={"HOLDFAST_PRELOAD": "json,no_such_module"})

        self.assertEqual(state, "wrong")
        self.assertIn("no_such_module: No module named 'no_such_module'", text)


class DaemonTest(DoctorCase):
    def test_a_running_daemon_and_its_kernels_are_well(self):
        self.daemon.start()
        self.daemon.run("1")

        self.assertEqual(self.found("daemon"), ("ok", f"pid {self.daemon.pid} answers"))
        self.assertEqual(self.found("leftovers"), ("ok", "none"))

    def test_a_daemon_that_is_stopped_in_its_tracks_is_named_within_the_limit(self):
        self.daemon.start()
        self.daemon.process.send_signal(signal.SIGSTOP)
        self.addCleanup(self.daemon.process.send_signal, signal.SIGCONT)

        state, text = self.found("daemon")

        self.assertEqual(state, "wrong")
        self.assertIn(f"pid {self.daemon.pid} has the home and does not answer", text)

    def test_after_a_kill_the_kernels_are_told_and_nothing_is_wrong(self):
        self.daemon.start()
        self.daemon.run("x = 1")
        kernel = self.daemon.call("kernel.list")["items"][0]
        self.daemon.kill()

        self.assertEqual(self.found("daemon")[0], "note")
        self.assertEqual(self.found("leftovers"), ("note", f"1 kernel lives on without a daemon: pid {kernel['pid']}"))

        processes.end_all([processes.identify(kernel["pid"])])
        self.assertEqual(self.found("leftovers"), ("note", "1 kernel ended without a daemon"))
        self.daemon.start()
        self.assertEqual(self.daemon.run("1")["kernel"]["reason"], "died")

    def test_a_directory_that_nobody_knows_is_wrong_once_it_is_a_minute_old(self):
        self.daemon.start()
        self.daemon.run("1")
        stray = self.daemon.home / "run" / "k-01M0000000000000000000000A"
        stray.mkdir(mode=0o700)
        self.assertEqual(self.found("leftovers"), ("ok", "none"))

        os.utime(stray, (stray.stat().st_mtime - AN_HOUR,) * 2)

        self.assertEqual(self.found("leftovers"), ("wrong", f"directories of kernels that nobody knows: run/{stray.name}"))
        self.assertTrue(stray.exists())

    def test_a_process_in_a_directory_that_the_daemon_does_not_know_is_wrong(self):
        self.daemon.start()
        stray = self.daemon.home / "run" / "k-01M0000000000000000000000A"
        stray.mkdir(mode=0o700)
        descriptor = os.open(stray, os.O_RDONLY | os.O_DIRECTORY)  # as a kernel has its own
        self.addCleanup(os.close, descriptor)
        os.utime(stray, (stray.stat().st_mtime - AN_HOUR,) * 2)

        state, text = self.found("leftovers")

        self.assertEqual((state, text), ("wrong", f"kernel {stray.name} runs and the daemon does not know it: pid {os.getpid()}"))
        stray.rmdir()
        self.assertEqual(
            self.found("leftovers"), ("wrong", f"processes run whose directory in this home is gone: pid {os.getpid()}")
        )

    def test_it_changes_no_file_of_the_home(self):
        self.daemon.start()
        self.daemon.run("1")
        self.daemon.stop()
        before = self.listing()

        self.doctor()

        self.assertEqual(self.listing(), before)

    def listing(self):
        """Sizes and times of all that changes by a write; kernel and nursery live and log."""
        living = {"run", "nursery"}
        files = [path for path in sorted(self.daemon.home.rglob("*")) if path.relative_to(self.daemon.home).parts[0] not in living]
        return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in files if path.is_file()}


if __name__ == "__main__":
    unittest.main()
