"""A link that the kernel's side drops in mid-cell is made again; the result arrives, from the same process."""

import unittest

from holdfast_test import processes
from holdfast_test.cases import DaemonCase

# Shuts down every connected unix stream socket of this process: the daemon's link among them, whatever its number.
DROP_LINK = """
import os, socket, stat
def drop_link():
    dropped = 0
    for name in os.listdir('/proc/self/fd'):
        try:
            if not stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                continue
            copy = socket.socket(fileno=os.dup(int(name)))
        except OSError:
            continue
        with copy:
            try:
                copy.getpeername()
                copy.shutdown(socket.SHUT_RDWR)
                dropped += 1
            except OSError:
                pass
    return dropped
"""


class ConnectionDropTest(DaemonCase):
    def setUp(self):
        super().setUp()
        self.pid = self.daemon.run(DROP_LINK)["kernel"]["pid"]

    def test_a_connection_dropped_in_mid_cell_still_delivers_output_and_value(self):
        result = self.daemon.run(
            "import threading, time\n"
            "dropped = []\n"
            "threading.Timer(0.3, lambda: dropped.append(drop_link())).start()\n"
            "print('before', flush=True)\ntime.sleep(1.5)\nprint('after')\ndropped"
        )

        self.assert_ok(result, "[1]")
        self.assertEqual(result["stdout"], "before\nafter\n")
        self.assertEqual(result["kernel"]["pid"], self.pid)
        self.assertFalse(result["kernel"]["state_lost"])

    def test_a_connection_dropped_ten_times_loses_and_doubles_no_output(self):
        result = self.daemon.run(
            "import time\nfor number in range(100):\n    print(number, flush=True)\n"
            "    if number % 10 == 0: drop_link()\n    time.sleep(0.01)\n'end'",
            seconds=60,
        )

        self.assert_ok(result, "'end'")
        self.assertEqual(result["stdout"], "".join(f"{number}\n" for number in range(100)))

    def test_a_drop_is_no_loss_that_a_session_is_told_of(self):
        self.daemon.run("drop_link()")

        after = self.daemon.run("'drop_link' in globals()")

        self.assert_ok(after, "True")
        self.assertEqual(after["notices"], [])

    def test_there_is_no_process_per_kernel_but_the_kernel(self):
        for number in range(3):
            self.daemon.run("1", session=f"s{number}")

        kernels = set(self.daemon.kernel_identities())
        others = [identity for identity in self.daemon.processes() if identity not in kernels]

        # What is left is the daemon and one nursery.
        self.assertEqual(len(kernels), 4)
        lines = sorted(processes.command_line(identity.pid) for identity in others)
        self.assertEqual(len(others), 2, lines)
        self.assertIn(processes.identify(self.daemon.pid), others)

    def test_kernels_are_children_of_the_nursery_and_not_of_the_daemon(self):
        parents = {processes.parent_of(identity.pid) for identity in self.daemon.kernel_identities()}

        self.assertEqual(len(parents), 1)
        self.assertNotIn(self.daemon.pid, parents)
        self.assertNotIn(self.daemon.pid, [processes.parent_of(parent) for parent in parents])


if __name__ == "__main__":
    unittest.main()
