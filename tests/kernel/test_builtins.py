"""A cell may do to the builtins and to modules of the library what it likes: the kernel's own code has others."""

import builtins
import unittest

from harness import KernelTest

REPLACE = """
import importlib
replaced = [(module, name, value) for module in map(importlib.import_module, %r) for name, value in list(vars(module).items())
            if callable(value) and not isinstance(value, type) and name != 'fspath']  # that one the library itself calls
for module, name, value in replaced:
    setattr(module, name, 5)
"""
RESTORE = "for module, name, value in replaced: setattr(module, name, value)"
LIBRARY = ('_signal', 'fcntl', 'json', 'os', 'resource', 'select', 'signal', 'socket', 'stat', 'struct', 'time', 'zlib')
HOLD = "held = vars(__import__('builtins')); saved = dict(held); import sys; out = sys.stdout"


class BuiltinsTest(KernelTest):
    def setUp(self):
        super().setUp()
        self.assertEqual(self.kernel.run(HOLD)['status'], 'ok')

    def assert_cells_run(self, after):
        done = self.kernel.run("out.write('seen')\n[1, 'a']")
        self.assertEqual((done['status'], done['value'], done['stdout']['head']), ('ok', "[1, 'a']", 'seen'), after)
        done = self.kernel.run('1/0')
        self.assertEqual((done['status'], done['error']['name']), ('error', 'ZeroDivisionError'), after)
        done = self.kernel.run('x =')
        self.assertEqual((done['status'], done['error']['name']), ('error', 'SyntaxError'), after)

    def test_cells_go_on_without_any_one_builtin(self):
        for name in sorted(vars(builtins)):
            self.kernel.run('lost = held.pop(%r, None)' % name)
            self.assert_cells_run('%s removed' % name)
            self.kernel.run('held[%r] = lost' % name)

    def test_cells_go_on_with_any_one_builtin_replaced(self):
        for name in sorted(vars(builtins)):
            self.kernel.run('lost, held[%r] = held.get(%r), 5' % (name, name))
            self.assert_cells_run('%s replaced' % name)
            self.kernel.run('held[%r] = lost' % name)

    def test_cells_go_on_without_any_builtin_at_all(self):
        self.kernel.run('held.clear()')

        self.assert_cells_run('all removed')
        self.assertEqual(self.kernel.run('held.update(saved)\nlen("abc")')['value'], '3')

    def test_an_interrupt_needs_no_builtin(self):
        cell = self.kernel.execute("held.clear()\nout.write('on')\nwhile True: pass")
        self.kernel.connection.wait_for('output', cell=cell)
        self.kernel.connection.send({'type': 'interrupt', 'cell': cell})

        self.assertEqual(self.kernel.connection.wait_for('done', cell=cell)['status'], 'interrupted')
        self.assert_cells_run('all removed, interrupted')

    def replace_library(self):
        """All at once: a cell restores what it needs."""
        self.assertEqual(self.kernel.run(REPLACE % (LIBRARY,))['status'], 'ok')
        self.assertEqual(self.kernel.run('import os; os.close')['value'], '5')

    def test_cells_go_on_without_any_function_of_the_library(self):
        self.replace_library()

        self.assert_cells_run('library replaced')
        self.assertEqual(self.kernel.run(RESTORE + '\nos.getpid()')['value'], str(self.kernel.pid))

    def test_interrupts_deadlines_and_a_new_daemon_need_no_function_of_the_library(self):
        self.replace_library()

        cell = self.kernel.execute("out.write('on')\nwhile True: pass")
        self.kernel.connection.wait_for('output', cell=cell)
        self.kernel.connection.send({'type': 'interrupt', 'cell': cell})
        self.assertEqual(self.kernel.connection.wait_for('done', cell=cell)['status'], 'interrupted')
        self.assertEqual(self.kernel.run('while True: pass', timeout_ms=50)['status'], 'timeout')
        self.kernel.connection.close()
        self.kernel.connect(incarnation=2)
        self.assert_cells_run('attached again')

    def test_jobs_need_no_function_of_the_library(self):
        self.replace_library()

        self.assertEqual(self.kernel.run("j = run('/bin/sh', '-c', 'exit 3')\nj.wait(10)")['value'], '3')
        self.assertEqual(self.kernel.run("j = run('/bin/sh', '-c', 'echo up; sleep 600 & sleep 600')\nj.stop()")['value'], '-15')

    def test_cells_and_their_imports_see_the_shared_ones(self):
        done = self.kernel.run("import builtins, json\nlen is builtins.len and json.__builtins__ is vars(builtins)\n")

        self.assertEqual(done['value'], 'True')


if __name__ == '__main__':
    unittest.main()
