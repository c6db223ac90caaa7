"""What a cell starts belongs to its kernel, whatever it does to its environment, its session and its parents."""

import os
import signal
import subprocess
import sys
import time
import types
import unittest

from harness import NurseryTest
from holdfast_kernel import reaper

SHED = "import subprocess\np = subprocess.Popen(['env', '-i', 'setsid', 'sleep', '83'])\np.pid"
# Its parent ends at once: the nursery has adopted it while the kernel lives.
ADOPTED = "import subprocess\nint(subprocess.check_output(['env', '-i', 'setsid', 'sh', '-c', 'sleep 83 >/dev/null & echo $!']))"
RAISED = """import resource, subprocess
p = subprocess.Popen(['sleep', '83'], env={}, start_new_session=True,
                     preexec_fn=lambda: resource.setrlimit(10, (resource.getrlimit(10)[1],) * 2))
p.pid"""


class DescentTest(NurseryTest):
    def start(self, kernel, code):
        """The pid of a process that a cell started, once it is a sleep."""
        pid = int(kernel.run(code)['value'])
        self.addCleanup(self.end_sleep, pid)
        self.wait_until(lambda: self.is_sleep(pid), 'the process of the cell sleeps')
        return pid

    @staticmethod
    def is_sleep(pid):
        try:
            with open('/proc/%d/cmdline' % pid, 'rb') as file:
                return file.read() == b'sleep\x0083\x00'
        except OSError:
            return False

    def end_sleep(self, pid):
        if self.is_sleep(pid):
            os.kill(pid, signal.SIGKILL)

    def end(self, kernel):
        os.kill(kernel.pid, signal.SIGKILL)
        return self.wait_exit(kernel)

    def test_a_child_without_environment_and_session_is_ended_with_its_kernel(self):
        kernel = self.spawn()
        pid = self.start(kernel, SHED)

        record = self.end(kernel)

        self.assertFalse(self.is_alive(pid))
        self.assertEqual(record['ended'], [{'pid': pid, 'command': 'sleep 83'}])

    def test_one_that_the_nursery_adopted_earlier_is_ended_with_its_own_kernel_only(self):
        first, second = self.spawn('k-1'), self.spawn('k-2')
        of_first, of_second = self.start(first, ADOPTED), self.start(second, ADOPTED)

        self.end(first)

        self.assertFalse(self.is_alive(of_first))
        self.assertTrue(self.is_alive(of_second))
        self.end(second)
        self.assertFalse(self.is_alive(of_second))

    def test_one_that_sheds_the_mark_too_is_left_alone(self):
        kernel = self.spawn()
        pid = self.start(kernel, RAISED)

        record = self.end(kernel)

        self.assertTrue(self.is_alive(pid))
        self.assertEqual(record['ended'], [])


class LadderTest(unittest.TestCase):
    def test_a_process_that_is_gone_between_look_and_signal_does_not_stop_the_ladder(self):
        process = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE)
        kernel = types.SimpleNamespace(kernel='k-1', pid=os.getsid(0), drain=lambda: [])
        ending = reaper.Ending(kernel, lambda: (), time.monotonic(), None)
        ending._signal([process.pid], signal.SIGCONT)
        self.assertEqual([entry['pid'] for entry in ending.ended], [process.pid])
        process.kill()
        process.communicate()

        ending._signal([process.pid], signal.SIGTERM)

        self.assertEqual(ending._survivors(), [])


if __name__ == '__main__':
    unittest.main()
