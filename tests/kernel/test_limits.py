"""Limits that cells set on their own process: the kernel goes on under them, with output, threads and descriptors."""

import resource
import unittest

from harness import KernelTest, NurseryTest

NO_DESCRIPTORS = 'import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (%d, %d))\n'
HARD = resource.getrlimit(resource.RLIMIT_NOFILE)[1]


class DescriptorLimitTest(KernelTest):
    def test_a_thread_that_ends_while_there_are_no_descriptors_ends_no_kernel(self):
        """Before Python 3.11 the C library loads a library when the first thread ends, and ends the process if it cannot."""
        done = self.kernel.run('import os, threading\n' + NO_DESCRIPTORS % (3, HARD) +
                               'thread = threading.Thread(target=int)\nthread.start()\n'
                               'while thread.native_id and os.path.exists("/proc/self/task/%d" % thread.native_id): pass\n', timeout_ms=5000)

        self.assertEqual(done['status'], 'ok', done)
        self.assertEqual(self.kernel.run('1+1')['value'], '2')

    def test_a_limit_below_what_the_kernel_polls_costs_neither_output_nor_kernel(self):
        for limit in ((0, HARD), (3, 3), (0, 0)):
            done = self.kernel.run(NO_DESCRIPTORS % limit + 'import os, time\nprint("printed")\nos.write(1, b"written\\n")\n'
                                   'time.sleep(0.05)\nprint("again")', timeout_ms=5000)

            self.assertEqual(done['status'], 'ok', done)
            self.assertEqual(self.kernel.connection.output(done['cell']), 'printed\nwritten\nagain\n')
            self.assertEqual(self.kernel.run('1+1')['value'], '2')

    def test_a_cell_is_interrupted_under_such_a_limit(self):
        done = self.kernel.run(NO_DESCRIPTORS % (0, 0) + 'import time\ntime.sleep(60)', timeout_ms=200)

        self.assertEqual(done['status'], 'timeout', done)
        self.assertEqual(self.kernel.run('1+1')['value'], '2')

    def test_closed_descriptors_are_rebuilt_under_a_limit_that_can_be_raised(self):
        self.kernel.execute('import os\nos.closerange(3, 2000)\n' + NO_DESCRIPTORS % (3, HARD))
        self.wait_until(lambda: b'descriptors-lost listening socket: rebuilt' in self.kernel.file('kernel.log'), 'rebuilt')
        self.kernel.connect()
        self.kernel.connection.wait_for('done')

        done = self.kernel.run('os.system("echo started")')

        self.assertEqual((done['value'], self.kernel.connection.output(done['cell'])), ('0', 'started\n'))


class SwitchIntervalTest(NurseryTest):
    def test_however_long_it_is_set_a_cell_that_computes_is_interrupted_at_its_deadline(self):
        kernel = self.spawn()

        done = kernel.run('import sys\nkept = 41\nsys.setswitchinterval(1000)\nwhile True: pass', timeout_ms=300, timeout=8)

        self.assertEqual(done['status'], 'timeout', done)
        self.assertEqual(kernel.run('kept + 1')['value'], '42')


if __name__ == '__main__':
    unittest.main()
