"""Processes that cells start through multiprocessing find what cells defined."""

import unittest

from harness import KernelTest

DEFINITIONS = '''
import math, multiprocessing, concurrent.futures
FACTOR = 3
def helper(x): return x * FACTOR
def f(x): return helper(x) + int(math.sqrt(16))
def countdown(n): return 0 if n == 0 else 1 + countdown(n - 1)
def adder(n):
    def add(x): return x + n
    return add
class Point:
    """Of two numbers."""
    count = 2
    def __init__(self, x, y): self.x, self.y = x, y
    def total(self): return self.x + self.y
    @classmethod
    def origin(cls): return cls(0, 0)
    @property
    def double(self): return 2 * self.total()
class Sub(Point):
    def total(self): return super().total() + 100
def move(p): return type(p)(p.x + 1, p.y)
'''


class ProcessTest(KernelTest):
    def setUp(self):
        super().setUp()
        self.run_ok(DEFINITIONS)

    def value(self, code):
        return super().value(code, timeout_ms=15000)

    def test_a_spawn_pool_runs_functions_defined_in_cells(self):
        self.value('pool = multiprocessing.get_context("spawn").Pool(1)')

        self.assertEqual(self.value('pool.map(f, [1, 2])'), '[7, 10]')
        self.assertEqual(self.value('FACTOR = 10\npool.map(f, [1, 2])'), '[14, 24]')
        self.assertEqual(self.value('pool.map(countdown, [3])'), '[3]')
        self.assertEqual(self.value('pool.map(adder(5), [3])'), '[8]')
        self.assertEqual(self.value('pool.map(lambda x: x + FACTOR, [3])'), '[13]')
        self.assertEqual(self.value('q = pool.map(move, [Point(1, 2), Sub(3, 4)])\n[(type(p) in (Point, Sub), p.total(), p.double) for p in q]'),
                         '[(True, 4, 8), (True, 108, 216)]')
        self.assertEqual(self.value('pool.apply(Point.origin).total()'), '0')
        self.assertEqual(self.value('pool.terminate(); pool.join()'), None)

    def test_what_cannot_be_sent_to_a_spawned_process_is_a_clear_error(self):
        self.value('import enum, threading\nclass Color(enum.Enum):\n    RED = 1\nlock = threading.Lock()\ndef locked(x): return lock\n'
                   'pool = multiprocessing.get_context("spawn").Pool(1)')

        error = self.kernel.run('pool.map(str, [Color.RED])', timeout_ms=15000)['error']
        self.assertIn('cannot send class Color, defined in a cell, to a spawned process', error['message'])
        self.assertIn('lock', self.kernel.run('pool.map(locked, [1])', timeout_ms=15000)['error']['message'])
        self.assertEqual(self.value('r = pool.map(abs, [-1]); pool.terminate(); r'), '[1]')

    def test_a_spawn_executor_and_a_spawned_process_work(self):
        self.assertEqual(self.value('with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as e:\n'
                                    '    r = list(e.map(f, [1, 2]))\nr'), '[7, 10]')
        self.assertEqual(self.value('def say(x): print("said", f(x), flush=True)\np = multiprocessing.get_context("spawn").Process(target=say, args=(1,))\n'
                                    'p.start(); p.join(); p.exitcode'), '0')

    def test_a_forked_pool_shares_what_it_had_and_its_classes_stay_the_same(self):
        self.assertEqual(self.value('import enum\nclass Color(enum.Enum):\n    RED = 1\ndef same(c): return c is Color.RED\n'
                                    'with multiprocessing.get_context("fork").Pool(1) as pool: r = pool.map(f, [1]), pool.map(same, [Color.RED])\nr'),
                         '([7], [True])')

    def test_the_namespace_is_the_main_module(self):
        self.assertEqual(self.value('import sys\nvars(sys.modules["__main__"]) is globals(), Point.__module__'), "(True, '__main__')")
        self.assertEqual(self.value('import pickle\npickle.loads(pickle.dumps(f)) is f'), 'True')

    def test_a_child_of_a_fork_that_python_is_not_told_of_becomes_no_second_kernel(self):
        for code in ('print("in the child", flush=True)', 'raise ValueError("in the child")', 'display("in the child")'):
            fork = 'import ctypes, os\nchild = ctypes.PyDLL(None).fork()\nif child == 0: %s\nchild > 0' % code

            self.assertEqual(self.value(fork), 'True')
            self.assertEqual(self.value('os.WIFEXITED(os.waitpid(child, 0)[1])'), 'True')
            for number in range(20):  # nobody takes frames or text from the kernel
                cell = self.kernel.execute('print(%d)' % number)
                self.assertEqual(self.kernel.connection.wait_for('done', cell=cell)['stdout']['head'].replace('in the child\n', ''), '%d\n' % number)


if __name__ == '__main__':
    unittest.main()
