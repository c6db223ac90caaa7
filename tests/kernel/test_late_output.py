"""What outlives its cell writes as that cell: threads by who started them, processes by the pipe that they were given."""

import os
import signal
import unittest

from harness import KernelTest
from holdfast_kernel import pipes

GATES = 'import threading, time\ngates = [threading.Event() for _ in range(9)]\nseen = threading.Semaphore(0)'


class PipesTest(unittest.TestCase):
    def test_a_new_pipe_under_the_number_of_one_that_a_cell_closed_is_read(self):
        made = [os.pipe() for _ in range(4)]
        one, other, new_one, new_other = (reader for reader, _writer in made)
        read = pipes.Pipes({1: one, 2: other})
        os.close(one)
        os.close(other)
        os.dup2(new_one, other)
        os.set_blocking(other, False)

        read.renew(1, other)
        read.renew(2, new_other)

        self.assertEqual((read.is_whole(1), read.is_whole(2), read.present_fds()), (True, True, {1: other, 2: new_other}))
        for _reader, writer in made[2:]:
            os.write(writer, b'x')
        self.assertEqual(sorted(read.ready()), sorted([other, new_other]))
        for fd in [other, new_one, new_other] + [writer for _reader, writer in made]:
            os.close(fd)


class LateOutputTest(KernelTest):
    def setUp(self):
        super().setUp()
        self.run_ok(GATES)

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

    LATE = 'import subprocess\np = subprocess.Popen("read x; echo late %s; echo oops >&2", shell=True, stdin=subprocess.PIPE)\nprint("first")'

    def test_a_process_writes_as_the_cell_that_left_it(self):
        first = self.run_ok(self.LATE % 1)
        second = self.run_ok('q = p\n' + self.LATE % 2)

        third = self.run_ok('import os\nfor one in (q, p):\n    one.communicate(b"x\\n")\nos.write(1, b"third\\n")\nos.write(2, b"own\\n")')

        self.assertEqual([one['stdout']['head'] for one in (first, second, third)], ['first\n', 'first\n', 'third\n'])
        self.assertEqual(third['stderr']['head'], 'own\n')
        for cell, number in ((first['cell'], 1), (second['cell'], 2)):
            self.assertEqual(self.text(cell, 'late %d\noops\n' % number), 'first\nlate %d\noops\n' % number)

    def test_it_is_sent_at_once_though_no_cell_runs(self):
        cell = self.run_ok(self.LATE % 1)['cell']
        self.run_ok('p.stdin.write(b"x\\n"); p.stdin.close()')
        self.text(cell, 'oops\n')

    def test_one_whose_parent_is_gone_too(self):
        gate = os.path.join(self.home, 'gate')
        os.mkfifo(gate)
        cell = self.run_ok('import os\nos.system("(read x < %s; echo late) & exit 0")' % gate)['cell']
        other = self.run_ok('with open(%r, "w") as file: file.write("x")\nimport time\ntime.sleep(0.3)' % gate)
        self.assertEqual(other['stdout']['head'], '')
        self.assertEqual(self.text(cell, 'late\n'), 'late\n')

    def test_a_process_of_a_background_cell_writes_as_it(self):
        cell = self.kernel.execute('import asyncio\ngo = asyncio.Event()\np = await asyncio.create_subprocess_shell("read x; echo mine", '
                                   'stdin=asyncio.subprocess.PIPE)\nawait go.wait()\nawait p.communicate(b"x\\n")', background_after_ms=30)
        self.kernel.connection.wait_for('background', cell=cell)
        other = self.run_ok('go.set()\nwhile p.returncode is None: await asyncio.sleep(0.01)\nprint("other")')
        self.assertEqual(other['stdout']['head'], 'other\n')
        self.assertEqual(self.text(cell, 'mine\n'), 'mine\n')
        done = [frame for frame in self.kernel.connection.frames if frame['type'] == 'done' and frame['cell'] == cell] or [
            self.kernel.connection.wait_for('done', cell=cell)]
        self.assertEqual(done[0]['stdout']['head'], 'mine\n')

    def test_where_a_cell_keeps_a_copy_of_its_descriptor_all_goes_to_the_newest_cell(self):
        self.run_ok('import os, subprocess\nsaved = os.dup(1)\np = subprocess.Popen("read x; echo late", shell=True, stdin=subprocess.PIPE)')
        second = self.run_ok('os.write(1, b"out "); os.write(saved, b"end\\n")\np.communicate(b"x\\n")')
        self.assertEqual(second['stdout']['head'], 'out end\nlate\n')
        self.run_ok('os.close(saved)')
        self.assertEqual(self.run_ok('os.write(1, b"again\\n")')['stdout']['head'], 'again\n')

    def test_where_a_cell_has_left_its_descriptors_pointing_elsewhere_the_next_one_has_its_output(self):
        for left in ('os.dup2(os.open("/dev/null", os.O_WRONLY), 1); os.dup2(1, 2)', 'saved = os.dup(1); os.dup2(os.open("/dev/null", os.O_WRONLY), 1)',
                     'os.close(1); os.close(2)', 'os.dup2(1, 2)'):
            first = self.kernel.execute('import os, subprocess\n' + left)
            cells = [self.kernel.execute('os.write(1, b"out "); subprocess.run("echo child", shell=True)\nos.write(2, b"err ")') for _ in range(2)]

            for cell in [first] + cells:
                done = self.kernel.connection.wait_for('done', cell=cell)
                self.assertEqual(done['status'], 'ok', done)
            for cell in cells:
                self.assertEqual(self.kernel.connection.output(cell), 'out child\nerr ', left)

    def test_cells_that_leave_no_process_keep_their_pipes(self):
        look = 'import os\nos.readlink("/proc/self/fd/1"), os.readlink("/proc/self/fd/2")'
        before = self.run_ok(look)['value']
        self.run_ok('import subprocess\nsubprocess.run("echo a; echo b >&2", shell=True)')
        self.run_ok('pid = os.fork()\nif pid == 0: os._exit(0)\nos.waitpid(pid, 0)')
        self.assertEqual(self.run_ok(look)['value'], before)
        self.assertEqual(self.run_ok('os.write(1, b"own")')['stdout']['head'], 'own')

    def test_a_pipe_is_closed_with_its_last_process(self):
        count = 'import os\nlen(os.listdir("/proc/self/fd"))'
        before = self.run_ok(count)['value']
        for _ in range(5):
            self.run_ok('import subprocess\np = subprocess.Popen(["cat"], stdin=subprocess.PIPE)')
            self.run_ok('p.stdin.close(); p.wait(); del p')
        self.wait_until(lambda: self.run_ok(count)['value'] == before, 'the descriptors are as many as before')

    def test_processes_without_end_are_bounded_and_no_output_is_lost(self):
        self.run_ok('import subprocess\nleft = []')
        cells = [self.run_ok('left.append(subprocess.Popen("read x; echo %d", shell=True, stdin=subprocess.PIPE))' % number)['cell']
                 for number in range(20)]
        self.assertEqual(self.run_ok('print("own")')['stdout']['head'], 'own\n')
        last = self.run_ok('for p in left: p.communicate(b"x\\n")\n1')
        for number, cell in enumerate(cells[:16]):
            self.assertEqual(self.text(cell, '%d\n' % number), '%d\n' % number)
        self.assertEqual(last['stdout']['head'], ''.join('%d\n' % number for number in range(16, 20)))

    def test_what_a_cell_wrote_before_a_crash_is_kept_though_it_has_pipes_of_its_own(self):
        self.run_ok('import subprocess, os\np = subprocess.Popen(["sleep", "60"])')
        self.kernel.execute('os.write(1, b"before"); os.write(2, b"oops"); os._exit(3)')
        record = self.wait_exit(self.kernel)
        self.assertEqual({one['stream']: one['text'] for one in record['rest']}, {'stdout': 'before', 'stderr': 'oops'})

    def test_a_nursery_that_is_gone_holds_up_nothing(self):
        os.kill(self.nursery_pid, signal.SIGKILL)
        self.wait_until(lambda: not self.is_alive(self.nursery_pid), 'the nursery ends')
        self.run_ok('import subprocess\np = subprocess.Popen(["sleep", "60"])')
        self.assertEqual(self.run_ok('print("on"); p.kill(); p.wait()')['stdout']['head'], 'on\n')

    def test_split_characters_of_two_cells_are_not_mixed(self):
        write = 'import subprocess, sys\np = subprocess.Popen([sys.executable, "-c", "import os; os.write(1, b\'\\xe2\\x98\'); input(); os.write(1, b\'\\x83\')"], ' \
                'stdin=subprocess.PIPE)\nimport time\ntime.sleep(0.4)'
        self.run_ok(write)
        second = self.run_ok('import os\nos.write(1, b"\\xe2"); os.write(1, b"\\x82"); os.write(1, b"\\xac")\np.communicate(b"\\n")')
        self.assertEqual(second['stdout']['head'], '\u20ac')


if __name__ == '__main__':
    unittest.main()
