"""Where the file of a kernel's or nursery's socket was removed, it is made again while no daemon is attached: none is out of reach for good."""

import unittest

from holdfast_test.cases import DaemonCase
from holdfast_test.waiting import wait_until


class RemovedSocketTest(DaemonCase):
    def setUp(self):
        super().setUp()
        self.pid = self.daemon.run("x = 41")["kernel"]["pid"]

    def remove(self, pattern):
        (path,) = self.daemon.home.glob(pattern)
        path.unlink()
        return path

    def assert_same_kernel(self):
        result = self.daemon.run("x")
        self.assert_ok(result, "41")
        self.assertEqual(result["kernel"]["pid"], self.pid)

    def test_of_a_kernel_that_a_dead_daemon_left(self):
        self.remove("run/*/kernel.sock")

        self.daemon.restart(crash=True)

        self.assert_same_kernel()

    def test_of_a_kernel_again_and_again(self):
        self.daemon.kill()
        for _ in range(3):
            path = self.remove("run/*/kernel.sock")
            wait_until(path.exists, "the socket's file")
            self.assertEqual(path.stat().st_mode & 0o777, 0o600)

        self.daemon.start()

        self.assert_same_kernel()

    def test_of_a_nursery_whose_kernels_live(self):
        self.remove("nursery/*/nursery.sock")

        self.daemon.restart(crash=True)

        self.assert_ok(self.daemon.run("6 * 7", session="later"), "42")
        self.assert_same_kernel()

    def test_of_both_in_a_home_that_was_moved_meanwhile(self):
        self.daemon.kill()
        moved = self.daemon.home.with_name("moved")
        self.daemon.home.rename(moved)
        self.daemon.home = moved
        for pattern in ("run/*/kernel.sock", "nursery/*/nursery.sock"):
            wait_until(self.remove(pattern).exists, "the socket's file")

        self.daemon.start()

        self.assert_ok(self.daemon.run("6 * 7", session="later"), "42")
        self.assert_same_kernel()


if __name__ == "__main__":
    unittest.main()
