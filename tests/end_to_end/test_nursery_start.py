"""A nursery that a signal ends while it starts is started once more; an interpreter that hangs or fails is refused in time."""

import os
import sys
import unittest

from holdfast_test.cases import DaemonCase
from holdfast_test.client import RpcError


class NurseryStartTest(DaemonCase):
    environment = {"HOLDFAST_ADMISSION_TIMEOUT_SECONDS": "3", "HOLDFAST_FALLBACK": "error"}

    def interpreter(self, name, lines):
        """An executable that does this before it becomes the real one. `$marks` is a directory of its own."""
        path = self.daemon.directory / name
        marks = self.daemon.directory / f"{name}.marks"
        marks.mkdir()
        path.write_text(f"#!/bin/sh\nmarks={marks}\n{lines}\nexec {sys.executable} \"$@\"\n")
        path.chmod(0o755)
        return str(path), marks

    def test_one_killed_once_while_it_starts_costs_nothing(self):
        python, marks = self.interpreter("once", "mkdir $marks/one 2>/dev/null && kill -9 $$")

        result = self.daemon.run("6 * 7", python=python)

        self.assert_ok(result, "42")
        self.assertTrue((marks / "one").exists(), "it was killed")
        self.assertEqual(len(self.daemon.nurseries()), 1)

    def test_one_killed_once_in_the_background_costs_nothing(self):
        # The second fork is the nursery itself; the process that waits for it sees it go without a word.
        library = self.daemon.directory / "library"
        library.mkdir()
        marks = self.daemon.directory / "marks"
        marks.mkdir()
        (library / "kill_the_nursery_once.py").write_text(
            "import os, signal\n"
            "first = os.getpid()\n"
            "def after():\n"
            "    if os.getppid() == first: return\n"
            "    try: os.mkdir(%r)\n"
            "    except FileExistsError: return\n"
            "    os.kill(os.getpid(), signal.SIGKILL)\n"
            "os.register_at_fork(after_in_child=after)\n" % str(marks / "one")
        )
        python, _ = self.interpreter("preloading", f"export PYTHONPATH={library}")
        (self.daemon.home / "config.toml").write_text('preload = ["kill_the_nursery_once"]\n')
        self.daemon.restart()

        self.assert_ok(self.daemon.run("6 * 7", python=python), "42")
        self.assertTrue((marks / "one").exists(), "it was killed")

    def test_a_preloaded_module_that_starts_threads_is_there_with_its_threads(self):
        library = self.daemon.directory / "library"
        library.mkdir()
        (library / "starts_threads.py").write_text(
            "import os, threading\nimporter = os.getpid()\nasked, answered = threading.Event(), threading.Event()\n"
            "def answer():\n    asked.wait()\n    answered.set()\n"
            "threading.Thread(target=answer, daemon=True).start()\n"
        )
        python, _ = self.interpreter("threaded", f"export PYTHONPATH={library}")
        (self.daemon.home / "config.toml").write_text('preload = ["starts_threads", "decimal"]\n')
        self.daemon.restart()

        result = self.daemon.run(
            "import os, sys\nm = sys.modules['starts_threads']\nm.asked.set()\n"
            "m.answered.wait(10), m.importer == os.getpid(), 'decimal' in sys.modules",
            python=python,
        )

        self.assert_ok(result, "(True, True, True)")

    def test_one_killed_each_time_is_refused_after_two_starts_and_works_once_it_is_let_live(self):
        python, marks = self.interpreter("always", "[ -e $marks/let ] || { mkdir $marks/$$; kill -9 $$; }")

        with self.assertRaises(RpcError) as caught:
            self.daemon.run("1", python=python, cell="c1")

        self.assertEqual(caught.exception.code, 1007, caught.exception)
        self.assertEqual((caught.exception.data["kind"], caught.exception.data["retry"]), ("start_failed", False))
        self.assertIn(python, caught.exception.message)
        self.assertIn("killed by SIGKILL", caught.exception.message)
        self.assertEqual(len(list(marks.iterdir())), 2)
        self.assertEqual(self.daemon.nurseries(), [])
        (marks / "let").touch()
        self.assert_ok(self.daemon.run("1", python=python, cell="c1"), "1")

    def test_one_that_fails_is_not_tried_again(self):
        python, marks = self.interpreter("failing", "mkdir $marks/$$; echo 'no such encoding' >&2; exit 7")

        with self.assertRaises(RpcError) as caught:
            self.daemon.run("1", python=python)

        self.assertEqual(caught.exception.code, 1007, caught.exception)
        self.assertIn("exit code 7: no such encoding", caught.exception.message)
        self.assertEqual(len(list(marks.iterdir())), 1)

    def test_one_that_is_too_old_is_told_by_its_version(self):
        as_old = "import runpy, sys; sys.version_info = (3, 7, 9); sys.argv[:1] = []; runpy.run_path(sys.argv[0], run_name='__main__')"
        python, _ = self.interpreter("old", f'exec {sys.executable} -c "{as_old}" "$@"')

        with self.assertRaises(RpcError) as caught:
            self.daemon.run("1", python=python)

        self.assertEqual(caught.exception.code, 1007, caught.exception)
        self.assertIn("exit code 1: it is Python 3.7, wanted 3.8 or newer; ", caught.exception.message)

    def test_one_that_hangs_is_at_capacity_after_the_admission_timeout_and_the_same_request_works_later(self):
        python, marks = self.interpreter("hanging", "mkfifo $marks/gate; read line <$marks/gate")
        effects = self.daemon.directory / "effects"
        request = {"code": f"open({str(effects)!r}, 'a').write('ran')", "cell": "c1", "python": python}

        with self.assertRaises(RpcError) as caught:
            self.daemon.run(**request)

        self.assertEqual(caught.exception.code, 1005, caught.exception)
        self.assertEqual((caught.exception.data["kind"], caught.exception.data["retry"]), ("at_capacity", True))
        self.assertIn("session default", caught.exception.message)
        self.assertFalse(effects.exists())
        with os.fdopen(os.open(marks / "gate", os.O_WRONLY), "w") as gate:
            gate.write("go\n")
        self.assertEqual(self.daemon.run(**request)["status"], "ok")
        self.assertEqual(effects.read_text(), "ran")


if __name__ == "__main__":
    unittest.main()
