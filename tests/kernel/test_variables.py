"""`variables`: bounded rows of the user's names; what the values do when looked at is harmless."""

import os
import time
import unittest

from harness import KernelTest

EXOTIC = """import os, time, ctypes
class Raises:
    def __repr__(self): raise ValueError('no')
    def __sizeof__(self): raise ValueError('no')
class Hangs:
    def __repr__(self):
        while True:
            try: time.sleep(60)
            except BaseException: pass
class Kills:
    def __repr__(self): ctypes.string_at(0)
class Leaves:
    def __repr__(self): os._exit(3)
class Huge:
    def __repr__(self): return 'x' * 10**7
class Changes:
    def __repr__(self): after.append('changed'); print('printed'); return 'changes'
class Meta(type):
    @property
    def __name__(cls): raise ValueError('no')
class Odd(metaclass=Meta): pass
raises, hangs, kills, leaves, huge, changes, odd, after = Raises(), Hangs(), Kills(), Leaves(), Huge(), Changes(), Odd(), ['after']
"""


class VariablesTest(KernelTest):
    def rows(self):
        answer = self.kernel.ask('variables')
        self.assertNotIn('error', answer)
        return {row['name']: row for row in answer['rows']}

    def test_a_value_that_ends_its_process_by_a_real_time_signal_costs_itself_only(self):
        self.kernel.run('import os\nclass Kills:\n    def __repr__(self): os.kill(os.getpid(), 40)\nkills, after = Kills(), 1')

        rows = self.rows()

        self.assertIn('SIG40', rows['kills']['preview'])
        self.assertEqual(rows['after']['preview'], '1')

    def test_a_fresh_kernel_has_none(self):
        self.assertEqual(self.rows(), {})

    def test_each_of_the_user_s_names_has_type_size_and_text(self):
        self.kernel.run('import sys\nfrom builtins import len\n__own = 1\n__dunder__ = 2\nx = [1, 2]\nnothing = None\nlist = 5\nd = {"k": "v" * 5000}\n7')

        rows = self.rows()

        self.assertEqual(list(rows), ['sys', '__own', 'x', 'nothing', 'list', 'd'])
        size = int(self.kernel.run('sys.getsizeof(x)')['value'])
        self.assertEqual(rows['x'], {'name': 'x', 'type': 'list', 'bytes': size, 'preview': '[1, 2]'})
        self.assertEqual((rows['nothing']['preview'], rows['nothing']['type']), ('None', 'NoneType'))
        self.assertEqual(len(rows['d']['preview']), 200)

    def test_slow_texts_are_answered_before_a_daemon_gives_up(self):
        self.kernel.run('import time\nclass Slow:\n    def __repr__(self): time.sleep(0.4); return "slow"\n'
                        'for n in range(20): globals()["s%d" % n] = Slow()')
        began = time.monotonic()

        rows = self.rows()

        self.assertLess(time.monotonic() - began, 4.7)  # request_deadline of the daemon is 5 s
        self.assertEqual(rows['s0']['preview'], 'slow')
        self.assertIn('the time for all was used up', rows['s19']['preview'])

    def test_they_are_listed_though_a_cell_replaced_what_makes_json(self):
        self.kernel.run('import json\njson.dumps = json.loads = None\nx = 5')

        self.assertEqual(self.rows()['x']['preview'], '5')

    def test_what_values_do_when_looked_at_is_harmless(self):
        self.assertEqual(self.kernel.run(EXOTIC)['status'], 'ok')

        rows = self.rows()

        self.assertEqual(rows['raises']['bytes'], None)
        self.assertIn('its repr raised ValueError', rows['raises']['preview'])
        self.assertIn('longer than', rows['hangs']['preview'])
        self.assertIn('SIGSEGV', rows['kills']['preview'])
        self.assertIn('exited 3', rows['leaves']['preview'])
        self.assertEqual(len(rows['huge']['preview']), 200)
        self.assertEqual(rows['odd']['type'], 'Odd')
        self.assertEqual((rows['changes']['preview'], rows['after']['preview']), ('changes', "['after', 'changed']"))
        done = self.kernel.run('after')
        self.assertEqual((done['value'], done['stdout']['head']), ("['after']", ''))

    def test_thousands_of_names_come_in_pages(self):
        self.kernel.run('for n in range(2500): globals()["v%d" % n] = "x" * 10000')

        answer = self.kernel.ask('variables')

        self.assertEqual((len(answer['rows']), answer['next']), (1000, 1000))
        self.assertEqual(answer['rows'][999]['name'], 'v998')
        answer = self.kernel.ask('variables', after=2400, limit=10)
        self.assertEqual(([row['name'] for row in answer['rows']], answer['next']), (['v%d' % n for n in range(2399, 2409)], 2410))
        answer = self.kernel.ask('variables', after=2500)
        self.assertEqual(([row['name'] for row in answer['rows']], answer['next']), (['v2499'], None))
        self.assertEqual(self.kernel.ask('variables', after=-1)['error']['kind'], 'failed')

    def test_it_is_refused_while_a_cell_runs(self):
        marker = os.path.join(self.home, 'go')
        cell = self.kernel.execute('import os, time\nwhile not os.path.exists(%r): time.sleep(0.01)' % marker)
        self.kernel.connection.wait_for('started', cell=cell)

        self.assertEqual(self.kernel.ask('variables')['error']['kind'], 'busy')

        open(marker, 'w').close()
        self.kernel.connection.wait_for('done', cell=cell)
        self.assertIn('os', self.rows())

    def test_a_cell_that_comes_meanwhile_runs_after_it(self):
        self.kernel.run('import time\nclass Slow:\n    def __repr__(self): time.sleep(0.3); return "slow"\nslow = Slow()')
        self.kernel.connection.send({'type': 'request', 'id': 'r', 'what': 'variables'})

        cell = self.kernel.execute('slow = None')

        self.assertEqual(self.kernel.connection.wait_for('answer', id='r')['rows'][2]['preview'], 'slow')
        self.kernel.connection.wait_for('done', cell=cell)

    def test_values_locked_by_a_thread_do_not_hang_it(self):
        self.kernel.run('import threading\nlock = threading.Lock()\nclass Locked:\n    def __repr__(self):\n        with lock: return "free"\n'
                        'locked = Locked()\nhold = threading.Event()\nready = threading.Event()\ndef keep():\n    with lock:\n'
                        '        ready.set(); hold.wait()\nthread = threading.Thread(target=keep)\nthread.start()\nready.wait()')

        self.assertIn('longer than', self.rows()['locked']['preview'])

        self.assertEqual(self.kernel.run('hold.set(); thread.join(); locked')['value'], 'free')

    def test_the_kernel_keeps_no_descriptor_and_no_child_of_it(self):
        self.kernel.run('import os\ndef state(): return len(os.listdir("/proc/self/fd"))')
        before = self.kernel.run('state()')['value']
        for _ in range(3):
            self.rows()

        self.assertEqual(self.kernel.run('state()')['value'], before)
        self.assertEqual(self.kernel.run('os.waitpid(-1, os.WNOHANG)')['error']['name'], 'ChildProcessError')


if __name__ == '__main__':
    unittest.main()
