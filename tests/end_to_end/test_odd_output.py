"""What cells print in odd ways, and sources, exceptions and streams of odd kinds: nothing is lost, silent or unbounded."""

import re
import unittest

from holdfast_test.cases import SharedDaemonCase
from holdfast_test.waiting import wait_until

HEAD, TAIL = 48 * 1024, 16 * 1024
SOON_SECONDS = 5.0


class OddOutputCase(SharedDaemonCase):
    def call(self, method, **params):
        return self.client.call(method, session=self.session, **params)

    def read_all(self, cell):
        """The whole output in written order, from pages."""
        text, offset = "", 0
        while True:
            page = self.call("cell.output", cell=cell, offset=offset)
            text += "".join(chunk["text"] for chunk in page["chunks"])
            if page["next_offset"] >= page["total_bytes"]:
                return text
            offset = page["next_offset"]

    def assert_goes_on(self, result):
        after = self.run_cell("print('next'); 1")
        self.assert_ok(after, "1")
        self.assertEqual(after["stdout"], "next\n")
        self.assertEqual(after["kernel"]["id"], result["kernel"]["id"])


class FloodTest(OddOutputCase):
    def test_a_flood_by_any_way_of_writing_is_bounded_and_counted_and_can_be_interrupted(self):
        ways = (
            ("stdout", "while True: print(1)", "1\n"),
            ("stderr", "import sys\nwhile True: print(1, file=sys.stderr)", "1\n"),
            ("stdout", "import os\nwhile True: os.write(1, b'1\\n' * 1000)", "1\n"),
            ("stdout", "import subprocess\nsubprocess.run(['yes', '1'])", "1\n"),
            ("stdout", "!yes 1", "1\n"),
            ("stdout", "import asyncio\nwhile True:\n    print('1\\n' * 999)\n    await asyncio.sleep(0)", "1\n"),
        )
        self.run_cell("1")
        for number, (stream, code, line) in enumerate(ways):
            with self.subTest(code):
                cell = f"c{number}"
                pending = self.client.send("run", session=self.session, code=code, cell=cell)
                wait_until(lambda: self.total_of(cell) > 1_000_000, "a megabyte of output", 60)

                self.call("cell.interrupt", cell=cell)

                result = pending.result(SOON_SECONDS)
                self.assertEqual((result["status"], result[f"{stream}_truncated"]), ("interrupted", True), result["status"])
                text = result[stream]
                self.assertTrue(text.startswith(line * 100))
                self.assertIn(f"[... {result[f'{stream}_bytes'] - HEAD - TAIL} bytes left out ...]", text)
                self.assertLess(len(text), HEAD + TAIL + 100)
                self.assert_ok(self.run_cell("2"), "2")

    def total_of(self, cell):
        return self.call("cell.output", cell=cell, limit=1)["total_bytes"]

    def test_more_than_is_kept_inline_is_read_back_whole_whatever_it_consists_of(self):
        ways = (
            ("stderr", "import sys\nfor n in range(1500): print(f'{n:04}', 'x' * 94, file=sys.stderr)",
             "".join(f"{n:04} {'x' * 94}\n" for n in range(1500))),  # fmt: skip
            ("stdout", "print('\u00e9\u20ac\U0001f600' * 20000, end='')", "\u00e9\u20ac\U0001f600" * 20000),
            ("stdout", "import os\nfor n in range(150): os.write(1, (b'%03d' % n) * 341 + b'\\n')",
             "".join(f"{n:03}" * 341 + "\n" for n in range(150))),  # fmt: skip
        )
        for number, (stream, code, whole) in enumerate(ways):
            with self.subTest(code):
                result = self.run_cell(code, cell=f"c{number}")

                size = len(whole.encode())
                self.assertEqual((result[f"{stream}_bytes"], result[f"{stream}_truncated"]), (size, True))
                head, left_out, tail = re.split(r"\n?\[\.\.\. (\d+) bytes left out \.\.\.\]\n", result[stream])
                self.assertTrue(whole.startswith(head) and whole.endswith(tail))
                self.assertLessEqual(abs(int(left_out) - (size - HEAD - TAIL)), 6)  # both are cut between characters
                self.assertEqual(self.read_all(f"c{number}"), whole)


class OrderTest(OddOutputCase):
    def test_whatever_writes_in_turn_can_be_put_in_order(self):
        code = (
            "import logging, os, subprocess, sys\nlogging.basicConfig(stream=sys.stderr, format='%(message)s')\n"
            "for n in range(50):\n    print('out', n)\n    print('err', n, file=sys.stderr)\n    os.write(1, b'low out %d\\n' % n)\n"
            "    os.write(2, b'low err %d\\n' % n)\n    logging.warning('log %d', n)\n"
            "    if n % 10 == 0: subprocess.run(f'echo child {n}; echo child err {n} >&2', shell=True)\n"
        )
        cells = ("out {0}", "err {0}", "low out {0}", "low err {0}", "log {0}")
        expected = []
        for n in range(50):
            expected += [line.format(n) for line in cells]
            if n % 10 == 0:
                expected += [f"child {n}", f"child err {n}"]

        pending = self.start_cell(code, "c1")
        self.assert_ok(pending.result())

        # What went to descriptors 1 and 2 since the last Python write is told stream by stream: its order is known within each of them.
        for wanted in ("out", "err"):
            stream = {"out": "stdout", "err": "stderr"}[wanted]
            lines = [line for line in expected if (line.split()[0] in ("err", "log") or "err" in line) == (wanted == "err")]
            self.assertEqual(self.client.streamed("c1", stream).splitlines(), lines)
        python = [line for line in self.client.streamed("c1").splitlines() if line.split()[0] in ("out", "err", "log")]
        self.assertEqual(python, [line for line in expected if line.split()[0] in ("out", "err", "log")])
        self.assertEqual(self.read_all("c1"), self.client.streamed("c1"))


class StreamsTest(OddOutputCase):
    def test_lone_surrogates_by_any_way_are_escaped_or_an_error_of_their_cell(self):
        ways = (
            "print('\\ud800')",
            "import sys; sys.stderr.write('a\\udfffb'); None",
            "import os; print(os.fsdecode(b'caf\\xe9'))",
            "print('\\ud83d', end=''); print('\\ude00')",
            "import sys; sys.stdout.writelines(['\\udc80'])",
            "import sys; sys.displayhook('\\ud800')",
            "display('\\ud800')",
            "display({'text/html': '\\ud800', 'application/json': {'\\ud800': '\\udfff'}}, raw=True)",
            "type('E\\ud800', (Exception,), {})",
            "import logging; logging.error('\\ud800')",
        )
        for code in ways:
            with self.subTest(code):
                result = self.run_cell(code)
                self.assertTrue(result["status"] == "ok" or result["error"]["name"] == "UnicodeEncodeError", result)
                self.assertFalse([c for c in result["stdout"] + result["stderr"] if "\ud800" <= c <= "\udfff"])
                self.assert_goes_on(result)

    def test_whatever_is_done_to_the_streams_this_cell_and_the_next_have_results_with_output(self):
        ways = (
            "sys.stdout.close()",
            "sys.stdout = None",
            "sys.stdout = sys.stderr = None",
            "sys.stdout.close(); sys.stderr.close(); sys.stdin.close(); sys.__stdout__.close()",
            "sys.__stdout__ = sys.__stderr__ = None",
            "sys.stdout = io.StringIO()",
            "sys.stdout = open(os.devnull, 'w')",
            "sys.stdout = 7",
            "sys.stdout.write = None",
            "sys.stdout.detach()",
            "os.close(1)",
            "os.close(1); os.close(2)",
            "os.dup2(os.open(os.devnull, os.O_WRONLY), 1)",
            "contextlib.redirect_stdout(io.StringIO()).__enter__()",
            "contextlib.redirect_stdout(None).__enter__()",
            "sys.stdout = codecs.getwriter('utf-8')(sys.stdout.buffer)",
            "sys.stdout.reconfigure(encoding='ascii', errors='strict')",
            "del sys.stdout, sys.stderr, sys.stdin",
        )
        for code in ways:
            with self.subTest(code):
                result = self.run_cell(f"import codecs, contextlib, io, os, sys\nprint('before')\ntry: {code}\nexcept Exception: pass\n7")

                self.assert_ok(result, "7")
                self.assertEqual(result["stdout"], "before\n")
                self.assert_goes_on(result)

    def test_printing_on_after_it_closed_its_stream_is_a_result_of_that_cell(self):
        for code in ("sys.stdout.close()", "sys.stdout = None", "del sys.stdout", "os.close(1)"):
            with self.subTest(code):
                result = self.run_cell(f"import os, sys\nprint('before')\n{code}\nprint('after')")

                self.assertIn(result["status"], ("ok", "error"), result)
                self.assertTrue(result["stdout"].startswith("before\n"))
                self.assert_goes_on(result)


class SourceTest(OddOutputCase):
    def test_a_nul_anywhere_in_the_source_is_an_error_of_that_cell_and_nothing_of_it_runs(self):
        for code in ("x = 1\0", "\0", "# a comment \0\nran = 1", "ran = '\0'", "ran = 1\n'''\n\0\n'''", "!echo \0"):
            with self.subTest(repr(code)):
                result = self.run_cell(code)

                self.assertEqual(result["status"], "error", result)
                self.assertIn(result["error"]["name"], ("SyntaxError", "ValueError"))
                self.assert_ok(self.run_cell("'ran' in globals()"), "False")

    def test_the_source_of_all_that_a_cell_defines_can_be_read_also_when_defined_again(self):
        definitions = {
            "Shape": "class Shape:\n    sides = 3\n    def area(self):\n        return 2\n",
            "Shape.area": "    def area(self):\n        return 2\n",
            "plain": "def plain(x):  # with a comment\n    return x\n",
            "waits": "async def waits():\n    pass\n",
            "wrapped": "@functools.lru_cache\ndef wrapped():\n    return 1\n",
            "small": "small = lambda: 4\n",
        }
        whole = "import functools, inspect\n" + "".join(source for name, source in definitions.items() if "." not in name)
        for _ in range(2):
            self.assert_ok(self.run_cell(whole))
            for name, source in definitions.items():
                with self.subTest(name):
                    self.assert_ok(self.run_cell(f"inspect.getsource({name})"), repr(source))
            whole = "# moved down by a line\n" + whole
        read_at_once = self.run_cell("def again(): return 'new'\nimport inspect; inspect.getsource(again)")
        self.assert_ok(read_at_once, repr("def again(): return 'new'\n"))


class ExceptionTest(OddOutputCase):
    def test_all_exceptions_of_a_chain_are_shown_and_those_that_were_taken_out_are_not(self):
        ways = (
            ("raise ValueError('a') from KeyError('b')", ("ValueError: a", "KeyError: 'b'", "direct cause"), ()),
            ("try: 1 / 0\nexcept ZeroDivisionError: raise ValueError('a')", ("ValueError: a", "ZeroDivisionError", "During handling"), ()),
            ("try: 1 / 0\nexcept ZeroDivisionError: raise ValueError('a') from None", ("ValueError: a",), ("division by zero",)),
            ("try:\n    try: {}['b']\n    except KeyError as e: raise OSError('c') from e\n"
             "except OSError as e: raise ValueError('a') from e",
             ("ValueError: a", "OSError: c", "KeyError: 'b'"), ()),  # fmt: skip
            ("async def f():\n    raise ValueError('a') from KeyError('b')\nawait f()", ("ValueError: a", "KeyError: 'b'"), ()),
            ("e = ValueError('a')\ne.__cause__ = KeyError('b')\ne.__cause__.__cause__ = e\nraise e",
             ("ValueError: a", "KeyError: 'b'"), ()),  # fmt: skip
        )
        for code, shown, hidden in ways:
            with self.subTest(code):
                result = self.run_cell(code)

                self.assertEqual((result["status"], result["error"]["name"]), ("error", "ValueError"), result)
                self.assertEqual([word for word in shown if word not in result["error"]["traceback"]], [], result["error"]["traceback"])
                self.assertEqual([word for word in hidden if word in result["error"]["traceback"]], [])

    def test_an_exception_that_cannot_be_shown_fails_its_cell_with_a_fallback_text(self):
        bodies = (
            "def __str__(self): raise RuntimeError('odd')",
            "def __str__(self): return 7",
            "def __str__(self): raise SystemExit(3)",
            "def __str__(self): raise KeyboardInterrupt",
            "def __str__(self): return str(self)",
            "def __str__(self): return '\\ud800' * 10",
            "def __repr__(self): raise ValueError\n    __str__ = __repr__",
            "args = property(lambda self: 1 / 0)\n    __str__ = lambda self: str(self.args)",
            "__traceback__ = None",
            "__class__ = property(lambda self: 1 / 0)",
            "__cause__ = property(lambda self: 1 / 0)",
            "__notes__ = property(lambda self: 1 / 0)",
        )
        for base in ("Exception", "BaseException", "SyntaxError"):
            for body in bodies:
                with self.subTest(body, base=base):
                    result = self.run_cell(f"print('before')\nclass Odd({base}):\n    {body}\nraise Odd()")

                    self.assertEqual((result["status"], result["error"]["name"], result["stdout"]), ("error", "Odd", "before\n"), result)
                    self.assertIn("Odd", result["error"]["traceback"])
                    self.assert_goes_on(result)

    def test_an_exception_whose_text_never_comes_ends_at_the_deadline(self):
        result = self.run_cell("class Odd(Exception):\n    def __str__(self):\n        while True: pass\nraise Odd()", timeout_ms=700)

        self.assertIn(result["status"], ("timeout", "error"), result)
        self.assert_ok(self.run_cell("1"), "1")


if __name__ == "__main__":
    unittest.main()
