"""Figures of the program alone, without a daemon: new kernels, floods of output, the cost of a print, fork and saving of a session.

    python3 bench/program.py        measures the interpreter that runs it

What is shown is the best of some rounds: other work on the machine only adds. A print is counted in processor time of the cell's thread.
New kernels and warm cells take turns with those of ipykernel, where that is installed, and are shown as percentiles. The budget is in
parentheses.
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
STARTS = 30  # new kernels of each kind
WARM = 300  # cells
COUNTED = 't = time.thread_time()\nfor _ in range(%d): %%s\n(time.thread_time() - t) / %d * 1e6' % (PRINTS, PRINTS)


def show(what, figure, budget=None):
    print('%-56s %s%s' % (what, figure, '' if budget is None else '  (%s)' % budget), flush=True)


def percentiles(took):
    took = sorted(took)
    return 'p50 %.2f p99 %.2f ms' % tuple(took[min(len(took) - 1, int(len(took) * part))] * 1e3 for part in (0.5, 0.99))


def timed(work, *arguments):
    began = time.perf_counter()
    result = work(*arguments)
    return time.perf_counter() - began, result


class IPythonKernel:
    """A kernel of ipykernel and its client. ImportError if they are not installed."""

    def __init__(self):
        import ipykernel  # noqa: F401  (what the client starts)
        from jupyter_client.manager import start_new_kernel
        self.manager, self.client = start_new_kernel(startup_timeout=harness.PATIENCE)

    def run(self, code):
        reply = self.client.execute_interactive(code, timeout=harness.PATIENCE, output_hook=lambda message: None)
        assert reply['content']['status'] == 'ok', reply

    def end(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


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
        show(what, '%.0f MB/s' % (best / 1e6), '150 MB/s')

    def test_flood(self):
        printing = 'for _ in range(100000): print(line)'
        child = 'subprocess.run("yes %s | head -c 200000000" % line, shell=True)\nNone'
        for source, code in (('print, lines of 1 KiB', printing), ('a child', child)):
            self.flood(source + ', the first 16 MiB sent', code, KEPT)
            self.flood(source + ', all sent', code, EVERYTHING)

    def test_print(self):
        for what, prints in (('print(1)', 1), ('print(line)', 1), ('print(1); print(1, file=sys.stderr)', 2)):
            values = [float(self.take_all(self.kernel.execute(COUNTED % what, output_limit=EVERYTHING))['value']) for _ in range(ROUNDS)]
            show(what, '%.1f us' % min(values), '%d us' % (3 * prints))

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
            show('fork of a session with ' + what, '%.1f ms' % (best * 1e3), '10 ms')

    def test_saving(self):
        path = os.path.join(self.home, 'state')
        several = 'for n in range(1000): globals()["v%d" % n] = [n, str(n)]\ndel n'
        one = 'big = b"x" * ((8 << 20) - 1024)'  # a saved value has at most 8 MiB
        for number, (what, code, names) in enumerate((('1,000 small values', several, 1000), ('one value of 8 MiB', one, 1))):
            kernel = self.spawn('k-save-%d' % number)
            kernel.run(code)
            saving, restoring = [], []
            for turn in range(ROUNDS):
                fresh = self.spawn('k-restore-%d-%d' % (number, turn))
                for times, asked, request in ((saving, kernel, 'snapshot'), (restoring, fresh, 'restore')):
                    took, answer = timed(lambda: asked.ask(request, path=path))
                    self.assertEqual((len(answer['names']), answer['skipped']), (names, []))
                    times.append(took)
            show('snapshot of ' + what, '%.1f ms' % (min(saving) * 1e3))
            show('restore of ' + what, '%.1f ms' % (min(restoring) * 1e3))

    def test_kernels(self):
        starts, warm, others, other_warm = [], [], [], []
        try:
            other = IPythonKernel()
            self.addCleanup(other.end)
        except ImportError:
            other = None
        for number in range(STARTS):
            starts.append(timed(self.first_result, 'k-new-%d' % number)[0])
            if other is not None:
                took, started = timed(self.first_result_of_other)
                started.end()
                others.append(took)
        for _ in range(WARM):
            warm.append(timed(self.kernel.run, '1+1')[0])
            if other is not None:
                other_warm.append(timed(other.run, '1+1')[0])
        show('new kernel to first result', percentiles(starts), '5, 20 ms through the daemon')
        show('warm 1+1', percentiles(warm))
        if other is None:
            show('ipykernel', "not installed: Debian's python3-ipykernel, python3-jupyter-client")
        else:
            show('ipykernel: new kernel to first result', percentiles(others))
            show('ipykernel: warm 1+1', percentiles(other_warm))

    def first_result(self, name):
        self.assertEqual(self.spawn(name).run('1+1')['value'], '2')

    @staticmethod
    def first_result_of_other():
        started = IPythonKernel()
        started.run('1+1')
        return started


if __name__ == '__main__':
    result = unittest.TextTestRunner(stream=sys.stderr, verbosity=0).run(unittest.defaultTestLoader.loadTestsFromTestCase(Figures))
    sys.exit(not result.wasSuccessful())
