"""A session's cells run in the order of acceptance, in one kernel; waiting for one and running it are two things."""

import time
import unittest

from holdfast_test.cases import SharedDaemonCase
from holdfast_test.client import RpcError


class QueueTest(SharedDaemonCase):
    def call(self, method, **params):
        return self.client.call(method, session=self.session, **params)

    def test_six_cells_at_once_on_a_cold_session_get_one_kernel_and_run_in_order(self):
        code = "import os\norder = globals().get('order', []) + [{number}]\n(os.getpid(), order)"

        pending = [self.client.send("run", session=self.session, code=code.format(number=number)) for number in range(6)]
        results = [call.result() for call in pending]

        pid = results[0]["kernel"]["pid"]
        for number, result in enumerate(results):
            self.assert_ok(result, f"({pid}, {list(range(number + 1))})")
        self.assertEqual(len(self.client.call("kernel.list", session=self.session)["items"]), 1)
        self.assertEqual([result["kernel"]["execution_count"] for result in results], [1, 2, 3, 4, 5, 6])
        self.assertEqual([result["kernel"]["reused"] for result in results], [False] + [True] * 5)

    def test_two_sessions_run_side_by_side(self):
        gate = self.daemon.directory / "gate"
        waiting = f"import os, time\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.01)\n'opened'"

        first = self.start_cell(waiting, "c1")
        second = self.client.run(f"open({str(gate)!r}, 'w').close()", session=self.session + "-2")

        self.assert_ok(second)
        self.assert_ok(first.result(), "'opened'")
        gate.unlink()

    def test_wait_ms_answers_with_the_cell_still_running_and_the_cell_goes_on(self):
        self.run_cell("1")
        began = time.monotonic()
        current = self.run_cell("import time; time.sleep(1); 7", cell="c1", wait_ms=200)

        self.assertLess(time.monotonic() - began, 0.9)
        self.assertEqual((current["status"], current["final"], current["value"]), ("running", False, None))
        self.assert_ok(self.call("cell.wait", cell="c1"), "7")

    def test_wait_ms_of_zero_answers_at_once_with_an_accepted_cell(self):
        current = self.run_cell("import time; time.sleep(0.3); 7", cell="c1", wait_ms=0)

        self.assertIn(current["status"], ("queued", "running"))
        self.assert_ok(self.call("cell.wait", cell="c1"), "7")

    def test_a_queued_cell_says_so(self):
        self.start_cell("import time; time.sleep(0.7)", "c1")

        current = self.run_cell("7", cell="c2", wait_ms=0)

        self.assertEqual((current["status"], current["final"], current["started_at"]), ("queued", False, None))
        self.assert_ok(self.call("cell.wait", cell="c2"), "7")

    def test_cell_wait_with_wait_ms_gives_the_current_state(self):
        self.start_cell("import time; time.sleep(0.8); 7", "c1")

        self.assertFalse(self.call("cell.wait", cell="c1", wait_ms=100)["final"])
        self.assertTrue(self.call("cell.wait", cell="c1")["final"])

    def test_the_65th_waiting_cell_is_refused_and_runs_nothing(self):
        self.start_cell("import time\nprint('before', flush=True)\ntime.sleep(1.5)", "running")
        self.client.wait_streamed("running", "before")
        for number in range(64):
            self.call("run", code="1", cell=f"w{number}", wait_ms=0)

        with self.assertRaises(RpcError) as caught:
            self.call("run", code="1", cell="one-more", wait_ms=0)

        self.assertEqual((caught.exception.code, caught.exception.data["kind"]), (1006, "queue_full"))
        self.assertTrue(caught.exception.data["retry"])
        with self.assertRaises(RpcError) as caught:
            self.call("cell.get", cell="one-more")
        self.assertEqual(caught.exception.code, 1001)
        self.assert_ok(self.call("cell.wait", cell="w63"), "1")

    def test_if_kernel_runs_only_in_that_kernel(self):
        kernel = self.run_cell("1")["kernel"]["id"]

        self.assert_ok(self.run_cell("2", if_kernel=kernel), "2")
        self.call("session.reset")
        with self.assertRaises(RpcError) as caught:
            self.run_cell("3", if_kernel=kernel, cell="never")

        self.assertEqual((caught.exception.code, caught.exception.data["kind"]), (1011, "kernel_changed"))
        with self.assertRaises(RpcError):
            self.call("cell.get", cell="never")

    def test_code_above_one_mebibyte_is_too_large_and_one_mebibyte_is_not(self):
        with self.assertRaises(RpcError) as caught:
            self.run_cell("#" + "x" * (1 << 20))
        self.assertEqual((caught.exception.code, caught.exception.data["kind"]), (1009, "too_large"))

        self.assert_ok(self.run_cell("7#" + "x" * ((1 << 20) - 2)), "7")

    def test_a_closed_connection_cancels_nothing(self):
        client = self.daemon.connect()
        self.start_cell("import time\nprint('before', flush=True); time.sleep(0.7); print('after'); 7", "c1", client=client)
        client.close()

        result = self.call("cell.wait", cell="c1")

        self.assert_ok(result, "7")
        self.assertEqual(result["stdout"], "before\nafter\n")

    def test_requests_of_one_connection_run_side_by_side(self):
        slow = self.start_cell("import time; time.sleep(0.7)", "c1")

        self.client.call("status")

        self.assertFalse(slow.is_answered)
        slow.result()


if __name__ == "__main__":
    unittest.main()
