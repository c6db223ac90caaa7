"""What the command line says where silence or a bare fact would mislead."""

import json
import os
import signal
import unittest

from holdfast_test.waiting import wait_until
from test_command_line import CommandCase


class QueuedCellTest(CommandCase):
    """One cell runs until its file is there; others wait behind it."""

    def setUp(self):
        super().setUp()
        self.gate = self.daemon.directory / "gate"
        code = f"import os, time\nwhile not os.path.exists({str(self.gate)!r}): time.sleep(0.01)"
        self.assert_exit(self.holdfast("run", "--detach", "--cell", "ahead", code), 0)
        wait_until(lambda: self.daemon.call("cell.get", cell="ahead")["status"] == "running", "the start of the first cell")

    def test_a_run_behind_a_busy_cell_says_what_it_waits_for_and_ends_as_ever(self):
        behind = self.daemon.start_command("run", "6 * 7")

        self.assertEqual(behind.stderr.readline(), "[queued behind cell ahead; ^C takes it back]\n")
        self.gate.touch()
        stdout, stderr = behind.communicate(timeout=30)

        self.assertEqual((stdout, behind.returncode), ("42\n", 0))
        self.assertIn("[cell_finished: cell ahead has ended (ok)", stderr)  # it ran without anybody who waits

    def test_an_interrupt_takes_a_queued_cell_back_before_it_starts(self):
        behind = self.daemon.start_command("run", "--cell", "behind", "6 * 7")
        behind.stderr.readline()  # queued

        behind.send_signal(signal.SIGINT)
        stdout, stderr = behind.communicate(timeout=30)

        self.assertEqual((stdout, stderr, behind.returncode), ("", "[cell behind: interrupted before it started]\n", 130))
        self.gate.touch()

    def test_a_stop_tells_a_queued_cell_from_a_running_one(self):
        behind = self.daemon.start_command("run", "--cell", "behind", "6 * 7")
        behind.stderr.readline()  # queued

        self.assert_exit(self.holdfast("stop"), 0)
        _, stderr = behind.communicate(timeout=30)

        self.assertEqual(behind.returncode, 6)
        self.assertIn("[the daemon has ended; the cell is queued and starts when a daemon runs again]\n", stderr)
        self.gate.touch()
        self.assert_prints(self.holdfast("wait", "behind"), "42\n")


class PlaceTest(CommandCase):
    def test_a_cell_of_another_session_is_looked_for_there(self):
        self.assert_exit(self.holdfast("run", "1"), 0)
        self.assert_exit(self.holdfast("run", "-s", "other", "--cell", "c1", "1"), 0)

        for command in ("wait", "logs", "cell"):
            with self.subTest(command):
                done = self.holdfast(command, "c1")
                self.assert_exit(done, 4)
                self.assertTrue(done.stderr.endswith("; if it ran elsewhere: -s SESSION\n"), done.stderr)
                self.assert_exit(self.holdfast(command, "-s", "other", "c1"), 0)

    def test_close_names_the_session_that_is_gone(self):
        self.assert_exit(self.holdfast("run", "-s", "s1", "1"), 0)

        self.assert_prints(self.holdfast("close", "s1"), "closed session s1\n")

    def test_a_home_that_cannot_be_has_no_log_to_look_at(self):
        done = self.holdfast("--home", "/dev/null", "run", "1")

        self.assert_exit(done, 3)
        self.assertIn("/dev/null", done.stderr)
        self.assertNotIn("daemon.log", done.stderr)


class UnwrittenOutputTest(CommandCase):
    code = "display('a display')\n1"

    def setUp(self):
        super().setUp()
        self.assert_exit(self.holdfast("run", "--cell", "shown", self.code), 0)
        self.assert_exit(self.holdfast("run", "--cell", "printed", "print('text')"), 0)

    def test_an_answer_that_finds_no_room_is_told_and_has_a_code_of_its_own(self):
        for words in (
            ("kernels",),
            ("--json", "cells"),
            ("cell", "shown"),
            ("display", "shown", "0"),
            ("logs", "printed"),
            ("run", "--cell", "shown", self.code),
            ("run", "--help"),
        ):
            with self.subTest(words), open("/dev/full", "w") as full:
                done = self.holdfast(*words, stdout=full)
                self.assert_exit(done, 7)
                self.assertEqual(done.stderr.splitlines()[-1], "holdfast: cannot write standard output: No space left on device")

    def test_a_run_whose_output_finds_no_room_says_why_it_waits_no_longer(self):
        with open("/dev/full", "w") as full:
            done = self.holdfast("run", "import time\nprint(1)\ntime.sleep(0.5)", stdout=full)

        self.assert_exit(done, 6)
        self.assertIn("come back with: holdfast wait", done.stderr)
        self.assertIn("cannot write standard output: No space left on device", done.stderr)

    def test_what_a_closed_descriptor_would_have_shown_is_sent_to_no_daemon(self):
        daemon = self.daemon.serving()
        request = '{"jsonrpc": "2.0", "id": 1, "method": "shutdown"}'
        for number, stream in ((1, "stdout"), (2, "stderr")):
            self.assert_exit(self.holdfast("run", "--cell", stream, f"import sys\nprint({request!r}, file=sys.{stream})"), 0)
            with self.subTest(stream):
                done = self.holdfast("logs", stream, preexec_fn=lambda: os.close(number))

                self.assert_exit(done, 7 if number == 1 else 0)
                self.assertEqual(self.daemon.serving(), daemon)
                self.assertIn("Bad file descriptor" if number == 1 else "", done.stderr)

    def test_a_reader_that_has_gone_is_no_failure(self):
        for words in (("kernels",), ("display", "shown", "0"), ("logs", "printed")):
            with self.subTest(words):
                reader, writer = os.pipe()
                os.close(reader)
                try:
                    done = self.holdfast(*words, stdout=writer)
                finally:
                    os.close(writer)
                self.assert_exit(done, 0)
                self.assertEqual(done.stderr, "")


class DisplayTest(CommandCase):
    def test_a_display_that_is_missing_is_not_looked_for_in_another_session(self):
        self.assert_exit(self.holdfast("run", "--cell", "c1", "display(1)"), 0)

        for words in (("c1", "9"), ("c1", "0", "--mime", "image/png")):
            done = self.holdfast("display", *words)
            self.assert_exit(done, 4)
            self.assertNotIn("ran elsewhere", done.stderr)


class VariablesTest(CommandCase):
    def test_a_hibernated_session_is_not_said_to_have_none(self):
        self.assert_exit(self.holdfast("run", "x = 1"), 0)
        self.assert_exit(self.holdfast("kernel", self.daemon.kernels()[0]["kernel"], "--stop"), 0)

        done = self.holdfast("variables")

        self.assert_exit(done, 0)
        self.assertIn("saved ones of a hibernated session are there again for its next cell", done.stderr)


class RefusalTest(CommandCase):
    def test_advice_names_commands_and_not_methods(self):
        room_for_one = {"HOLDFAST_MAX_KERNELS_HARD": "1", "HOLDFAST_ADMISSION_TIMEOUT_SECONDS": "4"}
        busy = ("run", "--detach", "--cell", "busy", "import time; time.sleep(60)")
        self.assert_exit(self.holdfast(*busy, environment=room_for_one), 0)
        wait_until(lambda: self.daemon.call("cell.get", cell="busy")["status"] == "running", "the start of the first cell")

        done = self.holdfast("run", "-s", "other", "1")

        self.assert_exit(done, 4)
        self.assertTrue(done.stderr.endswith("end one with holdfast reset or holdfast close\n"), done.stderr)
        self.assert_exit(self.holdfast("interrupt"), 0)

    def test_a_kernel_and_a_job_that_are_not_there_are_told_alike_when_shown_and_stopped(self):
        self.assert_exit(self.holdfast("run", "1"), 0)

        for word, name in (("kernel", "k-1"), ("job", "j-1")):
            with self.subTest(word):
                shown, stopped = self.holdfast(word, name), self.holdfast(word, name, "--stop")
                self.assert_exit(shown, 4)
                self.assertEqual(shown.stderr, f"holdfast: no {word} {name}; holdfast {word}s shows what there is\n")
                self.assertEqual(shown.stderr, stopped.stderr)


class EncodingTest(CommandCase):
    """Text that cannot go into a request is refused before any is sent, and before a daemon is started for it."""

    def assert_refused(self, done, name):
        self.assert_exit(done, 2)
        self.assertIn(name, done.stderr)
        self.assertIn("UTF-8", done.stderr)
        self.assertIsNone(self.daemon.serving())

    def test_an_argument_is_named(self):
        for arguments, name in (
            (("run", "-s", b"\xe9", "1"), "--session"),
            (("run", "-e", b"A=\xe9", "1"), "--env"),
            (("run", "--python", b"\xe9", "1"), "--python"),
            (("wait", b"\xe9"), "CELL"),
        ):
            with self.subTest(name):
                self.assert_refused(self.holdfast(*arguments), name)

    def test_the_working_directory_is_named(self):
        directory = os.path.join(os.fsencode(self.daemon.directory), b"caf\xe9")
        os.mkdir(directory)

        self.assert_refused(self.holdfast("run", "1", cwd=directory), "caf\\xe9")

    def test_path_is_named(self):
        self.assert_refused(self.holdfast("run", "1", environment={"PATH": b"/usr/bin:/caf\xe9"}), "PATH")


class AdviceTest(CommandCase):
    def test_advice_of_the_daemon_names_options_of_the_command_line(self):
        refused = self.holdfast("run", "-s", "s1", "--python", "/no/python", "1")

        self.assert_exit(refused, 4)
        self.assertEqual(refused.stderr, "holdfast: cannot find the interpreter /no/python; name one with --python\n")


class ManyRowsTest(CommandCase):
    environment = {"HOLDFAST_KEEP_CELLS": "2000"}

    def test_a_list_goes_on_over_any_number_of_pages(self):
        self.daemon.start()
        client = self.daemon.connect()
        for first in range(0, 1010, 50):
            for pending in [client.send("run", code="1", cell=f"c{number}") for number in range(first, min(first + 50, 1010))]:
                pending.result()

        usual = self.holdfast("cells")
        many = self.holdfast("cells", "--limit", "1005")
        whole = self.holdfast("cells", "--limit", "0")
        listed = json.loads(self.holdfast("--json", "cells", "--limit", "0").stdout)

        self.assertEqual([len(shown.stdout.splitlines()) - 1 for shown in (usual, many, whole)], [100, 1005, 1010])
        for shown in (usual, many):
            self.assertIn("there are more cells; --limit 0 shows all", shown.stderr)
        self.assertEqual(whole.stderr, "")
        self.assertEqual([row["cell"] for row in listed["items"]], [f"c{number}" for number in reversed(range(1010))])
        self.assertIsNone(listed["next"])


class ToolsTest(CommandCase):
    def test_tools_are_part_of_the_key_of_a_kernel(self):
        self.assert_exit(self.holdfast("run", "x = 1"), 0)

        first = self.holdfast("run", "--tools", "read_file,web_search", "--tools", "shell", "from tools import read_file, shell\n'x' in globals()")
        again = self.holdfast("run", "y = 2\n'read_file' in globals()")
        other = self.holdfast("run", "--tools", "web_search", "from tools import read_file")
        none = self.holdfast("run", "--tools", "", "x")
        refused = self.holdfast("run", "--tools", "not-a-name", "1")

        self.assertEqual((first.stdout, again.stdout, none.stdout), ("False\n", "True\n", "1\n"), first.stderr + none.stderr)
        self.assert_exit(other, 1)
        self.assertIn("ImportError", other.stderr)
        self.assert_exit(refused, 2)
        self.assertEqual(sorted(row["tools"] for row in self.daemon.kernels()), [[], ["read_file", "shell", "web_search"], ["web_search"]])


if __name__ == "__main__":
    unittest.main()
