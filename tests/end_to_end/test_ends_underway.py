"""A close or a reset that meets a kernel on its way: being started, started again, or attached by the next daemon."""

import signal
import sys

from holdfast_test import processes
from holdfast_test.cases import DaemonCase
from holdfast_test.client import RpcError
from holdfast_test.waiting import wait_until


class EndsUnderwayTest(DaemonCase):
    def kernel_is(self, state):
        return any(row["state"] == state for row in self.daemon.kernels())

    def begin_slow_start(self):
        """A run whose kernel's interpreter takes two seconds to come up."""
        slow = self.daemon.directory / "slow-python"
        slow.write_text(f'#!/bin/sh\nsleep 2\nexec {sys.executable} "$@"\n')
        slow.chmod(0o755)
        pending = self.daemon.connect().send("run", code="'ran'", python=str(slow))
        wait_until(lambda: self.kernel_is("starting"), "a kernel to start")
        return pending

    def assert_sent_again(self, pending):
        with self.assertRaises(RpcError) as refused:
            pending.result()
        self.assertEqual((refused.exception.code, refused.exception.data["retry"]), (1012, True))

    def assert_nothing_is_left(self):
        self.assertEqual(self.daemon.kernels(), [])
        wait_until(lambda: self.daemon.run_directories() == [], "its directory to be gone")
        self.assertEqual(self.daemon.call("session.list")["items"], [])

    def test_a_close_while_a_kernel_starts_refuses_who_waits_and_leaves_no_kernel(self):
        pending = self.begin_slow_start()

        self.daemon.call("session.close")

        self.assert_sent_again(pending)
        self.assert_nothing_is_left()
        self.assertEqual(self.daemon.run("1")["kernel"]["reason"], "first")

    def test_a_reset_while_a_kernel_starts_gives_who_waits_another_one(self):
        pending = self.begin_slow_start()
        first = self.daemon.kernels()[0]["kernel"]

        self.daemon.call("session.reset")

        result = pending.result()
        self.assert_ok(result, "'ran'")
        self.assertNotEqual(result["kernel"]["id"], first)
        self.assertEqual([row["kernel"] for row in self.daemon.kernels()], [result["kernel"]["id"]])

    def test_a_close_while_a_kernel_is_started_again_ends_what_is_queued(self):
        self.daemon.stop()
        self.daemon.start(HOLDFAST_FAILPOINTS="nursery.before_spawn=delay(300);kernel.before_hello_sent=kill")
        client = self.daemon.connect()
        pending = client.send("run", code="1", cell="c1", stream=True)
        client.wait_accepted("c1", pending)

        self.daemon.call("session.close")

        self.assertEqual(pending.result()["status"], "interrupted")
        self.assert_nothing_is_left()

    def stop_kernel_and_restart(self):
        """The kernel of a running cell does not answer the daemon that has come back."""
        client, _ = self.daemon.start_cell("import time\nprint('on', flush=True)\ntime.sleep(60)", "c1")
        client.wait_streamed("c1", "on")
        kernel = processes.identify(self.daemon.kernels()[0]["pid"])
        processes.send_signal(kernel, signal.SIGSTOP)
        self.daemon.kill()
        self.daemon.start()
        return kernel

    def test_a_close_while_a_kernel_is_attached_again_ends_it(self):
        kernel = self.stop_kernel_and_restart()

        self.daemon.call("session.close")

        processes.wait_gone(kernel)
        self.assert_nothing_is_left()

    def test_a_reset_while_a_kernel_is_attached_again_ends_cell_and_kernel(self):
        kernel = self.stop_kernel_and_restart()

        self.daemon.call("session.reset")

        processes.wait_gone(kernel)
        self.assertEqual(self.daemon.call("cell.get", cell="c1")["status"], "interrupted")
        self.assertEqual(self.daemon.run("1")["kernel"]["reason"], "reset")
