"""Signal handlers, trace functions and slow values of cells, through the daemon: the session goes on with its variables."""

import os
import signal
import unittest

from holdfast_test.cases import DaemonCase
from holdfast_test.waiting import wait_until

ALARM = "import signal, time\nkept = 41\ndef ring(*_): {}\nsignal.signal(signal.SIGALRM, ring)\n"


class HandlersTest(DaemonCase):
    def test_an_alarm_that_raises_after_its_cell_costs_no_state(self):
        self.daemon.run(ALARM.format("raise TimeoutError"))
        os.kill(self.daemon.kernels()[0]["pid"], signal.SIGALRM)
        wait_until(lambda: "handler-raised TimeoutError" in self.daemon.report(), "the line in kernel.log")

        self.assert_ok(self.daemon.run("kept + 1"), "42")

    def test_a_handler_that_prints_while_its_cell_prints_holds_up_nothing(self):
        code = ALARM.format('print("ring")') + (
            "signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)\nuntil = time.monotonic() + 1.5\n"
            'while time.monotonic() < until: print("x" * 100)\nsignal.setitimer(signal.ITIMER_REAL, 0)'
        )

        self.assert_ok(self.daemon.run(code, timeout_ms=20_000))
        self.assert_ok(self.daemon.run("kept + 1"), "42")

    def test_a_cell_that_traces_itself_with_print_ends_and_the_next_one_runs(self):
        code = "import sys\nsys.setprofile(lambda *_: print('seen'))\nprint('here')\nsys.setprofile(None)"

        self.assert_ok(self.daemon.run(code, timeout_ms=5000))
        self.assert_ok(self.daemon.run("1+1"), "2")

    def test_a_stopped_daemon_does_not_hold_up_a_cell_that_prints(self):
        code = (
            'import time\nprint("begun", flush=True)\ntime.sleep(0.5)\n'
            'for _ in range(50000): print("x" * 100)\nopen("ended", "w").close()'
        )
        client, pending = self.daemon.start_cell(code, "prints", cwd=str(self.daemon.directory))
        client.wait_streamed("prints", "begun")
        os.kill(self.daemon.pid, signal.SIGSTOP)
        try:
            wait_until((self.daemon.directory / "ended").exists, "the end of the cell", 15)
        finally:
            os.kill(self.daemon.pid, signal.SIGCONT)

        result = pending.result()
        self.assert_ok(result)
        self.assertEqual(result["stdout_bytes"], 6 + 50000 * 101)

    def test_variables_with_slow_texts_are_listed(self):
        self.daemon.run("import time\nclass Slow:\n    def __repr__(self): time.sleep(0.4); return 'slow'\n"
                        "for n in range(20): globals()['s%d' % n] = Slow()")

        rows = {row["name"]: row["preview"] for row in self.daemon.call("session.variables")["items"]}

        self.assertEqual(rows["s0"], "slow")

    def test_a_display_with_much_metadata_is_not_lost(self):
        result = self.daemon.run("display({'text/html': 'here'}, raw=True, metadata={'n': list(range(5000))})")

        self.assertEqual([shown["data"]["text/html"] for shown in result["displays"]], ["here"])


if __name__ == "__main__":
    unittest.main()
