"""What cells give: values, output, errors; in a real kernel."""

import os
import unittest

from harness import KernelTest
from holdfast_kernel import processes


class CellTest(KernelTest):
    def test_the_last_expression_is_the_value_and_names_stay(self):
        self.assertEqual(self.run_ok('x = 20\nx + 1')['value'], '21')
        self.assertEqual(self.run_ok('_ + x')['value'], '41')
        self.assertIsNone(self.run_ok('None')['value'])
        self.assertIsNone(self.run_ok('y = 1')['value'])
        self.assertEqual(self.run_ok('__name__, __import__("sys").modules["__main__"].x')['value'], "('__main__', 20)")

    def test_started_precedes_output_precedes_done(self):
        self.run_ok('print("a")')
        self.assertEqual([frame['type'] for frame in self.kernel.connection.frames], ['hello', 'started', 'output', 'done'])

    def test_streams_descriptors_and_children_are_in_one_order(self):
        done = self.run_ok('import os, sys, subprocess\nprint(1)\nos.write(1, b"2\\n")\nprint(3)\nsubprocess.run(["echo", "4"])\n'
                           'print(5)\nos.system("echo 6")\nsys.stdout.buffer.write(b"7\\n")\nsys.stdout.write("8\\n");None')
        self.assertEqual(done['stdout']['head'].split(), list('12345678'))
        cell = done['cell']
        self.assertEqual(self.kernel.connection.output(cell), '1\n2\n3\n4\n5\n6\n7\n8\n')

    def test_stdout_and_stderr_in_turn_can_be_put_in_order_by_offset(self):
        done = self.run_ok('import sys\nfor n in range(1000):\n    print(n)\n    print(-n, file=sys.stderr)')
        lines = self.kernel.connection.output(done['cell']).split()
        self.assertEqual(lines, [word for n in range(1000) for word in (str(n), str(-n))])

    def test_a_child_that_floods_both_streams_does_not_block(self):
        code = 'import subprocess, sys\nsubprocess.run([sys.executable, "-c", "import os\\nfor n in range(300): os.write(1, b\'o\'*1000); os.write(2, b\'e\'*1000)"]).returncode'
        done = self.run_ok(code)
        self.assertEqual((done['value'], done['stdout']['bytes'], done['stderr']['bytes']), ('0', 300000, 300000))
        text = self.kernel.connection.output(done['cell'])
        self.assertEqual((text.count('o'), text.count('e')), (300000, 300000))

    def test_150_kb_are_cut_with_exact_totals_and_stream_in_full(self):
        done = self.run_ok('for n in range(15000): print("%09d" % n)')
        self.assertEqual(done['stdout']['bytes'], 150000)
        self.assertEqual((len(done['stdout']['head']), len(done['stdout']['tail'])), (49152, 16384))
        self.assertEqual(self.kernel.connection.output(done['cell']), ''.join('%09d\n' % n for n in range(15000)))

    def test_output_beyond_its_limit_is_counted(self):
        done = self.run_ok('print("x" * 5000)', output_limit=1000)
        self.assertEqual((done['output_bytes'], len(self.kernel.connection.output(done['cell']))), (5001, 1000))

    def test_a_surrogate_is_printed_escaped_and_the_next_cell_runs(self):
        self.assertEqual(self.run_ok("print('\\ud800')")['stdout']['head'], '\\ud800\n')
        self.assertEqual(self.run_ok("'\\ud800'")['value'], "'\\ud800'")
        self.assertEqual(self.run_ok('1')['value'], '1')

    def test_a_closed_or_missing_stdout_silences_no_cell(self):
        for code in ('import sys; sys.stdout.close()', 'sys.stdout = None', 'sys.__stdout__.close(); del sys.stdout',
                     'sys.stdout.write = None', 'import os; os.close(1); os.close(2)'):
            self.assertEqual(self.run_ok('print("before")\n' + code)['stdout']['head'], 'before\n')
            self.assertEqual(self.run_ok('print("after")')['stdout']['head'], 'after\n')

    def test_source_that_cannot_be_compiled_is_an_error_of_that_cell(self):
        for code, names in (('a\0b', ('ValueError', 'SyntaxError')), ('def f(:', ('SyntaxError',)), ("x = '\ud800'", ('UnicodeEncodeError',)),
                            ('\tx', ('IndentationError',)), ('(' * 5000, ('SyntaxError', 'MemoryError', 'RecursionError'))):
            done = self.kernel.run(code)
            self.assertEqual(done['status'], 'error')
            self.assertIn(done['error']['name'], names)
            self.assertNotIn('holdfast', done['error']['traceback'])
        self.assertEqual(self.run_ok('1')['value'], '1')

    def test_a_syntax_error_points_at_its_place(self):
        error = self.kernel.run('x = 1\ny = = 2')['error']
        self.assertIn('line 2', error['traceback'])
        self.assertIn('y = = 2', error['traceback'])
        self.assertIn('^', error['traceback'])
        self.assertNotIn('Traceback', error['traceback'])

    def test_a_traceback_has_the_cell_s_lines_and_none_of_the_kernel_s(self):
        self.run_ok('def f(x):\n    return 1 / x')
        error = self.kernel.run('import json\njson.dumps(f(0))')['error']
        self.assertEqual((error['name'], error['message']), ('ZeroDivisionError', 'division by zero'))
        self.assertIn('    return 1 / x', error['traceback'])
        self.assertIn('    json.dumps(f(0))', error['traceback'])
        self.assertNotIn('holdfast', error['traceback'])
        self.assertNotIn('exec(', error['traceback'])
        error = self.kernel.run('print(*1)\n')['error']
        self.assertNotIn('holdfast', error['traceback'])
        error = self.kernel.run('import sys\nsys.stdout.write(3)')['error']
        self.assertEqual(error['name'], 'TypeError')
        self.assertNotIn('holdfast', error['traceback'])

    def test_cause_and_context_are_in_the_traceback(self):
        text = self.kernel.run("raise ValueError('a') from KeyError('b')")['error']['traceback']
        self.assertIn("KeyError: 'b'", text)
        self.assertIn('ValueError: a', text)
        text = self.kernel.run('try:\n    1/0\nexcept Exception:\n    undefined')['error']['traceback']
        self.assertIn('ZeroDivisionError', text)
        self.assertIn('NameError', text)

    def test_an_exception_that_cannot_be_printed_fails_with_a_fallback(self):
        error = self.kernel.run('class E(Exception):\n    def __str__(self): raise SystemExit(3)\nraise E')['error']
        self.assertEqual((error['name'], error['message']), ('E', '<unprintable E object>'))
        self.assertEqual(self.run_ok('1')['value'], '1')

    def test_exit_keeps_the_namespace(self):
        self.run_ok('kept = 5')
        for code, expected in (('import sys; sys.exit(3)', 3), ('exit = SystemExit()\nraise exit', 0), ('raise SystemExit("why")', 1)):
            done = self.kernel.run(code)
            self.assertEqual((done['status'], done['exit_code']), ('exit', expected))
        self.assertEqual(self.run_ok('kept')['value'], '5')

    def test_input_fails_at_once_and_clearly(self):
        for code in ('input("name? ")', 'import getpass; getpass.getpass()'):
            error = self.kernel.run(code)['error']
            self.assertEqual(error['name'], 'EOFError')
            self.assertIn('not available in a cell', error['message'])

    def test_endless_recursion_is_an_error_and_a_lowered_limit_harms_no_later_cell(self):
        self.assertEqual(self.kernel.run('def f(): f()\nf()')['error']['name'], 'RecursionError')
        self.kernel.run('import sys; sys.setrecursionlimit(30)')
        self.assertEqual(self.run_ok('print(1); [[[1]]]')['value'], '[[[1]]]')

    def test_a_forked_child_ends_with_the_cell_and_is_no_second_kernel(self):
        done = self.kernel.run('import os\npid = os.fork()\nif pid == 0: print("c")\nelse: print(os.waitpid(pid, 0)[1])\n')
        self.assertEqual(sorted(done['stdout']['head'].split()), ['0', 'c'])
        self.assertEqual(len([frame for frame in self.kernel.connection.frames if frame['type'] == 'done']), 1)
        self.assertEqual(self.run_ok('1')['value'], '1')
        done = self.kernel.run('pid = os.fork()\nif pid == 0: 1/0\nos.waitpid(pid, 0)[1] >> 8')
        self.assertEqual(done['value'], '1')
        self.assertIn('ZeroDivisionError', done['stderr']['head'])

    def zombies(self):
        stats = [processes.stat(child) for child in processes.children(self.kernel.pid)]
        return [stat for stat in stats if stat is not None and stat[0] == 'Z']

    def test_a_forked_child_that_nobody_waits_for_is_reaped_once_its_cell_has_ended(self):
        for code in ('import os\nif os.fork() == 0: print("c")', 'import time\nif os.fork() == 0: time.sleep(0.3)',
                     'if os.fork() == 0: os.close(1); os.close(2); time.sleep(0.3)',
                     'if os.fork() == 0:\n    import builtins\n    del builtins.open\n    1/0'):
            self.run_ok(code)
            self.wait_until(lambda: not processes.children(self.kernel.pid), 'the child to be reaped')

    def test_one_that_ends_by_exit_keeps_its_exit_code_for_a_later_cell(self):
        self.run_ok('import os\npid = os.fork()\nif pid == 0: os._exit(7)')
        self.wait_until(self.zombies, 'the end of the child')
        self.assertEqual(self.run_ok('1')['value'], '1')
        self.assertEqual(self.run_ok('os.waitpid(pid, 0)[1] >> 8')['value'], '7')

    def test_multiprocessing_with_fork_works(self):
        done = self.run_ok('import multiprocessing\nwith multiprocessing.get_context("fork").Pool(2) as pool:\n    r = pool.map(abs, [-1, -2])\nr')
        self.assertEqual(done['value'], '[1, 2]')
        self.assertEqual(done['stderr']['head'], '')

    def test_a_background_child_with_inherited_stdout_does_not_hold_the_cell(self):
        done = self.run_ok('import subprocess\np = subprocess.Popen(["sleep", "600"])\np.pid')
        self.assertTrue(self.is_alive(int(done['value'])))
        self.run_ok('p.kill(); p.wait()')

    def test_late_output_of_a_thread_is_not_the_later_cell_s(self):
        self.run_ok('import threading\ngo = threading.Event()\nt = threading.Thread(target=lambda: (go.wait(), print("late")))\nt.start()')
        done = self.run_ok('go.set(); t.join()')
        self.assertEqual(done['stdout']['head'], '')

    def test_users_do_not_see_the_kernel_s_thread_nor_its_program(self):
        self.assertEqual(self.run_ok('import threading\nthreading.active_count()')['value'], '1')
        self.assertEqual(self.run_ok('import sys\n[p for p in sys.path if "bin/kernel" in p], sys.path[0], sys.argv')['value'], "([], '', [''])")

    def test_environment_and_directory_are_those_of_the_spawn(self):
        self.assertEqual(self.run_ok('import os\nsorted(os.environ), os.getcwd()')['value'],
                         repr((['HOLDFAST_KERNEL', 'HOME', 'LANG', 'MPLBACKEND', 'PATH'], os.path.realpath(self.home))))

    def test_a_module_in_the_working_directory_shadows_nothing_of_the_kernel(self):
        with open(os.path.join(self.home, 'json.py'), 'w') as file:
            file.write('raise RuntimeError("shadowed")')
        other = self.spawn('k-2')
        self.assertEqual(other.run('1+1')['value'], '2')

    def test_modules_that_a_cell_gave_a_class_of_its_own_cost_no_later_cell(self):
        self.kernel.run('import builtins, sys, types\nclass Sealed(types.ModuleType):\n    def __setattr__(self, *_): raise AttributeError\n'
                        'sys.__class__ = builtins.__class__ = Sealed')

        self.assertEqual(self.run_ok('40 + 2')['value'], '42')
        self.assertEqual(self.run_ok('print(_)')['stdout']['head'], '42\n')

    def test_closed_descriptors_are_rebuilt(self):
        self.kernel.execute('import os\nos.closerange(3, 2000)\nkept = 7')
        self.wait_until(lambda: b'descriptors-lost listening socket: rebuilt' in self.kernel.file('kernel.log'), 'rebuilt')
        self.kernel.connect()
        self.assertEqual(self.kernel.hello['type'], 'hello')
        self.assertEqual(self.kernel.connection.wait_for('done')['status'], 'ok')
        self.assertEqual(self.run_ok('kept')['value'], '7')
        self.assertEqual(self.run_ok('import time; time.sleep(0.05); print(1)')['stdout']['head'], '1\n')

    def test_descriptors_that_a_cell_makes_blocking_stop_nothing(self):
        self.run_ok('import os, time\nfor name in os.listdir("/proc/self/fd"):\n'
                    '    try: os.set_blocking(int(name), True)\n    except OSError: pass\nkept = 7')

        for _ in range(3):  # long enough for the link thread to take over, and to be asked to give back
            done = self.run_ok('for i in range(20): print("x" * 50000); time.sleep(0.002)\nkept', timeout=5)
            self.assertEqual(done['value'], '7')


if __name__ == '__main__':
    unittest.main()
