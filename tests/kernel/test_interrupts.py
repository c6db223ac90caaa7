"""Interrupts and deadlines: they meet the cell they are for, wherever it is, and nothing else."""

import json
import os
import signal
import time
import unittest

from harness import Closed, KernelTest
from holdfast_kernel import spool


class InterruptTest(KernelTest):
    spawning = {'interrupt_grace_ms': 600}

    def test_sleep_loops_children_and_repr_are_interrupted(self):
        for code in ('import time\ntime.sleep(60)', 'while True: pass', 'while True: print(1)',
                     'import subprocess\nsubprocess.run("sleep 60", shell=True, capture_output=True)',
                     'class R:\n    def __repr__(self):\n        while True: pass\nR()',
                     'import threading\nthreading.Event().wait()', 'import select\nselect.select([], [], [], 60)',
                     'class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E'):
            cell = self.kernel.execute(code)
            self.kernel.connection.wait_for('started', cell=cell)
            began = time.monotonic()
            self.interrupt(cell)
            done = self.kernel.connection.wait_for('done', cell=cell)
            self.assertEqual((done['status'], done['error']['name']), ('interrupted', 'KeyboardInterrupt'), (code, done))
            self.assertNotIn('holdfast', done['error']['traceback'])
            self.assertLess(time.monotonic() - began, 0.6, code)
            self.assertEqual(self.kernel.run('1')['value'], '1')

    def test_a_deadline_ends_the_cell_as_timeout_with_its_output(self):
        began = time.monotonic()
        done = self.kernel.run('import time\nprint("kept")\ntime.sleep(60)', timeout_ms=200)
        self.assertEqual((done['status'], done['stdout']['head']), ('timeout', 'kept\n'))
        self.assertLess(time.monotonic() - began, 0.8)
        self.assertGreaterEqual(done['duration_ms'], 200)
        self.assertEqual(self.kernel.run('2', timeout_ms=1)['value'], '2')

    def test_a_cell_that_closes_the_timer_leaves_the_next_one_its_deadline(self):
        close = ('import os\nfor name in os.listdir("/proc/self/fd"):\n    try:\n        path = os.readlink("/proc/self/fd/" + name)\n'
                 '    except OSError:\n        continue\n    if "timerfd" in path: os.close(int(name))')
        for _ in range(3):
            self.kernel.execute(close)
            cell = self.kernel.execute('while True: pass', timeout_ms=100)
            self.assertEqual(self.kernel.connection.wait_for('done', cell=cell)['status'], 'timeout')

    def test_a_long_cell_right_behind_quick_ones_is_served(self):
        for _ in range(20):
            for _ in range(3):
                self.kernel.execute('1')
            cell = self.kernel.execute('while True: pass', timeout_ms=20)
            self.assertEqual(self.kernel.connection.wait_for('done', cell=cell)['status'], 'timeout')

    def test_a_deadline_of_another_cell_never_meets_the_next(self):
        for _ in range(30):
            self.kernel.run('import time\ntime.sleep(0.008)', timeout_ms=8)
            done = self.kernel.run('sum(range(1000))')
            self.assertEqual((done['status'], done['value']), ('ok', '499500'))

    def test_an_interrupt_for_a_cell_that_is_not_executing_is_dropped(self):
        self.kernel.run('1')
        cell = self.kernel.execute('import time\ntime.sleep(0.1)\n5')
        self.interrupt('c-1')
        self.assertEqual(self.kernel.connection.wait_for('done', cell=cell)['value'], '5')

    def test_a_cell_that_swallows_its_interrupt_ends_with_its_kernel(self):
        cell = self.kernel.execute('import time\nprint("on")\nwhile True:\n    try: time.sleep(1)\n    except: pass')
        self.kernel.connection.wait_for('started')
        self.interrupt(cell)
        done = self.kernel.connection.wait_for('done')
        self.assertEqual((done['status'], done['kernel_ended'], done['stdout']['head']), ('interrupted', True, 'on\n'))
        record = self.wait_exit(self.kernel)
        self.assertEqual((record['cause'], record['signal']), ('signal', 'SIGKILL'))

    def test_a_swallowed_deadline_is_in_the_spool_when_nobody_is_attached(self):
        self.kernel.execute('import time\nwhile True:\n    try: time.sleep(1)\n    except: pass', timeout_ms=100)
        self.kernel.connection.wait_for('started')
        self.kernel.connection.close()
        self.wait_exit(self.kernel)
        frames = [json.loads(payload) for _seq, payload in spool.read(self.kernel.file('spool'))[1]]
        self.assertEqual([(frame['type'], frame.get('status'), frame.get('kernel_ended')) for frame in frames][-1], ('done', 'timeout', True))

    def test_a_cell_that_handles_its_interrupt_ends_as_it_likes(self):
        cell = self.kernel.execute('import time\ntry: time.sleep(60)\nexcept KeyboardInterrupt: pass\n"cleaned up"')
        self.kernel.connection.wait_for('started')
        self.interrupt(cell)
        done = self.kernel.connection.wait_for('done')
        self.assertEqual((done['status'], done['value']), ('ok', "'cleaned up'"))

    def test_a_keyboard_interrupt_of_its_own_is_interrupted(self):
        self.assertEqual(self.kernel.run('raise KeyboardInterrupt')['status'], 'interrupted')
        self.assertEqual(self.kernel.run('import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(5)')['status'], 'interrupted')

    def test_sigint_to_an_idle_kernel_does_nothing(self):
        for _ in range(20):
            os.kill(self.kernel.pid, signal.SIGINT)
            self.assertEqual(self.kernel.run('1')['status'] in ('ok', 'interrupted'), True)
        os.kill(self.kernel.pid, signal.SIGHUP)
        self.assertEqual(self.kernel.run('1')['value'], '1')

    def test_the_handler_is_put_back_before_the_next_cell(self):
        self.kernel.run('import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)')
        cell = self.kernel.execute('import time\ntime.sleep(60)')
        self.kernel.connection.wait_for('started')
        self.interrupt(cell)
        self.assertEqual(self.kernel.connection.wait_for('done')['status'], 'interrupted')

    def test_a_sigint_that_a_cell_blocked_or_took_by_other_means_reaches_the_next_one(self):
        for code in ('import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])',
                     'import signal\nsignal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())',
                     'import ctypes, signal\nctypes.CDLL(None).signal(signal.SIGINT, ctypes.c_void_p(1)) is None',
                     'import faulthandler, signal\nfaulthandler.register(signal.SIGINT)',
                     'import signal, _signal\nsignal.pthread_kill = signal.pthread_sigmask = _signal.signal = _signal.pthread_sigmask = None\n'
                     'signal.SIGINT = 3'):
            self.assertEqual(self.kernel.run(code)['status'], 'ok', code)
            for awaiting in (False, True):
                done = self.kernel.run('import time, asyncio\n' + ('await asyncio.sleep(60)' if awaiting else 'time.sleep(60)'), timeout_ms=100)
                self.assertEqual((done['status'], done.get('kernel_ended')), ('timeout', None), (code, done))

    def test_a_sigint_that_waits_behind_a_mask_meets_no_later_cell(self):
        self.kernel.run('import os, signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\nos.kill(os.getpid(), signal.SIGINT)')
        self.assertEqual(self.kernel.run('sum(range(1000))')['value'], '499500')

    def test_many_interrupts_of_a_printing_cell_break_nothing(self):
        for round_ in range(40):
            cell = self.kernel.execute('while True: print(%d)' % round_)
            self.kernel.connection.wait_for('output', cell=cell)
            self.interrupt(cell)
            done = self.kernel.connection.wait_for('done', cell=cell)
            self.assertEqual(done['status'], 'interrupted')

    def test_shutdown_interrupts_the_cell_and_ends_the_kernel(self):
        self.kernel.run('import atexit\natexit.register(lambda: open(%r, "w").close())' % os.path.join(self.home, 'handler'))
        self.kernel.execute('import time\ntime.sleep(60)')
        self.kernel.connection.wait_for('started')
        self.kernel.connection.send({'type': 'shutdown', 'reason': 'test'})
        self.assertEqual(self.kernel.connection.wait_for('done')['status'], 'interrupted')
        with self.assertRaises(Closed):
            self.kernel.connection.next()
        record = self.wait_exit(self.kernel)
        self.assertEqual((record['cause'], record['exit_code']), ('exit', 0))
        self.assertIn('kernel-ended shutdown: test', record['log_tail'])
        self.assertTrue(os.path.exists(os.path.join(self.home, 'handler')))

    def test_an_exit_handler_that_hangs_does_not_hold_the_kernel(self):
        self.kernel.run('import atexit, time\natexit.register(time.sleep, 1000)')
        self.kernel.connection.send({'type': 'shutdown', 'reason': 'test'})
        self.assertEqual(self.wait_exit(self.kernel, 6)['exit_code'], 0)


if __name__ == '__main__':
    unittest.main()
