"""Figures of the program alone, without a daemon: output of a flooding cell, the cost of a print, the fork of a session.

    python3 bench/program.py        measures the interpreter that runs it

What is shown is the best of some rounds: other work on the machine only adds. A print is counted in processor time of the cell's thread.
"""

import json
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'tests', 'kernel'))

import harness  # noqa: E402

ROUNDS = 5
EVERYTHING = 1 << 40
KEPT = 1 << 24
PRINTS = 20000
COUNTED = 't = time.thread_time()\nfor _ in range(%d): %%s\n(time.thread_time() - t) / %d * 1e6' % (PRINTS, PRINTS)


def show(what, figure):
    print('%-44s %s' % (what, figure))


class Figures(harness.NurseryTest):
    def setUp(self):
        super().setUp()
        self.kernel = self.spawn()
        self.kernel.run('import subprocess, sys, time\nline = "x" * 1023')

    def take_all(self, cell):
        """The done of a cell. Frames are acked as they come, and not looked at: a daemon must not be what is measured."""
        connection, buffer = self.kernel.connection, bytearray(self.kernel.connection.buffer)
        connection.buffer = b''
        while True:
            at = 0
            while len(buffer) >= at + harness.HEADER.size:
                length, seq, _ack = harness.HEADER.unpack_from(buffer, at)
                start = at + harness.HEADER.size
                if len(buffer) < start + length:
                    break
                at = start + length
                connection.state['received'] = max(connection.state['received'], seq)
                if buffer.startswith(b'{"type":"done"', start):
                    connection.ack()
                    done = json.loads(bytes(buffer[start:at]))
                    self.assertEqual((done['cell'], done['status']), (cell, 'ok'), done)
                    return done
            del buffer[:at]
            connection.ack()
            buffer += connection.socket.recv(1 << 20)

    def flood(self, what, code, limit):
        best = 0.0
        for _ in range(ROUNDS):
            began = time.perf_counter()
            done = self.take_all(self.kernel.execute(code, output_limit=limit))
            best = max(best, done['output_bytes'] / (time.perf_counter() - began))
        show(what, '%.0f MB/s' % (best / 1e6))

    def test_flood(self):
        printing = 'for _ in range(100000): print(line)'
        child = 'subprocess.run("yes %s | head -c 200000000" % line, shell=True)\nNone'
        for source, code in (('print, lines of 1 KiB', printing), ('a child', child)):
            self.flood(source + ', the first 16 MiB sent', code, KEPT)
            self.flood(source + ', all sent', code, EVERYTHING)

    def test_print(self):
        for what in ('print(1)', 'print(line)', 'print(1); print(1, file=sys.stderr)'):
            values = [float(self.take_all(self.kernel.execute(COUNTED % what, output_limit=EVERYTHING))['value']) for _ in range(ROUNDS)]
            show(what, '%.1f us' % min(values))

    def test_fork(self):
        for what, code in (('100 MB in one value', 'x = b"x" * 100_000_000'), ('100 MB in 3 million values', 'x = [float(n) for n in range(3_000_000)]')):
            self.kernel.run(code)
            best = None
            for number in range(ROUNDS):
                name = 'k-%d-%d' % (len(code), number)
                directory = os.path.join(self.home, 'run', name)
                os.makedirs(directory)
                began = time.perf_counter()
                answer = self.kernel.ask('fork', kernel=name, token='cd' * 32, directory=directory, env={})
                took = time.perf_counter() - began
                self.assertIn('pid', answer)
                self.pids.append(answer['pid'])
                best = took if best is None else min(best, took)
            show('fork of a session with ' + what, '%.1f ms' % (best * 1e3))


if __name__ == '__main__':
    result = unittest.TextTestRunner(stream=sys.stderr, verbosity=0).run(unittest.defaultTestLoader.loadTestsFromTestCase(Figures))
    sys.exit(not result.wasSuccessful())
