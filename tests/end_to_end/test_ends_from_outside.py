"""Kernels that others end, in whatever their cell does; cells that their deadline ends."""

import signal
import time
import unittest

from holdfast_test import processes
from holdfast_test.cases import SharedDaemonCase
from holdfast_test.waiting import wait_until

HEARD_SECONDS = 10.0  # upper bound on a loaded machine; about 1 s is meant
STATE_LOST = "[state lost: "


class EndsCase(SharedDaemonCase):
    def kernel(self):
        return processes.identify(self.daemon.kernels(session=self.session)[0]["pid"])

    def assert_told(self, result):
        """A result of the first cell after a loss: it says so, before all else."""
        self.assertTrue(result["kernel"]["state_lost"], result)
        self.assertIn("state_lost", self.notice_kinds(result))
        self.assertTrue(result["text"].startswith(STATE_LOST), result["text"])


class EndFromOutsideTest(EndsCase):
    def test_a_kernel_killed_in_whatever_a_cell_does_is_lost_soon_with_the_signal_and_the_output(self):
        ways = (
            "time.sleep(60)",
            "while True: pass",
            "await asyncio.sleep(60)",
            "subprocess.run(['sleep', '60'])",
            "threading.Event().wait()",
        )
        for number, code in enumerate(ways):
            sent = signal.SIGKILL if number % 2 == 0 else signal.SIGSEGV
            with self.subTest(code, sent=sent.name):
                pending = self.start_cell("import asyncio, subprocess, threading, time\nprint('before', flush=True)\n" + code, f"c{number}")
                self.client.wait_streamed(f"c{number}", "before\n")

                began = time.monotonic()
                processes.send_signal(self.kernel(), sent)
                result = pending.result()

                self.assertLess(time.monotonic() - began, HEARD_SECONDS)
                self.assertEqual((result["status"], result["stdout"]), ("lost", "before\n"), result)
                self.assertEqual((result["death"]["cause"], result["death"]["signal"]), ("signal", sent.name))

    def test_of_two_cells_after_a_death_the_first_gets_a_fresh_kernel_and_is_told_and_nothing_is_run_again(self):
        effects = self.daemon.directory / "effects"
        count = f"open({str(effects)!r}, 'a').write('ran ')\n"
        for way in ("idle", "in a cell", "with cells behind it"):
            with self.subTest(way):
                effects.write_text("")
                self.run_cell(count + "kept = 1", cell=f"first {way}".replace(" ", "-"))
                if way == "idle":
                    processes.end_all([self.kernel()])
                else:
                    self.start_cell(count + "import time\nprint('on', flush=True)\ntime.sleep(60)", f"dies-{way}".replace(" ", "-"))
                    self.client.wait_streamed(f"dies-{way}".replace(" ", "-"), "on")
                    if way == "in a cell":
                        processes.end_all([self.kernel()])
                code = count + "'kept' in globals()"
                cells = [self.client.send("run", session=self.session, code=code, text_limit=1000) for _ in range(2)]
                if way == "with cells behind it":
                    wait_until(lambda: self.client.call("session.get", session=self.session)["queued"] == 2, "both cells to wait")
                    processes.end_all([self.kernel()])

                first, second = [each.result() for each in cells]

                self.assert_ok(first, "False")
                self.assert_told(first)
                self.assert_ok(second, "False")
                self.assertEqual((second["kernel"]["state_lost"], self.notice_kinds(second)), (False, []))
                self.assertEqual(second["kernel"]["id"], first["kernel"]["id"])
                self.assertEqual(len(effects.read_text().split()), 3 if way == "idle" else 4)

    def test_after_a_signal_that_ends_the_kernel_the_loss_is_said_before_the_name_that_is_missing(self):
        for sent in (signal.SIGTERM, signal.SIGQUIT, signal.SIGUSR1, signal.SIGKILL, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE):
            with self.subTest(sent.name):
                self.run_cell("old = 1")
                old = self.kernel()
                processes.send_signal(old, sent)

                result = self.run_cell("old", text_limit=1000)

                if result["kernel"]["pid"] == old.pid:
                    self.assertIn(sent, (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE), "it ends the kernel")
                    self.assert_ok(result, "1")
                    continue
                self.assertEqual((result["status"], result["error"]["name"]), ("error", "NameError"), result)
                self.assert_told(result)
                self.assertIn(sent.name, result["text"].splitlines()[0])
                self.assertLess(result["text"].index(STATE_LOST), result["text"].index("NameError"))


class DeadlineTest(EndsCase):
    PICTURE = "class Picture:\n    def _repr_png_(self): return b'\\x89PNG\\r\\n\\x1a\\n'\n"

    def test_a_cell_over_its_deadline_has_its_text_and_its_picture_however_it_ends(self):
        ways = (
            ("time.sleep(60)", None),
            ("await asyncio.sleep(60)", None),
            ("while True: pass", None),
            ("while True:\n    try: time.sleep(0.05)\n    except: pass", "unresponsive"),
            ("subprocess.run(['sleep', '60'])", None),
        )
        for code, cause in ways:
            with self.subTest(code):
                result = self.run_cell(
                    self.PICTURE + "import asyncio, subprocess, time\nprint('text')\ndisplay(Picture())\nprint('more')\n" + code,
                    timeout_ms=1200,
                )

                self.assertEqual((result["status"], result["stdout"]), ("timeout", "text\nmore\n"), result)
                self.assertEqual([(shown["index"], shown["offset"]) for shown in result["displays"]], [(0, len("text\n"))], result)
                self.assertEqual(result["displays"][0]["data"]["image/png"].rstrip("\n"), "iVBORw0KGgo=")
                self.assertEqual(result["death"] and result["death"]["cause"], cause)
                self.assert_ok(self.run_cell("1"), "1")


if __name__ == "__main__":
    unittest.main()
