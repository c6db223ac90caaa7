"""A kernel that the system ended for want of memory says so as its probable cause."""

import os
import tempfile
import unittest

from harness import NurseryTest
from holdfast_kernel.oom import OomCounter

EATING = 'import time\nkeep = []\nwhile True: keep.append(bytearray(b"x") * (1 << 20))'
MEMORY = '/sys/fs/cgroup/memory'


class CounterTest(unittest.TestCase):
    def setUp(self):
        file = tempfile.NamedTemporaryFile('w', suffix='.oom_control')
        self.addCleanup(file.close)
        self.path = file.name
        self.set_count(3)
        self.counter = OomCounter([self.path, self.path + '.missing'])

    def set_count(self, count):
        with open(self.path, 'w') as file:
            file.write('oom_kill_disable 0\nunder_oom 0\noom_kill %d\n' % count)

    def test_only_what_was_counted_since_counts(self):
        self.assertFalse(self.counter.has_grown(0.0))
        self.set_count(4)
        self.assertTrue(self.counter.has_grown(1.0))

    def test_two_that_died_of_one_want_are_both_told_and_one_that_dies_later_is_not(self):
        self.set_count(5)
        self.assertTrue(self.counter.has_grown(1.0))
        self.assertTrue(self.counter.has_grown(2.0))
        self.assertFalse(self.counter.has_grown(60.0))

    def test_without_a_counter_nothing_is_told(self):
        self.assertFalse(OomCounter(['/nowhere/memory.events']).has_grown(0.0))


def _cgroup():
    """A cgroup of ours whose limit of memory can be set, or None."""
    if os.geteuid() or not os.path.exists(MEMORY + '/memory.limit_in_bytes'):
        return None
    try:
        return tempfile.mkdtemp(prefix='holdfast-', dir=MEMORY)
    except OSError:
        return None


class KilledTest(NurseryTest):
    def setUp(self):
        self.cgroup = _cgroup()
        if self.cgroup is None:
            self.skipTest('needs root and a writable memory cgroup (version 1)')
        self.addCleanup(os.rmdir, self.cgroup)  # once the processes are gone
        super().setUp()

    def test_a_cell_that_eats_all_memory_of_its_cgroup_dies_of_oom_and_sigkill(self):
        kernel = self.spawn()
        kernel.run('1')
        with open(self.cgroup + '/memory.limit_in_bytes', 'w') as file:
            file.write(str(64 << 20))
        for pid in (self.nursery_pid, kernel.pid):
            with open(self.cgroup + '/cgroup.procs', 'w') as file:
                file.write(str(pid))

        kernel.execute(EATING)
        record = self.wait_exit(kernel)

        self.assertEqual((record['cause'], record['signal']), ('oom', 'SIGKILL'))
