"""The `text` of a result: what a model should read, through the socket, from running cells and from records alike."""

import re
import unittest

from holdfast_test.cases import DaemonCase
from holdfast_test.client import RpcError

LEAST = 256
STATE_LOST = "Variables and imports are gone; define them again.]"
CUT = re.compile(r"\[\.\.\. (\d+) of (\d+) bytes left out; read on: cell\.output cell=(\S+) offset=(\d+); do not run it again \.\.\.\]\n")


class ResultTextTest(DaemonCase):
    def text_of(self, code, text_limit=4000, **params):
        return self.daemon.run(code, text_limit=text_limit, **params)["text"]

    def test_output_in_written_order_value_and_end(self):
        code = "import sys\nfor n in range(3):\n    print('o', n)\n    print('\\x1b[31me\\x1b[0m', n, file=sys.stderr)\nn + 40"

        text = self.text_of(code, cell="c1")

        self.assertRegex(text, r"^o 0\ne 0\no 1\ne 1\no 2\ne 2\nOut: 42\n\[cell c1: ok in [0-9.]+ s\]$")

    def test_without_a_limit_there_is_no_text(self):
        self.assertNotIn("text", self.daemon.run("1"))
        self.assertNotIn("text", self.daemon.run("1", text_limit=0))

    def test_a_limit_below_the_least_is_refused_and_nothing_ran(self):
        with self.assertRaises(RpcError) as refused:
            self.daemon.run("1", cell="c1", text_limit=LEAST - 1)
        self.assertEqual(refused.exception.code, -32602)
        self.assertIn(f"0 or an integer from {LEAST}", refused.exception.message)
        with self.assertRaises(RpcError):
            self.daemon.call("cell.get", cell="c1")

    def test_the_text_of_a_record_is_made_with_any_limit_later_and_reads_on_where_it_says(self):
        self.daemon.run("import sys\nfor n in range(9000):\n    print('line', n, file=(sys.stdout, sys.stderr)[n % 2])", cell="c1")
        everything = "".join(f"line {number}\n" for number in range(9000))

        for restarted in (False, True):
            if restarted:
                self.daemon.restart(crash=True)
            for limit in (LEAST, 1000, 50_000):
                text = self.daemon.call("cell.get", cell="c1", text_limit=limit)["text"]
                self.assertLessEqual(len(text.encode()), limit)
                head, left_out, total, cell, offset, rest = CUT.split(text)
                tail = rest[: rest.rindex("[cell c1: ok in ")]
                self.assertEqual((cell, int(total), int(offset)), ("c1", len(everything), len(head)))
                self.assertEqual(int(left_out), len(everything) - len(head) - len(tail))
                self.assertTrue(everything.startswith(head) and everything.endswith(tail), text)
                page = self.daemon.call("cell.output", cell="c1", offset=int(offset), limit=100)
                self.assertEqual("".join(chunk["text"] for chunk in page["chunks"]), everything[len(head) :][:100])
        self.assertEqual(self.daemon.call("cell.wait", cell="c1", text_limit=200_000)["text"][: len(everything)], everything)

    def test_a_displayed_table_is_there_line_by_line(self):
        table = "class Table:\n    def __repr__(self): return '   a  b\\n0  1  2'\n    def _repr_html_(self): return '<table>'\n"

        text = self.text_of(table + "display(Table()); display('one'); Table()")

        shown = "Out:\n   a  b\n0  1  2\n   a  b\n0  1  2\n[display 0: text/html, 7 bytes, attached]\n'one'\n[display 2: text/html, 7 bytes, attached]\n"
        self.assertTrue(text.startswith(shown), text)

    def test_a_segfault_names_the_line_of_the_cell_and_none_of_the_kernel(self):
        text = self.text_of("import ctypes\nctypes.string_at(0)", 1000)

        self.assertIn('File "<cell 1>", line 2 in <module>\n', text)
        self.assertNotIn("holdfast_kernel", text)

    def test_a_death_is_the_first_line_of_its_cell_and_of_the_next_one(self):
        text = self.text_of("import os\nprint('x' * 9000)\nos.kill(os.getpid(), 9)", LEAST, cell="c1")

        self.assertEqual(text.split("\n")[0], "[state lost: kernel killed by SIGKILL. " + STATE_LOST)
        self.assertRegex(text, r"\n\[cell c1: lost in [0-9.]+ s: effects unknown, not run again\]$")
        after = self.text_of("y", cell="c2").split("\n")
        self.assertRegex(after[0], r"^\[state lost: .*killed by SIGKILL.*c1.*")
        self.assertTrue(after[0].endswith(STATE_LOST), after)
        self.assertRegex(after[-1], r"^\[cell c2: error in [0-9.]+ s: NameError\]$")
        self.assertIn("NameError: name 'y' is not defined", after)

    def test_exit_timeout_and_interruption_end_the_text(self):
        self.assertRegex(self.text_of("raise SystemExit(3)", cell="c1"), r"\[cell c1: exit in [0-9.]+ s: exit code 3\]$")
        timed_out = self.text_of("import time; print('so far'); time.sleep(60)", cell="c2", timeout_ms=200)
        self.assertRegex(timed_out, r"^so far\n(?s:.*)\[cell c2: timeout in [0-9.]+ s(: \w+)?\]$")

    def test_a_running_and_a_queued_cell_say_how_to_go_on(self):
        client, pending = self.daemon.start_cell("import time\nprint('on', flush=True)\ntime.sleep(600)", "c1", text_limit=1000)
        client.wait_streamed("c1", "on")

        still = r"\[\.\.\. still %s after \d+ s: cell\.wait waits, cell\.interrupt stops\]$"
        running = self.daemon.call("cell.wait", cell="c1", wait_ms=1, text_limit=1000)["text"]
        self.assertRegex(running, r"^on\n\[cell c1: running\]\n" + still % "running")
        queued = self.daemon.run("1", cell="c2", wait_ms=1, text_limit=1000)["text"]
        self.assertRegex(queued, r"^\[cell c2: queued\]\n" + still % "queued")
        self.daemon.call("cell.interrupt", cell="c2")
        self.daemon.call("cell.interrupt", cell="c1")
        self.assertRegex(pending.result()["text"], r"^on\n(?s:.*)\[cell c1: interrupted in [0-9.]+ s(: \w+)?\]$")
        skipped = self.daemon.call("cell.get", cell="c2", text_limit=1000)["text"]
        self.assertEqual(skipped, "[cell c2: interrupted before it started]")

    def test_the_last_state_of_a_progress_bar_is_shown(self):
        code = "import sys\nfor percent in range(101):\n    sys.stderr.write(f'\\r{percent:3}% |\\x1b[32m#\\x1b[0m|')\nprint(file=sys.stderr)"

        self.assertRegex(self.text_of(code, cell="c1"), r"^100% \|#\|\n\[cell c1: ok in [0-9.]+ s\]$")


if __name__ == "__main__":
    unittest.main()
