"""per_call.py: what it says on its channel, and that it goes with whoever holds the other end."""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TEXT = (Path(__file__).resolve().parents[2] / 'bin' / 'kernel' / 'per_call.py').read_text()
HOLDS_THE_INTERPRETER = "import re\nprint('on', flush=True)\nre.match('(a+)+$', 'a' * 60 + 'b')"


class Interpreter:
    """One of them, whose other end we hold."""

    def __init__(self, **how):
        self.channel, theirs = socket.socketpair()
        self.channel.settimeout(20)
        how.setdefault('stderr', subprocess.PIPE)
        self.process = subprocess.Popen([sys.executable, '-c', TEXT], stdin=theirs, stdout=subprocess.PIPE, start_new_session=True, **how)
        theirs.close()
        self.said = self.channel.makefile('rb')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.said.close()
        self.channel.close()
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream:
                stream.close()

    def is_ready(self):
        return self.said.readline() == b'ready\n'

    def send(self, source):
        data = source.encode('utf-8', 'surrogatepass')
        self.channel.sendall(struct.pack('>I', len(data)) + data)

    def reply(self):
        return json.loads(self.said.readline())


class PerCallTest(unittest.TestCase):
    def outcome(self, source):
        with Interpreter() as one:
            self.assertTrue(one.is_ready())
            one.send(source)
            return one.reply()

    def test_nothing_runs_before_the_source_is_whole(self):
        with Interpreter() as one:
            self.assertTrue(one.is_ready())
            one.channel.sendall(struct.pack('>I', 20) + b'print(1)')
            one.channel.shutdown(socket.SHUT_WR)
            self.assertEqual(one.process.wait(20), 1)
            self.assertEqual(one.process.stdout.read(), b'')

    def test_a_module_of_the_working_directory_is_the_cell_s_and_not_ours(self):
        with tempfile.TemporaryDirectory() as directory:
            Path(directory, 'json.py').write_text("where = 'here'\n")
            with Interpreter(cwd=directory) as one:
                self.assertTrue(one.is_ready())
                one.send('import sys\nsys.path[0]')
                self.assertEqual(one.reply()['value'], "''")

    def test_what_it_says_of_values(self):
        for source, value in (
            ('1', '1'), ('x = 1', None), ('None', None), ('(1,)', '(1,)'), ('{1: [2]}', '{1: [2]}'), ("'\\ud800'", "'\\ud800'"),
            ("'a' * 5000", "'%s'... [1000 characters left out] ...'%s'" % ('a' * 3000, 'a' * 1000)),
            ('[0] * 60', '[' + '0, ' * 50 + '... 10 more]'), ('...', 'Ellipsis'),
            ('from __future__ import annotations\ndef f(x: y): pass\nf.__annotations__', "{'x': 'y'}"),
        ):  # fmt: skip
            with self.subTest(source=source):
                self.assertEqual(self.outcome(source), {'status': 'ok', 'value': value})
        self.assertLess(len(self.outcome("class C:\n    def __repr__(self): return 'x' * 10**6\nC()")['value']), 64 * 1024 + 1)

    def test_a_repr_and_a_text_that_raise_are_errors_of_the_cell(self):
        self.assertEqual(self.outcome('class C:\n    def __repr__(self): 1 / 0\nC()')['error']['name'], 'ZeroDivisionError')
        error = self.outcome('class E(Exception):\n    def __str__(self): 1 / 0\nraise E')['error']
        self.assertEqual((error['name'], error['message']), ('E', '<unprintable E object>'))

    def test_tracebacks_have_the_cell_s_own_lines_only(self):
        for source in ('def f():\n    raise ValueError(1)\nf()', 'async def f():\n    raise ValueError(1)\nawait f()'):
            with self.subTest(source=source):
                lines = [line for line in self.outcome(source)['error']['traceback'].splitlines() if 'File' in line]
                self.assertEqual(len(lines), 2, lines)
                for line in lines:
                    self.assertIn('File "<cell>"', line)

    def test_an_interrupt_before_the_source_is_the_cell_s(self):
        with Interpreter() as one:
            self.assertTrue(one.is_ready())
            one.process.send_signal(signal.SIGINT)
            one.send('print(1)')
            self.assertEqual(one.reply()['error']['name'], 'KeyboardInterrupt')
            self.assertEqual(one.process.stdout.read(), b'')

    def test_the_end_of_the_other_end_kills_it_and_its_children_also_while_c_code_runs(self):
        for source in ("import time\nprint('on', flush=True)\ntime.sleep(600)", HOLDS_THE_INTERPRETER,
                       "import subprocess\np = subprocess.Popen(['sleep', '600'])\nprint('on', flush=True)\np.wait()"):  # fmt: skip
            with self.subTest(source=source), Interpreter() as one:
                self.assertTrue(one.is_ready())
                one.send(source)
                self.assertEqual(one.process.stdout.readline(), b'on\n')

                one.said.close()
                one.channel.close()

                self.assertEqual(one.process.wait(20), -signal.SIGKILL)
                self.assertEqual(one.process.stdout.read(), b'', 'nobody holds its output any more')

    def test_it_goes_with_the_other_end_also_at_its_own_end(self):
        with Interpreter() as one:
            self.assertTrue(one.is_ready())
            one.send("import atexit, time\natexit.register(lambda: (print('on', flush=True), time.sleep(600)))\n1")
            self.assertEqual(one.reply()['value'], '1')
            self.assertEqual(one.process.stdout.readline(), b'on\n')

            one.said.close()
            one.channel.close()

            self.assertEqual(one.process.wait(20), -signal.SIGKILL)


if __name__ == '__main__':
    unittest.main()
