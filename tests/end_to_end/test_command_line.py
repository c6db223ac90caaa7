"""The command line: what each command prints and with which code it exits."""

import json
import unittest

from holdfast_test.cases import DaemonCase
from holdfast_test.daemon import binary
from holdfast_test.waiting import wait_until


class CommandCase(DaemonCase):
    """A home without a daemon: the first command that needs one starts it."""

    def setUp(self):
        self.daemon = self.make_daemon()

    def holdfast(self, *arguments, **options):
        return self.daemon.command(*arguments, **options)

    def assert_exit(self, done, code):
        self.assertEqual(done.returncode, code, f"{done.args}\n{done.stdout}\n{done.stderr}")

    def assert_prints(self, done, stdout):
        self.assert_exit(done, 0)
        self.assertEqual(done.stdout, stdout, done.stderr)


class RunTest(CommandCase):
    def test_run_starts_a_daemon_when_none_answers_and_variables_are_kept(self):
        self.assert_prints(self.holdfast("run", "x = 41"), "")
        first = self.daemon.serving()

        self.assert_prints(self.holdfast("run", "x + 1"), "42\n")

        self.assertIsNotNone(first)
        self.assertEqual(self.daemon.serving(), first)

    def test_two_runs_at_once_start_one_daemon(self):
        both = [self.daemon.start_command("run", "-s", f"s{number}", "1") for number in range(2)]

        ended = [process.communicate(timeout=60) + (process.returncode,) for process in both]

        self.assertEqual([(stdout, code) for stdout, _, code in ended], [("1\n", 0)] * 2, ended)
        self.assertEqual(len(self.daemon.kernels()), 2)
        serving = self.daemon.serving()
        daemons = [identity for identity in self.daemon.processes() if b"serve" in command_words(identity.pid)]
        self.assertEqual(daemons, [serving])

    def test_output_comes_while_the_cell_runs(self):
        gate = self.daemon.directory / "gate"
        code = f"import os, time\nprint('first')\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.01)\nprint('second')\n7"
        process = self.daemon.start_command("run", code)

        self.assertEqual(process.stdout.readline(), "first\n")
        self.assertIsNone(process.poll())
        gate.touch()
        stdout, stderr = process.communicate(timeout=30)

        self.assertEqual((stdout, process.returncode), ("second\n7\n", 0), stderr)

    def test_stderr_of_the_cell_goes_to_stderr(self):
        done = self.holdfast("run", "import sys; print('out'); print('err', file=sys.stderr)")

        self.assert_prints(done, "out\n")
        self.assertIn("err\n", done.stderr)

    def test_code_comes_from_a_file_or_from_standard_input(self):
        path = self.daemon.directory / "code.py"
        path.write_text("print('from file')")

        self.assert_prints(self.holdfast("run", "-f", str(path)), "from file\n")
        self.assert_prints(self.holdfast("run", "-", given="print('from stdin')"), "from stdin\n")

    def test_a_fresh_session_gets_the_callers_directory_path_and_variables(self):
        workspace = self.daemon.directory / "workspace"
        workspace.mkdir()

        done = self.holdfast("run", "-e", "MINE=a=b", "import os; print(os.getcwd(), os.environ['MINE'])", cwd=workspace)

        self.assert_prints(done, f"{workspace} a=b\n")

    def test_the_same_cell_given_twice_runs_once_and_shows_the_same(self):
        path = self.daemon.directory / "effects"
        arguments = ("run", "--cell", "build-7", f"open({str(path)!r}, 'a').write('ran\\n'); print('out'); 7")

        first, second = self.holdfast(*arguments), self.holdfast(*arguments)

        self.assert_prints(first, "out\n7\n")
        self.assert_prints(second, "out\n7\n")
        self.assertEqual(path.read_text(), "ran\n")

    def test_150_kilobytes_are_shown_whole(self):
        self.assert_prints(self.holdfast("run", "for n in range(1500): print(f'{n:04}', 'x' * 94)"),
                           "".join(f"{n:04} {'x' * 94}\n" for n in range(1500)))  # fmt: skip

    def test_reset_and_sessions_of_their_own(self):
        self.holdfast("run", "x = 1")

        self.assert_exit(self.holdfast("run", "-s", "other", "x"), 1)
        self.assert_exit(self.holdfast("run", "--reset", "x"), 1)


class ExitCodeTest(CommandCase):
    def setUp(self):
        super().setUp()
        self.daemon.start()

    def test_zero_for_ok_and_for_accepted(self):
        self.assert_exit(self.holdfast("run", "1"), 0)
        detached = self.holdfast("run", "--detach", "import time; time.sleep(0.3); 7")

        self.assert_exit(detached, 0)
        self.assert_prints(self.holdfast("wait", detached.stdout.strip()), "7\n")

    def test_one_for_an_error_with_its_traceback(self):
        done = self.holdfast("run", "def f(): return 1/0\nf()")

        self.assert_exit(done, 1)
        self.assertIn("ZeroDivisionError", done.stderr)
        self.assertIn("return 1/0", done.stderr)

    def test_two_for_usage(self):
        for arguments in (("run",), ("no-such-command",), ("run", "--no-such-option", "1"), ("run", "-s", "not a name", "1")):
            with self.subTest(arguments):
                done = self.holdfast(*arguments)
                self.assert_exit(done, 2)
                self.assertTrue(done.stderr)

    def test_four_for_refused(self):
        self.holdfast("run", "--cell", "c1", "1")

        done = self.holdfast("run", "--cell", "c1", "2")

        self.assert_exit(done, 4)
        self.assertIn("c1", done.stderr)
        self.assert_exit(self.holdfast("cell", "never"), 4)

    def test_five_for_lost_naming_the_cause(self):
        done = self.holdfast("run", "print('before'); import os; os._exit(3)")

        self.assert_exit(done, 5)
        self.assertEqual(done.stdout, "before\n")
        self.assertIn("exited 3", done.stderr)

    def test_124_for_the_deadline(self):
        self.assert_exit(self.holdfast("run", "--timeout", "0.5", "import time; time.sleep(60)"), 124)

    def test_130_for_interrupted(self):
        process = self.daemon.start_command("run", "print('before', flush=True)\nimport time; time.sleep(60)")
        self.assertEqual(process.stdout.readline(), "before\n")

        self.assert_exit(self.holdfast("interrupt"), 0)

        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130)

    def test_an_exit_gives_the_cells_own_code(self):
        self.assert_exit(self.holdfast("run", "import sys; sys.exit(7)"), 7)
        self.assert_exit(self.holdfast("run", "import sys; sys.exit(0)"), 0)


class NoServiceTest(CommandCase):
    def test_three_when_no_daemon_answers(self):
        for arguments in (("status",), ("cells",), ("kernels",), ("cell", "c1"), ("interrupt",)):
            with self.subTest(arguments):
                done = self.holdfast(*arguments)
                self.assert_exit(done, 3)
                self.assertTrue(done.stderr)

    def test_three_when_none_can_be_started(self):
        (self.daemon.home / "config.toml").write_text("no_such_key = 1\n")

        done = self.holdfast("run", "1")

        self.assert_exit(done, 3)
        self.assertIn("no_such_key", done.stderr)


class OtherCommandsTest(CommandCase):
    def setUp(self):
        super().setUp()
        self.daemon.start()
        self.holdfast("run", "--cell", "c1", "print('out'); 42")

    def document(self, *arguments):
        done = self.holdfast("--json", *arguments)
        self.assert_exit(done, 0)
        return json.loads(done.stdout)

    def test_json_is_one_document_for_each_command(self):
        self.assertEqual(self.document("run", "print('x'); 1")["value"], "1")
        self.assertEqual(self.document("cell", "c1")["stdout"], "out\n")
        self.assertEqual(self.document("wait", "c1")["value"], "42")
        self.assertEqual(self.document("status")["pid"], self.daemon.pid)
        self.assertEqual(self.document("session")["session"], "default")
        for command in ("cells", "sessions", "kernels", "notices"):
            self.assertIsInstance(self.document(command), (list, dict), command)
        for command in ("logs", "events"):
            self.document(command, *(["c1"] if command == "logs" else []))

    def test_json_of_an_error_is_one_document_too(self):
        done = self.holdfast("--json", "run", "--cell", "c1", "other")

        self.assert_exit(done, 4)
        self.assertIn("cell_conflict", done.stdout + done.stderr)
        json.loads(done.stdout or done.stderr)

    def test_lists_show_what_there_is(self):
        kernel = self.daemon.kernels()[0]

        self.assertIn("c1", self.holdfast("cells").stdout)
        self.assertIn("default", self.holdfast("sessions").stdout)
        for command in ("kernels", "ps"):
            self.assertIn(kernel["kernel"], self.holdfast(command).stdout)
        self.assertIn(str(kernel["pid"]), self.holdfast("kernel", kernel["kernel"]).stdout)

    def test_status_pid_is_just_the_pid(self):
        self.assert_prints(self.holdfast("status", "--pid"), f"{self.daemon.pid}\n")

    def test_logs_show_output_and_follow_a_running_cell(self):
        self.assert_prints(self.holdfast("logs", "c1"), "out\n")
        self.holdfast("run", "--detach", "--cell", "c2", "import time\nfor n in range(3): print(n, flush=True); time.sleep(0.2)")

        self.assert_prints(self.holdfast("logs", "-f", "c2"), "0\n1\n2\n")

    def test_reset_close_and_kernel_stop(self):
        self.holdfast("run", "x = 1")
        self.assert_exit(self.holdfast("reset"), 0)
        self.assert_exit(self.holdfast("run", "x"), 1)
        kernel = self.daemon.kernels()[0]["kernel"]
        self.assert_exit(self.holdfast("kernel", kernel, "--stop"), 0)
        self.assertEqual(self.daemon.kernels(), [])
        self.assert_exit(self.holdfast("close"), 0)
        self.assert_exit(self.holdfast("session"), 4)

    def test_stop_says_how_many_kernels_live_on(self):
        done = self.holdfast("stop")

        self.assert_exit(done, 0)
        self.assertIn("1 kernel", done.stdout + done.stderr)
        self.daemon.wait_ended()

    def test_help_and_version(self):
        for arguments in (("--help",), ("run", "--help"), ("help", "run"), ("--version",)):
            done = self.holdfast(*arguments)
            self.assert_exit(done, 0)
            self.assertTrue(done.stdout)


class FromWithinACellTest(CommandCase):
    def test_a_daemon_started_from_a_cell_outlives_that_cells_kernel(self):
        self.daemon.start()
        other = self.make_daemon()
        code = (
            "import os, subprocess\n"
            f"variables = {{**os.environ, **{other.clean_environment()!r}}}\n"
            f"subprocess.run([{binary()!r}, 'run', 'x = 41'], env=variables).returncode"
        )

        result = self.daemon.run(code)
        self.assert_ok(result, "0")
        self.daemon.call("session.close")
        wait_until(lambda: not self.daemon.run_directories(), "the end of the starting kernel")

        self.assertIsNotNone(other.serving())
        self.assertEqual(other.run("x + 1")["value"], "42")


def command_words(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read().split(b"\0")


if __name__ == "__main__":
    unittest.main()
