"""The end of a kernel that nobody comes back to: its namespace is saved, its spool stays; one that cannot end is ended by its nursery."""

import os
import unittest

from harness import NurseryTest
from holdfast_kernel import spool

# With the interpreter's lock held: PyDLL does not give it up.
HOLD = 'import ctypes, time\ndef hold():\n    time.sleep(0.2)\n    ctypes.PyDLL(None).sleep(600)\n'


class GraceTest(NurseryTest):
    def setUp(self):
        NurseryTest.setUp(self)
        self.state = os.path.join(self.home, 'saved')

    def leave(self, kernel):
        kernel.connection.close()

    def spawn_short(self, name='k-1', grace_ms=300, **changes):
        kernel = self.spawn(name, connect=False, grace_ms=grace_ms, first_grace_ms=grace_ms, state=self.state, **changes)
        kernel.connect(grace_ms=grace_ms)
        return kernel

    def test_the_namespace_is_saved_at_the_end_of_the_grace_and_the_spool_stays(self):
        kernel = self.spawn_short()
        kernel.connection.auto_ack = False
        kernel.run('x = [1, 2]\nimport threading\nlock = threading.Lock()')
        self.leave(kernel)

        record = self.wait_exit(kernel, 10)

        self.assertEqual((record['cause'], record['exit_code']), ('exit', 0))
        self.assertIn('namespace-saved 2 names, 1 skipped', record['log_tail'])
        self.assertEqual(len(spool.read(kernel.file('spool'))[1]), 2)
        self.assertNotIn('note', record)
        fresh = self.spawn('k-2')
        answer = fresh.ask('restore', path=self.state)
        self.assertEqual((answer['names'], [row['name'] for row in answer['skipped']]), (['threading', 'x'], ['lock']))
        self.assertEqual(fresh.run('x')['value'], '[1, 2]')

    def test_one_that_cannot_save_says_so_and_ends(self):
        self.state = os.path.join(self.home, 'none', 'saved')
        kernel = self.spawn_short()
        kernel.run('x = 1')
        self.leave(kernel)

        record = self.wait_exit(kernel, 10)

        self.assertIn('namespace-not-saved cannot save to %s: No such file or directory' % self.state, record['log_tail'])
        self.assertEqual(record['exit_code'], 0)

    def test_a_daemon_that_comes_while_it_saves_keeps_it(self):
        kernel = self.spawn_short()
        kernel.run('import time\nclass Slow:\n    def __reduce__(self): time.sleep(1); return (Slow, ())\nslow = Slow()')
        self.leave(kernel)
        self.wait_until(lambda: os.path.exists(self.state + '.part'), 'it saves')

        kernel.connect(grace_ms=60000)

        self.assertEqual(kernel.run('type(slow).__name__')['value'], "'Slow'")
        self.assertTrue(os.path.exists(self.state))

    def test_a_state_that_is_no_absolute_path_is_refused(self):
        for state in ('relative', 5, ''):
            self.nursery.send(self.spawn_message('k-1', state=state))
            self.assertIn('state is no absolute path', self.nursery.wait_for('spawn_failed')['message'])

    def test_one_whose_lock_is_held_is_ended_by_its_nursery_and_its_exit_says_so(self):
        idle, busy = self.spawn_short('k-1'), self.spawn_short('k-2')
        self.assertEqual(idle.run(HOLD + 'import threading\nthreading.Thread(target=hold).start()')['status'], 'ok')
        busy.execute(HOLD + 'hold()', timeout_ms=500)
        busy.connection.wait_for('started')
        self.leave(idle)
        self.leave(busy)
        self.nursery.close()
        self.wait_until(lambda: not self.is_alive(idle.pid) and not self.is_alive(busy.pid), 'the nursery ended them', 30)
        self.connect_nursery()

        for _ in range(2):
            record = self.nursery.wait_for('exited')
            self.assertEqual(record['signal'], 'SIGKILL')
            self.assertIn('its namespace is not saved', record['note'])
        self.assertFalse(os.path.exists(self.state))

    def test_one_that_runs_a_cell_is_left_alone_however_long_its_lock_is_held(self):
        kernels = {name: self.spawn_short(name) for name in ('k-1', 'k-moved')}
        marker = os.path.join(self.home, 'ended')
        for name, kernel in kernels.items():
            kernel.execute('import ctypes, time\ntime.sleep(1)\nctypes.PyDLL(None).sleep(16)\nopen(%r, "w").close()' % (marker + name))
            kernel.connection.wait_for('started')
            self.leave(kernel)
        self.nursery.close()
        os.rename(kernels['k-moved'].directory, kernels['k-moved'].directory + '-elsewhere')

        for name in kernels:
            self.wait_until(lambda: os.path.exists(marker + name), 'the cell of %s ended' % name, 25)

        self.connect_nursery()
        records = [self.nursery.wait_for('exited') for _kernel in kernels]
        self.assertEqual([(record['exit_code'], record['cause']) for record in records], [(0, 'exit')] * 2)

    def test_what_a_spool_says_of_its_kernel(self):
        path = os.path.join(self.home, 'spool')
        data = memoryview(bytearray(256))
        written = spool.Spool(data)
        for act, held in ((lambda: None, False), (lambda: written.mark_busy(None), True), (lambda: written.mark_busy(5), False),
                          (lambda: written.mark_busy(50), True), (written.mark_idle, False), (lambda: written.mark_jobs(1), True)):
            act()
            with open(path, 'wb') as file:
                file.write(data)
            self.assertEqual(spool.is_held(self.home, 10.0), held)


if __name__ == '__main__':
    unittest.main()
