"""`holdfast run` outlives its daemon: killed, it is started again and gone on with; stopped, run says how to come back."""

import os
import shlex
import signal
import unittest

from holdfast_test import processes
from holdfast_test.cases import DaemonCase
from holdfast_test.waiting import NeverHappened, wait_until

GATED = """
import os, time
with open({effects!r}, 'a') as file: file.write('ran\\n')
for number in range(5): print('before', number, flush=True)
while not os.path.exists({gate!r}): time.sleep(0.01)
for number in range(5): print('after', number)
os.getpid()
"""
BEFORE = "".join(f"before {number}\n" for number in range(5))
AFTER = "".join(f"after {number}\n" for number in range(5))


class RunOutlivesItsDaemonTest(DaemonCase):
    def setUp(self):
        self.daemon = self.make_daemon()
        self.gate = self.daemon.directory / "gate"
        self.effects = self.daemon.directory / "effects"

    def start_gated(self, *options):
        """A run whose cell has printed its first half and waits for the gate; nothing of the daemon was running before."""
        code = GATED.format(effects=str(self.effects), gate=str(self.gate))
        process = self.daemon.start_command("run", "--cell", "c1", *options, code)
        self.assertEqual("".join(process.stdout.readline() for _ in range(5)), BEFORE)
        return process

    def wait_for_another_daemon(self, process, before):
        try:
            wait_until(lambda: self.daemon.serving() not in (None, before), "another daemon", 30)
        except NeverHappened as problem:
            code = process.poll()
            process.kill()
            raise AssertionError(f"{problem}; the run ended with {code} and said: {process.communicate()}") from None

    def finish(self, process, seconds=60):
        stdout, stderr = process.communicate(timeout=seconds)
        return stdout, stderr, process.returncode

    def test_run_starts_a_killed_daemon_again_and_goes_on_at_its_offset(self):
        process = self.start_gated()
        first = self.daemon.serving()
        kernel = self.daemon.kernels()[0]["pid"]

        processes.end_all([first])
        self.wait_for_another_daemon(process, first)
        self.gate.touch()
        stdout, stderr, code = self.finish(process)

        self.assertEqual((stdout, code), (f"{AFTER}{kernel}\n", 0), stderr)
        self.assertEqual(self.effects.read_text(), "ran\n")

    def test_run_survives_three_kills_in_a_row(self):
        process = self.start_gated()
        for _ in range(3):
            serving = wait_until(self.daemon.serving, "a daemon", 30)
            processes.end_all([serving])
            self.wait_for_another_daemon(process, serving)
        self.gate.touch()
        stdout, stderr, code = self.finish(process)

        self.assertEqual((stdout.startswith(AFTER), code), (True, 0), stderr)
        self.assertEqual(self.effects.read_text(), "ran\n")

    def test_a_cell_that_ends_while_its_daemon_is_dead_is_shown_whole(self):
        process = self.start_gated()
        process.send_signal(signal.SIGSTOP)  # or it would start the next daemon at once
        processes.end_all([self.daemon.serving()])
        self.gate.touch()
        self.daemon.wait_spooled("done", "c1")
        process.send_signal(signal.SIGCONT)
        stdout, stderr, code = self.finish(process)

        self.assertEqual((stdout.startswith(AFTER), code), (True, 0), stderr)

    def test_after_a_clean_stop_it_exits_6_and_prints_a_command_that_comes_back(self):
        process = self.start_gated()
        stopped = self.daemon.command("stop")
        stdout, stderr, code = self.finish(process)

        self.assertEqual((stopped.returncode, stdout, code), (0, "", 6), stderr)
        line = next(line for line in stderr.splitlines() if "holdfast" in line and "c1" in line)
        words = shlex.split(line[line.index("holdfast ") :].rstrip("]"))
        self.gate.touch()
        back = self.daemon.command(*words[1:])

        self.assertTrue(back.stdout.startswith(BEFORE + AFTER), back)
        self.assertEqual(back.returncode, 0, back.stderr)
        self.assertEqual(self.effects.read_text(), "ran\n")

    def test_one_interrupt_key_interrupts_the_cell(self):
        process = self.start_gated()
        process.send_signal(signal.SIGINT)
        stdout, stderr, code = self.finish(process)

        self.assertEqual((stdout, code), ("", 130), stderr)
        self.assertEqual(self.daemon.call("cell.get", cell="c1")["status"], "interrupted")

    def test_two_interrupt_keys_detach_and_say_how_to_come_back(self):
        code = (
            "import time\nprint('before', flush=True)\n"
            "try:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    print('caught', flush=True); time.sleep(0.7)\n7"
        )
        process = self.daemon.start_command("run", "--cell", "c1", code)
        self.assertEqual(process.stdout.readline(), "before\n")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.stdout.readline(), "caught\n")
        process.send_signal(signal.SIGINT)
        _, stderr, returncode = self.finish(process)

        self.assertEqual(returncode, 6, stderr)
        self.assertIn("c1", stderr)
        self.assertIn("wait", stderr)
        self.assertTrue(self.daemon.call("cell.wait", cell="c1")["final"])

    def test_a_run_that_is_killed_leaves_its_cell_running(self):
        process = self.start_gated()
        process.kill()
        self.finish(process)
        self.gate.touch()

        self.assert_ok(self.daemon.call("cell.wait", cell="c1"))

    def test_a_reader_that_goes_away_does_not_end_the_cell(self):
        code = GATED.format(effects=str(self.effects), gate=str(self.gate))
        process = self.daemon.start_command("run", "--cell", "c1", code)
        process.stdout.readline()
        process.stdout.close()
        self.gate.touch()
        process.wait(30)
        process.stderr.close()

        self.assert_ok(self.daemon.call("cell.wait", cell="c1"))

    def test_the_daemon_that_run_starts_has_a_session_of_its_own(self):
        self.assertEqual(self.daemon.command("run", "1").returncode, 0)

        pid = self.daemon.serving().pid

        self.assertEqual(os.getsid(pid), pid)


if __name__ == "__main__":
    unittest.main()
