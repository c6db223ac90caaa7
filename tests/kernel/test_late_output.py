"""What outlives its cell writes as that cell: threads by who started them, processes by the pipe that they were given."""

import unittest

from harness import NurseryTest

GATES = 'import threading, time\ngates = [threading.Event() for _ in range(9)]\nseen = threading.Semaphore(0)'


class LateOutputTest(NurseryTest):
    def setUp(self):
        super().setUp()
        self.kernel = self.spawn()
        self.run_ok(GATES)

    def run_ok(self, code, **options):
        done = self.kernel.run(code, **options)
        self.assertEqual(done['status'], 'ok', done)
        return done

    def text(self, cell, wanted):
        """The output of a cell once it ends with that."""
        while not self.kernel.connection.output(cell).endswith(wanted):
            self.kernel.connection.wait_for('output', cell=cell)
        self.kernel.connection.ack()
        return self.kernel.connection.output(cell)

    def test_a_thread_writes_as_the_cell_that_started_it(self):
        first = self.run_ok('t = threading.Thread(target=lambda: (gates[0].wait(), print("late")))\nt.start()\nprint("first")')

        second = self.run_ok('gates[0].set(); t.join(); print("second")')

        self.assertEqual((first['stdout']['head'], second['stdout']['head']), ('first\n', 'second\n'))
        self.assertEqual(self.text(first['cell'], 'late\n'), 'first\nlate\n')

    def test_it_is_sent_though_no_cell_runs(self):
        cell = self.run_ok('print("a")\nthreading.Timer(0.3, print, ["late"]).start()')['cell']
        self.assertEqual(self.text(cell, 'late\n'), 'a\nlate\n')

    def test_a_thread_of_a_thread_inherits(self):
        cell = self.run_ok('def inner(): print("inner")\ndef outer():\n    gates[0].wait()\n    i = threading.Thread(target=inner)\n    i.start(); i.join()\n'
                           't = threading.Thread(target=outer)\nt.start()')['cell']
        other = self.run_ok('gates[0].set(); t.join()')
        self.assertEqual(other['stdout']['bytes'], 0)
        self.assertEqual(self.text(cell, 'inner\n'), 'inner\n')

    def test_one_that_is_started_without_the_threading_module_too(self):
        cell = self.run_ok('import _thread, sys\ndef f(a, *, b):\n    gates[0].wait()\n    print(a, b, file=sys.stderr)\n    seen.release()\n'
                           '_thread.start_new_thread(f, (1,), {"b": 2})')['cell']
        other = self.run_ok('gates[0].set(); seen.acquire()')
        self.assertEqual(other['stderr']['bytes'], 0)
        self.assertEqual(self.text(cell, '1 2\n'), '1 2\n')

    def test_mistakes_with_threads_are_told_as_ever(self):
        for code, name in (('_thread.start_new_thread(1, ())', 'TypeError'), ('_thread.start_new_thread(print, 1)', 'TypeError'),
                           ('_thread.start_new_thread()', 'TypeError'), ('_thread.start_new_thread(print, (), 3)', 'TypeError')):
            done = self.kernel.run('import _thread\n' + code)
            self.assertEqual((done['status'], done['error']['name']), ('error', name), code)
            self.assertNotIn('holdfast', done['error']['traceback'])
        done = self.run_ok('t = threading.Thread(target=lambda: 1/0)\nt.start(); t.join()\n'
                           'import _thread\n_thread.start_new_thread(lambda: 1/0, ())\ntime.sleep(0.2)')
        self.assertEqual(done['stderr']['head'].count('ZeroDivisionError'), 2)
        self.assertNotIn('holdfast', done['stderr']['head'])

    def test_the_work_of_a_pool_writes_as_the_cell_that_submitted_it(self):
        first = self.run_ok('from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1)\npool.submit(print, "one").result()')
        second = self.run_ok('pool.submit(print, "two").result()')
        late = self.run_ok('f = pool.submit(lambda: (gates[0].wait(), print("late")))')
        third = self.run_ok('gates[0].set(); f.result(); print("three")\nimport asyncio\nawait asyncio.get_running_loop().run_in_executor(pool, print, "four")')
        self.assertEqual([one['stdout']['head'] for one in (first, second, late, third)], ['one\n', 'two\n', '', 'three\nfour\n'])
        self.assertEqual(self.text(late['cell'], 'late\n'), 'late\n')

    def test_a_task_that_outlives_its_cell_writes_as_it(self):
        cell = self.run_ok('import asyncio\nasync def late():\n    await go.wait()\n    print("late")\ngo = asyncio.Event()\nt = asyncio.ensure_future(late())\n'
                           'await asyncio.sleep(0)\nprint("first")')['cell']
        other = self.run_ok('go.set()\nawait t\nprint("other")')
        self.assertEqual(other['stdout']['head'], 'other\n')
        self.assertEqual(self.text(cell, 'late\n'), 'first\nlate\n')

    def test_a_context_variable_of_the_user_s_does_not_reach_the_thread(self):
        done = self.run_ok('import contextvars\nv = contextvars.ContextVar("v", default=0)\nv.set(1)\nr = []\n'
                           't = threading.Thread(target=lambda: (r.append(v.get()), v.set(2)))\nt.start(); t.join()\nr, v.get()')
        self.assertEqual(done['value'], '([0], 1)')

    def test_late_output_goes_on_at_its_offset_and_is_bounded_with_the_cell_s(self):
        cell = self.run_ok('print("a" * 9)\nt = threading.Thread(target=lambda: (gates[0].wait(), print("b" * 9), print("c" * 9)))\nt.start()',
                           output_limit=25)['cell']
        other = self.run_ok('gates[0].set(); t.join(); print("d")')
        self.assertEqual(other['stdout']['head'], 'd\n')
        self.assertEqual(self.text(cell, 'c' * 5), 'a' * 9 + '\n' + 'b' * 9 + '\n' + 'c' * 5)
        self.assertEqual([frame['offset'] for frame in self.kernel.connection.frames if frame['type'] == 'output' and frame['cell'] == cell][0], 0)


if __name__ == '__main__':
    unittest.main()
