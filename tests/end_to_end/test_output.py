"""Output: complete, in order, bounded with exact totals, readable in pages, streamed before the result."""

import re
import unittest

from holdfast_test.cases import SharedDaemonCase
from holdfast_test.client import RpcError
from holdfast_test.waiting import wait_until

HEAD, TAIL = 48 * 1024, 16 * 1024


class OutputTest(SharedDaemonCase):
    def call(self, method, **params):
        return self.client.call(method, session=self.session, **params)

    def read_all(self, cell, limit):
        """The chunks of all pages of that size."""
        chunks, offset = [], 0
        while True:
            page = self.call("cell.output", cell=cell, offset=offset, limit=limit)
            self.assertLessEqual(sum(len(chunk["text"].encode()) for chunk in page["chunks"]), limit)
            chunks += page["chunks"]
            if page["next_offset"] >= page["total_bytes"] and page["final"]:
                self.assertEqual(page["dropped"], [])
                return chunks
            self.assertGreater(page["next_offset"], offset)
            offset = page["next_offset"]

    def text_of(self, chunks, stream=None):
        return "".join(chunk["text"] for chunk in chunks if stream in (None, chunk["stream"]))

    def test_stdout_stderr_and_value_are_apart(self):
        result = self.run_cell("import sys\nprint('out')\nprint('err', file=sys.stderr)\n40 + 2")

        self.assert_ok(result, "42")
        self.assertEqual((result["stdout"], result["stderr"]), ("out\n", "err\n"))
        self.assertEqual((result["stdout_bytes"], result["stderr_bytes"]), (4, 4))
        self.assertFalse(result["stdout_truncated"] or result["stderr_truncated"])

    def test_the_order_of_stdout_and_stderr_written_in_turn_is_kept(self):
        code = "import sys\nfor number in range(1000):\n    print('o', number)\n    print('e', number, file=sys.stderr)"

        pending = self.start_cell(code, "c1")
        pending.result()

        expected = "".join(f"o {number}\ne {number}\n" for number in range(1000))
        self.assertEqual(self.client.streamed("c1"), expected)
        self.assertEqual(self.text_of(self.read_all("c1", 65536)), expected)

    def test_late_output_of_threads_and_processes_is_read_with_that_of_their_cell(self):
        code = (
            "import subprocess, threading\ngo = threading.Event()\n"
            "def late():\n    go.wait(); print('from a thread')\n"
            "t = threading.Thread(target=late); t.start()\n"
            "p = subprocess.Popen('read x; echo from a process', shell=True, stdin=subprocess.PIPE)\nprint('first')"
        )
        first = self.run_cell(code, cell="c1")
        self.assertEqual(first["stdout"], "first\n")

        second = self.run_cell("go.set(); t.join(); p.communicate(b'x\\n'); print('second')")

        self.assertEqual(second["stdout"], "second\n")
        expected = ("first\nfrom a thread\nfrom a process\n", "first\nfrom a process\nfrom a thread\n")
        wait_until(lambda: self.text_of(self.read_all("c1", 65536)) in expected, "the late output is there")
        again = self.call("cell.get", cell="c1")
        self.assertEqual((again["stdout"], again["stdout_bytes"]), ("first\n", 6))

    def test_all_notifications_come_before_the_result_accepted_first_with_seq_and_offset_without_a_gap(self):
        pending = self.start_cell("for number in range(500): print(number, flush=True)", "c1")
        pending.result()

        received = list(self.client.received)
        answer = next(index for index, message in enumerate(received) if message.get("id") == pending.id)
        ours = [(index, message) for index, message in enumerate(received) if message.get("params", {}).get("cell") == "c1"]
        self.assertTrue(all(index < answer for index, _ in ours))
        self.assertEqual(ours[0][1]["method"], "cell.accepted")
        offset, seq = 0, None
        for _, message in ours[1:]:
            self.assertEqual(message["method"], "cell.stream")
            params = message["params"]
            self.assertEqual((params["owner"], params["child"], params["session"]), ("default", None, self.session))
            self.assertEqual(params["offset"], offset)
            self.assertTrue(seq is None or params["seq"] == seq + 1)
            offset, seq = offset + len(params["text"].encode()), params["seq"]
        self.assertEqual(offset, pending.result()["stdout_bytes"])

    def test_output_is_streamed_while_the_cell_runs(self):
        gate = self.daemon.directory / "gate"
        pending = self.start_cell(
            f"import os, time\nprint('first')\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.01)\nprint('second')", "c1"
        )

        self.client.wait_streamed("c1", "first\n")
        self.assertFalse(pending.is_answered)
        gate.touch()
        self.assertEqual(pending.result()["stdout"], "first\nsecond\n")
        gate.unlink()

    def test_150_kilobytes_are_truncated_with_exact_totals_and_read_back_in_pages(self):
        code = "for number in range(1500): print(f'{number:04}', 'x' * 94)"
        whole = "".join(f"{number:04} {'x' * 94}\n" for number in range(1500))

        result = self.run_cell(code, cell="c1")

        self.assertEqual((result["stdout_bytes"], result["stdout_truncated"]), (len(whole), True))
        left_out = len(whole) - HEAD - TAIL
        self.assertTrue(result["stdout"].startswith(whole[:HEAD]))
        self.assertTrue(result["stdout"].endswith(whole[-TAIL:]))
        self.assertIn(f"[... {left_out} bytes left out ...]", result["stdout"])
        for limit in (65536, 1000):
            self.assertEqual(self.text_of(self.read_all("c1", limit)), whole)

    def test_sixty_four_kibibytes_are_not_truncated_and_one_byte_more_is(self):
        for count, is_truncated in ((65536, False), (65537, True)):
            result = self.run_cell(f"import sys; sys.stdout.write('x' * {count}); None")
            self.assertEqual((result["stdout_bytes"], result["stdout_truncated"]), (count, is_truncated))

    def test_pages_never_split_a_character(self):
        self.run_cell("print('\u00e9\u20ac\U0001f600' * 100, end='')", cell="c1")

        self.assertEqual(self.text_of(self.read_all("c1", 11)), "\u00e9\u20ac\U0001f600" * 100)

    def test_pages_of_a_running_cell_can_be_read(self):
        pending = self.start_cell("import time\nprint('before', flush=True); time.sleep(0.7); print('after')", "c1")
        self.client.wait_streamed("c1", "before\n")

        page = self.call("cell.output", cell="c1")

        self.assertEqual((self.text_of(page["chunks"]), page["final"]), ("before\n", False))
        pending.result()
        rest = self.call("cell.output", cell="c1", offset=page["next_offset"])
        self.assertEqual((self.text_of(rest["chunks"]), rest["final"]), ("after\n", True))

    def test_waiting_with_stream_from_an_offset_tells_the_rest_first(self):
        self.run_cell("print('0123456789', end='')", cell="c1")
        with self.daemon.connect() as client:
            result = client.call("cell.wait", session=self.session, cell="c1", stream=True, offset=4)

            self.assertEqual(result["stdout"], "0123456789")
            self.assertEqual(client.streamed("c1"), "456789")

    def test_a_client_that_comes_back_hears_all_of_it_and_the_result(self):
        first = self.daemon.connect()
        self.start_cell("import time\nprint('before', flush=True); time.sleep(0.7); print('after'); 7", "c1", client=first)
        first.wait_streamed("c1", "before\n")
        first.close()

        with self.daemon.connect() as second:
            result = second.call("cell.wait", session=self.session, cell="c1", stream=True)

            self.assert_ok(result, "7")
            self.assertEqual(second.streamed("c1"), "before\nafter\n")

    def test_more_pieces_than_a_window_holds_frames_are_all_there(self):
        everything = "".join(f"line {number}\n" for number in range(20_000))
        code = "import sys\nfor n in range(20_000):\n    print('line', n, file=(sys.stdout, sys.stderr)[n % 2])"

        for cell in ("pieces-1", "pieces-2", "pieces-3"):
            self.run_cell(code, cell=cell)
            pages, offset = [], 0
            while not pages or pages[-1]["chunks"]:
                pages.append(self.call("cell.output", cell=cell, offset=offset))
                offset = pages[-1]["next_offset"]

            self.assertEqual([page["dropped"] for page in pages if page["dropped"]], [])
            self.assertEqual("".join(chunk["text"] for page in pages for chunk in page["chunks"]), everything)

    def test_a_flood_whose_kernel_dies_has_exact_totals_and_its_last_words(self):
        lines = 4000
        code = (
            f"import os, signal, sys, time\nfor _ in range({lines}): print('y' * 9999)\ntime.sleep(0.5)\nprint('to stderr', file=sys.stderr)\n"
            "time.sleep(0.5)\nprint('last words', flush=True)\nos.kill(os.getpid(), signal.SIGKILL)"
        )

        result = self.run_cell(code, cell="flood")

        self.assertEqual(result["status"], "lost", result["status"])
        self.assertEqual(result["stdout_bytes"], lines * 10_000 + len("last words\n"))
        self.assertEqual((result["stderr"], result["stderr_bytes"]), ("to stderr\n", len("to stderr\n")))
        self.assertTrue(result["stdout"].endswith("y\nlast words\n"), result["stdout"][-40:])
        shown = sum(map(len, re.split(r"\n\[\.\.\. \d+ bytes left out \.\.\.\]\n", result["stdout"])))
        self.assertIn(f"[... {result['stdout_bytes'] - shown} bytes left out ...]", result["stdout"])
        self.assertEqual(self.call("cell.output", cell="flood", offset=0)["total_bytes"], lines * 10_000 + 21)

    def test_a_child_that_fills_stdout_and_stderr_at_once_does_not_block(self):
        child = "import sys\nfor _ in range(20000): sys.stdout.write('o' * 49 + chr(10)); sys.stderr.write('e' * 49 + chr(10))"

        result = self.run_cell(f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {child!r}]).returncode")

        self.assert_ok(result, "0")
        self.assertEqual((result["stdout_bytes"], result["stderr_bytes"]), (1_000_000, 1_000_000))

    def test_a_child_with_inherited_stdout_does_not_hold_its_cell(self):
        result = self.run_cell("import subprocess; child = subprocess.Popen(['sleep', '600']); 7")

        self.assert_ok(result, "7")
        self.assertLess(result["duration_ms"], 5000)

    def test_a_childs_output_comes_between_the_prints_around_it(self):
        code = "import subprocess\nprint('before')\nsubprocess.run(['echo', 'child'])\nprint('after')"

        self.assertEqual(self.run_cell(code)["stdout"], "before\nchild\nafter\n")

    def test_bytes_that_are_no_utf8_are_replaced_and_split_characters_joined(self):
        code = "import os, time\nos.write(1, b'\\xe2\\x82'); time.sleep(0.1); os.write(1, b'\\xac|\\xff|')"

        self.assertEqual(self.run_cell(code)["stdout"], "\u20ac|\ufffd|")

    def test_output_of_an_unknown_cell_is_not_found(self):
        self.run_cell("1")
        for method in ("cell.output", "cell.get", "cell.wait"):
            with self.subTest(method), self.assertRaises(RpcError) as caught:
                self.call(method, cell="never")
            self.assertEqual(caught.exception.code, 1001)


if __name__ == "__main__":
    unittest.main()
