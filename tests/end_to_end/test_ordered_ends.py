"""A kernel that is told to end does, whatever a cell put in the way, and nothing of its cell reaches a later one."""

import time
import unittest

from holdfast_test import processes
from holdfast_test.cases import DaemonCase, SharedDaemonCase
from holdfast_test.waiting import wait_until

ENDED_SECONDS = 15.0  # of a reset, a close or a stop, with its whole ladder


class OrderedEndTest(DaemonCase):
    """What a cell put in the way of an end that was ordered."""

    OBSTACLES = {
        "an exit handler": "import atexit, time; atexit.register(time.sleep, 1000)",
        "a thread": "import threading, time; threading.Thread(target=time.sleep, args=(1000,)).start()",
        "handlers of all signals": "import signal\nfor n in set(signal.valid_signals()) - {9, 19}:\n"
        "    if n < 32: signal.signal(n, lambda *_: None)",
        "blocked signals": "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))",
        "a finalizer": "import time\nclass Slow:\n    def __del__(self, sleep=time.sleep): sleep(1000)\nslow = Slow()",
        "a fork in its exit": "import atexit, os, time\natexit.register(os.fork); os.register_at_fork(before=lambda: time.sleep(1000))",
        "the interpreter's lock": "import ctypes, threading\nthreading.Thread(target=ctypes.PyDLL(None).sleep, args=(1000,)).start()",
    }

    def ended_by(self, order):
        for what, code in self.OBSTACLES.items():
            with self.subTest(what):
                pending = self.daemon.connect().send("run", code=code, cell=what.replace(" ", "-").replace("'", ""), timeout_ms=500)
                wait_until(lambda: self.daemon.kernels(), "the kernel")
                if what != "the interpreter's lock":
                    pending.result()
                old = processes.identify(self.daemon.kernels()[0]["pid"])
                began = time.monotonic()

                order()

                processes.wait_gone(old, ENDED_SECONDS)
                self.assertLess(time.monotonic() - began, ENDED_SECONDS)
                self.assert_ok(self.daemon.run("1"), "1")

    def test_a_reset_ends_within_its_ladder_whatever_a_cell_left(self):
        self.ended_by(lambda: self.daemon.call("session.reset"))

    def test_so_does_a_close(self):
        self.ended_by(lambda: self.daemon.call("session.close"))

    def test_a_shutdown_with_kernels_ends_them_too(self):
        def order():
            self.daemon.call("shutdown", kernels=True)
            self.daemon.wait_ended()
            self.daemon.start()

        self.ended_by(order)


class ResetInMidCellTest(SharedDaemonCase):
    def test_nothing_that_a_reset_cell_still_does_reaches_a_later_one(self):
        ways = (
            "try: time.sleep(60)\nfinally: print('late')",
            "while True:\n    try: time.sleep(0.05)\n    except: print('late')",
            "threading.Thread(target=lambda: [(print('late'), time.sleep(0.001)) for _ in range(10**6)]).start()\ntime.sleep(60)",
            "subprocess.run('trap \"\" TERM; while :; do echo late; done', shell=True)",
            "try: await asyncio.sleep(60)\nexcept BaseException: print('late'); 'late'",
            "atexit.register(print, 'late')\ntime.sleep(60)",
        )
        for number, code in enumerate(ways):
            with self.subTest(code):
                cell = f"c{number}"
                setting = "import asyncio, atexit, subprocess, threading, time\nprint('before', flush=True)\n"
                pending = self.start_cell(setting + code, cell)
                self.client.wait_streamed(cell, "before\n")

                self.client.call("session.reset", session=self.session)
                after = self.run_cell("print('own'); 1")
                reset = pending.result()

                self.assertEqual((reset["status"], reset["value"]), ("interrupted", None), reset)
                self.assertTrue(reset["stdout"].startswith("before\n"))
                self.assert_ok(after, "1")
                self.assertEqual(after["stdout"], "own\n")
                self.assertTrue(after["kernel"]["state_reset"])
                self.assert_ok(self.run_cell("print('own'); 2"), "2")
                again = self.client.call("cell.get", session=self.session, cell=cell)
                self.assertEqual((again["status"], again["value"], again["finished_at"]), ("interrupted", None, reset["finished_at"]))


if __name__ == "__main__":
    unittest.main()
