"""The runner of all tests in Python fails on what a module leaves behind, and only then."""

import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

from holdfast_test import processes
from holdfast_test.waiting import wait_until

RUNNER = Path(__file__).resolve().parent / "run_clean.py"


class RunCleanTest(unittest.TestCase):
    def run_module(self, body, *arguments):
        """Runs a module with one test of that body under the runner."""
        with tempfile.TemporaryDirectory() as directory:
            module = Path(directory) / "test_planted.py"
            lines = "import os, subprocess, tempfile, time, unittest\nclass Planted(unittest.TestCase):\n    def test(self):\n"
            module.write_text(lines + textwrap.indent(textwrap.dedent(body), " " * 8))
            return subprocess.run([sys.executable, RUNNER, *arguments, module], capture_output=True, text=True, timeout=60)

    def test_a_module_that_leaves_nothing_passes(self):
        done = self.run_module("subprocess.run(['true'])")

        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_failing_module_fails(self):
        self.assertEqual(self.run_module("self.fail()").returncode, 1)

    def test_a_left_process_fails_the_module_and_is_ended(self):
        done = self.run_module("subprocess.Popen(['sleep', '4711'])")

        self.assertEqual(done.returncode, 1)
        self.assertIn("sleep 4711", done.stderr)
        self.assertEqual(processes.with_argument("4711"), [])

    def test_a_left_process_that_detached_itself_is_found_too(self):
        done = self.run_module("subprocess.run(['setsid', 'sh', '-c', 'sleep 4712 >/dev/null 2>&1 &'])")

        self.assertEqual(done.returncode, 1)
        self.assertIn("sleep 4712", done.stderr)
        wait_until(lambda: not processes.with_argument("4712"), "the end of the left process")

    def test_a_left_file_fails_the_module_and_is_named(self):
        done = self.run_module("open(os.path.join(tempfile.gettempdir(), 'forgotten'), 'w').close()")

        self.assertEqual(done.returncode, 1)
        self.assertIn("forgotten", done.stderr)

    def test_a_module_that_hangs_is_aborted_with_its_traceback(self):
        done = self.run_module("time.sleep(60)", "--seconds", "1")

        self.assertEqual(done.returncode, 1)
        self.assertIn("test_planted.py", done.stderr)


if __name__ == "__main__":
    unittest.main()
