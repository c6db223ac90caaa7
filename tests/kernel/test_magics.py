"""`!command`, `%pip` and what is said of other magics."""

import os
import sys
import time
import unittest

from harness import KernelTest, NurseryTest
from holdfast_kernel import magics


class ReplacementTest(unittest.TestCase):
    def test_lines_become_calls_and_keep_their_numbers(self):
        for source, wanted in (
                ('!ls', "{c}('ls')"), ('  ! ls -l "$HOME" ', "  {c}('ls -l \"$HOME\"')"), ('x = !ls', "x = {c}('ls', True)"),
                ('if x:\n    !ls\nelse:\n    pass', "if x:\n    {c}('ls')\nelse:\n    pass"), ('!a \\\n  b\nc', "{c}('a \\\\\\n  b')\n\nc"),
                ('%pip install a b', "{c}('install a b', False, True)"), ('%matplotlib inline\n1', 'pass\n1'), ('  %matplotlib', '  pass')):
            self.assertEqual(magics.replaced(source, 'f'), wanted.format(c=magics.CALL), source)

    def test_strings_brackets_and_continued_lines_are_left_alone(self):
        for source in ('x = """\n!ls\n%time\n"""', "x = '''\n!ls '\n'''\n", 'x = (5\n% 3)', 'x = 5 \\\n% 3', 'x = "(" + """\\"""\n!a\n"""', 'f(\n  ")", # )\n!ls\n)',
                       "x = 'it\\'s' # \"\"\"\ny = 1", 'x = "a\\\n!b"', 'x != y', 'f"{x!r}"', 'print("what?")', '# why?', 'x = """\nwhat?\n"""'):
            self.assertEqual(magics.replaced(source, 'f'), source)

    def test_what_is_not_known_says_what_to_write(self):
        for source, number, wanted in (('%time f()', 1, 'time.perf_counter()'), ('x = 1\n%timeit f()', 2, 'timeit.timeit('), ('%cd /tmp', 1, 'os.chdir('),
                                       ('%%bash\nls', 1, '!COMMAND'), ('%%time\nf()', 1, 'perf_counter'), ('%foo', 1, 'there is no %foo here'),
                                       ('%%pip install x', 1, 'there is no %%pip here'), ('len?', 1, 'help(len)'), ('?len', 1, 'help(len)'),
                                       ('%', 1, 'there is no % here')):
            with self.assertRaises(SyntaxError) as caught:
                magics.replaced(source, 'f')
            self.assertIn(wanted, caught.exception.msg)
            self.assertEqual(caught.exception.lineno, number)


class ShellTest(KernelTest):
    def setUp(self):
        NurseryTest.setUp(self)
        self.kernel = self.spawn(env={'PATH': os.environ['PATH'], 'HOME': self.home, 'LANG': 'C.UTF-8', 'PIP_NO_INDEX': '1'})

    def test_a_command_writes_into_the_cell_in_order_and_leaves_its_code(self):
        done = self.run_ok('print("a")\n!echo b; echo c >&2; exit 3\nprint("d", _exit_code)')

        self.assertEqual((done['stdout']['head'], done['stderr']['head']), ('a\nb\nd 3\n', 'c\n'))
        self.assertEqual(self.kernel.connection.output(done['cell']).split(), ['a', 'b', 'c', 'd', '3'])
        self.assertIsNone(done['value'])
        self.assertEqual(self.run_ok('!true\n_exit_code')['value'], '0')

    def test_its_output_streams_while_it_runs(self):
        cell = self.kernel.execute('!echo on; read x < %s/pipe' % self.home)
        os.mkfifo(os.path.join(self.home, 'pipe'))
        self.kernel.connection.wait_for('output', cell=cell, text='on\n')
        self.kernel.connection.send({'type': 'interrupt', 'cell': cell})
        self.kernel.connection.wait_for('done', cell=cell)

    def test_its_lines_can_be_taken(self):
        self.assertEqual(self.run_ok('x = !printf "a\\nb c\\n"\nx')['value'], "['a', 'b c']")

    def test_a_line_cannot_read_and_a_failing_command_is_no_error(self):
        self.assertEqual(self.run_ok('!read x || echo nothing\n!no-such-command\n_exit_code', timeout_ms=5000)['value'], '127')

    def test_an_interrupt_ends_the_whole_command(self):
        for code in ('!echo on; sleep 77 | cat', 'x = !echo on >&2; sleep 77 | cat', '!trap "" TERM; echo on; while :; do sleep 0.01; done'):
            cell = self.kernel.execute(code)
            self.kernel.connection.wait_for('output', cell=cell)
            began = time.monotonic()
            self.kernel.connection.send({'type': 'interrupt', 'cell': cell})
            done = self.kernel.connection.wait_for('done', cell=cell)
            self.assertEqual(done['status'], 'interrupted')
            self.assertLess(time.monotonic() - began, 1.0)
            self.wait_until(lambda: not self.of_the_kernel(), 'nothing of the command is left')

    def of_the_kernel(self):
        """The pids of processes that it started: no other test's have that home."""
        found = []
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                with open('/proc/%s/environ' % pid, 'rb') as file:
                    if b'HOME=' + self.home.encode() in file.read().split(b'\0'):
                        found.append(pid)
            except OSError:
                continue
        return found

    def test_pip_is_that_of_this_interpreter(self):
        done = self.run_ok('%pip --version\n_exit_code', timeout_ms=20000)

        self.assertEqual(done['value'], '0')
        self.assertIn('python %d.%d' % sys.version_info[:2], done['stdout']['head'])

    def test_an_unknown_magic_is_an_error_of_its_cell_that_shows_the_line(self):
        error = self.kernel.run('x = 1\n%time x')['error']

        self.assertEqual(error['name'], 'SyntaxError')
        self.assertIn('line 2', error['traceback'])
        self.assertIn('    %time x', error['traceback'])
        self.assertIn('write instead: import time', error['message'])

    def test_the_cell_s_own_lines_are_in_the_traceback(self):
        error = self.kernel.run('!true\n1/0  # here')['error']

        self.assertIn('line 2', error['traceback'])
        self.assertIn('1/0  # here', error['traceback'])


if __name__ == '__main__':
    unittest.main()
