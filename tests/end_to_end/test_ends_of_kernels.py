"""Cells that end or exhaust their kernel, or would wait for somebody: an error, or a death with a cause and all that was printed before."""

import time
import unittest

from holdfast_test.cases import SharedDaemonCase

HEARD_SECONDS = 10.0  # upper bound on a loaded machine; about 1 s is meant
ENDED_SECONDS = 15.0
STATE_LOST = "[state lost: "
THREAD = "import ctypes, os, threading\nt = threading.Thread(target=%s); t.start(); t.join()"


class EndsCase(SharedDaemonCase):
    def assert_told(self, result):
        """A result of the first cell after a loss: it says so, before all else."""
        self.assertTrue(result["kernel"]["state_lost"], result)
        self.assertIn("state_lost", self.notice_kinds(result))
        self.assertTrue(result["text"].startswith(STATE_LOST), result["text"])


class OwnEndTest(EndsCase):
    def test_whatever_ends_the_kernel_in_a_cell_its_cause_is_named_and_what_was_printed_is_kept(self):
        by_signal = "import os, signal\nos.kill(os.getpid(), signal.%s)"
        raised = "import faulthandler\nfaulthandler.%s()"
        ways = (
            ("import ctypes; ctypes.string_at(0)", "signal", "SIGSEGV", "killed by SIGSEGV"),
            (THREAD % "ctypes.string_at, args=(0,)", "signal", "SIGSEGV", "killed by SIGSEGV"),
            ("import ctypes, asyncio\nawait asyncio.sleep(0.01)\nctypes.string_at(0)", "signal", "SIGSEGV", "killed by SIGSEGV"),
            (raised % "_sigabrt", "signal", "SIGABRT", "killed by SIGABRT"),
            (raised % "_sigfpe", "signal", "SIGFPE", "killed by SIGFPE"),
            (by_signal % "SIGILL", "signal", "SIGILL", "killed by SIGILL"),
            (by_signal % "SIGBUS", "signal", "SIGBUS", "killed by SIGBUS"),
            (by_signal % "SIGKILL", "signal", "SIGKILL", "killed by SIGKILL"),
            (by_signal % "SIGXCPU", "signal", "SIGXCPU", "killed by SIGXCPU"),
            ("import os; os._exit(3)", "exit", 3, "exited 3"),
            ("import os; os._exit(0)", "exit", 0, "exited 0"),
            (THREAD % "os._exit, args=(255,)", "exit", 255, "exited 255"),
            ("import ctypes; ctypes.CDLL(None)._exit(7)", "exit", 7, "exited 7"),
            ("import os; os.execvp('sh', ['sh', '-c', 'exit 5'])", "exit", 5, "exited 5"),
        )
        for code, cause, what, words in ways:
            with self.subTest(code):
                self.run_cell("kept = 1")
                began = time.monotonic()

                result = self.run_cell("print('before')\n" + code + "\nimport time; time.sleep(60)", text_limit=1000)

                self.assertEqual((result["status"], result["stdout"]), ("lost", "before\n"), result)
                death = result["death"]
                self.assertEqual((death["cause"], death["signal" if cause == "signal" else "exit_code"]), (cause, what))
                self.assertIn(words, result["text"].splitlines()[0])
                self.assertLess(time.monotonic() - began, HEARD_SECONDS)
                after = self.run_cell("'kept' in globals()", text_limit=1000)
                self.assert_ok(after, "False")
                self.assert_told(after)

    def test_recursion_without_end_is_an_error_by_whatever_it_recurs(self):
        ways = (
            "def f(): f()\nf()",
            "class A:\n    def __repr__(self): return repr(self)\nrepr(A())",
            "class A:\n    def __getattr__(self, name): return getattr(self, name)\nA().x",
            "f = lambda: sorted([1, 2], key=lambda _: f())\nf()",
            "async def f(): await f()\nawait f()",
            "import functools\n@functools.lru_cache\ndef f(n): return f(n + 1)\nf(0)",
            "def f():\n    try: f()\n    finally: pass\nf()",
        )
        for code in ways:
            with self.subTest(code):
                kernel = self.run_cell("kept = 1")["kernel"]["id"]

                result = self.run_cell(code)

                self.assertEqual((result["status"], result["error"]["name"]), ("error", "RecursionError"), result)
                self.assertLess(len(result["error"]["traceback"]), 70_000)
                after = self.run_cell("kept")
                self.assert_ok(after, "1")
                self.assertEqual(after["kernel"]["id"], kernel)

    def test_recursion_without_a_limit_ends_by_a_report_or_the_deadline(self):
        # The memory is limited: without a limit the interpreter would take gigabytes before it ends.
        bounded = "import resource, sys\nresource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))\nsys.setrecursionlimit(10**7)\n"
        ways = (
            "def f(): f()\nf()",
            "class A:\n    def __repr__(self): return repr(self)\nrepr(A())",
            "x = []\nfor _ in range(10**6): x = [x]\nrepr(x)",
        )
        for code in ways:
            with self.subTest(code):
                began = time.monotonic()

                result = self.run_cell(bounded + "print('before')\n" + code, timeout_ms=8000, seconds=40)

                self.assertIn(result["status"], ("ok", "error", "timeout", "lost"), result)
                self.assertEqual(result["stdout"], "before\n")
                if result["status"] == "lost":
                    self.assertIn(result["death"]["cause"], ("signal", "exit", "oom"))
                self.assertLess(time.monotonic() - began, 8 + ENDED_SECONDS)
                self.client.call("session.reset", session=self.session)
                self.assert_ok(self.run_cell("1"), "1")

    def test_exhausted_memory_is_an_error_or_a_death_with_a_cause(self):
        bounded = "import resource\nresource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))\nprint('before')\n"
        ways = ("x = bytearray(1 << 33)", "x = []\nwhile True: x.append(bytearray(1 << 20))", "'x' * (1 << 33)", "print('y' * (1 << 33))")
        for code in ways:
            with self.subTest(code):
                result = self.run_cell(bounded + code, timeout_ms=15_000)

                self.assertIn(result["status"], ("error", "lost"), result)
                self.assertTrue(result["status"] == "lost" or result["error"]["name"] == "MemoryError", result)
                self.assertTrue(result["stdout"].startswith("before\n"))
                self.client.call("session.reset", session=self.session)
                self.assert_ok(self.run_cell("1"), "1")

    def test_whatever_would_read_from_a_terminal_fails_at_once_and_clearly(self):
        ways = (
            "input()",
            "input('name? ')",
            "import getpass; getpass.getpass()",
            "import getpass, sys; getpass.getpass('secret: ', stream=sys.stderr)",
            "import asyncio\nawait asyncio.to_thread(input)",
            "from concurrent.futures import ThreadPoolExecutor\nThreadPoolExecutor().submit(input).result()",
        )
        for code in ways:
            with self.subTest(code):
                result = self.run_cell(code)

                self.assertEqual(result["status"], "error", result)
                self.assertIn("input", (result["error"]["name"] + result["error"]["message"]).lower())
                self.assertLess(result["duration_ms"], 3000)

    def test_a_debugger_or_a_prompt_does_not_wait_for_anybody(self):
        ways = (
            "breakpoint()",
            "import pdb; pdb.set_trace()",
            "import code; code.interact()",
            "import sys; sys.stdin.read()",
            "import sys; sys.stdin.readline()",
            "import os; os.read(0, 1)",
            "open('/dev/tty')",
            "for line in open(0, closefd=False): pass",
            "help()",
        )
        for code in ways:
            with self.subTest(code):
                result = self.run_cell(code, timeout_ms=8000)

                self.assertIn(result["status"], ("ok", "error"), result)
                self.assertLess(result["duration_ms"], 3000)
                self.assert_ok(self.run_cell("print('next'); 1"), "1")


if __name__ == "__main__":
    unittest.main()
