"""A kernel, its variables and the cell that it runs survive the end of the daemon, however that ends."""

import unittest

from holdfast_test import processes
from holdfast_test.cases import DaemonCase
from holdfast_test.waiting import wait_until


def appending(path, seconds):
    """A cell that appends one line to a file, prints, waits, prints again and has a value."""
    return (
        "import time\n"
        f"with open({str(path)!r}, 'a') as file: file.write('ran\\n')\n"
        f"print('before', flush=True); time.sleep({seconds}); print('after')\n"
        "'the value'"
    )


class VariablesSurviveTest(DaemonCase):
    def test_variables_and_the_kernel_survive_a_stop_and_a_sigkill_of_the_daemon(self):
        first = self.daemon.run("x = 41")
        self.assert_ok(first)
        kernel = processes.identify(first["kernel"]["pid"])

        for crash in (False, True):
            with self.subTest(crash=crash):
                self.daemon.restart(crash=crash)
                after = self.daemon.run("x + 1")

                self.assert_ok(after, "42")
                self.assertEqual(after["kernel"]["id"], first["kernel"]["id"])
                self.assertEqual(after["kernel"]["pid"], kernel.pid)
                self.assertEqual(processes.identify(kernel.pid), kernel)
                self.assertTrue(after["kernel"]["reused"])
                self.assertFalse(after["kernel"]["state_lost"])

    def test_a_kernel_survives_five_crashes_in_a_row(self):
        pid = self.daemon.run("count = 0")["kernel"]["pid"]

        for round_number in range(1, 6):
            self.daemon.restart(crash=True)
            after = self.daemon.run("count += 1; count")
            self.assert_ok(after, str(round_number))
            self.assertEqual(after["kernel"]["pid"], pid)

    def test_every_recorded_kernel_is_attached_again_though_nobody_asks(self):
        for number in range(3):
            self.daemon.run("1", session=f"s{number}")
        self.daemon.restart(crash=True)

        def attached():
            rows = self.daemon.kernels()
            return len(rows) == 3 and all(row["state"] == "idle" for row in rows)

        wait_until(attached, "three attached kernels")

    def test_a_recorded_kernel_that_died_meanwhile_is_forgotten_though_nobody_asks(self):
        kernel = processes.identify(self.daemon.run("1")["kernel"]["pid"])
        self.daemon.kill()
        processes.end_all([kernel])
        self.daemon.start()

        wait_until(lambda: not self.daemon.kernels(), "the dead kernel's row to go")
        wait_until(lambda: not self.daemon.run_directories(), "the dead kernel's directory to go")

    def test_shutdown_says_how_many_kernels_live_on(self):
        self.daemon.run("1", session="a")
        self.daemon.run("1", session="b")

        self.assertEqual(self.daemon.stop()["kernels_left"], 2)

    def test_shutdown_with_kernels_ends_them(self):
        kernel = processes.identify(self.daemon.run("1")["kernel"]["pid"])

        answer = self.daemon.call("shutdown", kernels=True)

        self.assertEqual(answer["kernels_left"], 0)
        processes.wait_gone(kernel)
        self.daemon.wait_ended()


class RunningCellSurvivesTest(DaemonCase):
    def setUp(self):
        super().setUp()
        self.path = self.daemon.directory / "effects"
        self.daemon.run("1")  # a warm kernel: what follows is about the cell

    def assert_complete_once(self, result, kernel_pid=None):
        self.assert_ok(result, "'the value'")
        self.assertEqual(result["stdout"], "before\nafter\n")
        self.assertTrue(result["final"])
        self.assertEqual(self.path.read_text(), "ran\n")
        if kernel_pid:
            self.assertEqual(result["kernel"]["pid"], kernel_pid)

    def start_appending(self, seconds):
        client, _ = self.daemon.start_cell(appending(self.path, seconds), "c1")
        client.wait_streamed("c1", "before")
        return self.daemon.kernels()[0]["pid"]

    def test_a_cell_in_progress_at_a_sigkill_gives_its_whole_result_to_the_next_daemon(self):
        pid = self.start_appending(3)
        self.daemon.restart(crash=True)

        result = self.daemon.call("cell.wait", cell="c1")
        again = self.daemon.call("cell.wait", cell="c1")
        got = self.daemon.call("cell.get", cell="c1")

        self.assert_complete_once(result, pid)
        for record in (again, got):
            self.assertEqual({**record, "replayed": None}, {**result, "replayed": None})

    def test_a_cell_in_progress_at_a_graceful_stop_goes_on_and_its_caller_is_told_that_it_runs(self):
        client, pending = self.daemon.start_cell(appending(self.path, 1.5), "c1")
        client.wait_streamed("c1", "before")
        self.daemon.stop()

        current = pending.result()
        self.daemon.start()

        self.assertEqual((current["status"], current["final"]), ("running", False))
        self.assert_complete_once(self.daemon.call("cell.wait", cell="c1"))

    def test_a_cell_that_ends_while_the_daemon_is_down_is_delivered(self):
        pid = self.start_appending(0.3)
        self.daemon.kill()
        self.daemon.wait_spooled("done", "c1")
        self.daemon.start()

        self.assert_complete_once(self.daemon.call("cell.wait", cell="c1"), pid)

    def test_a_result_outlives_its_kernel_when_both_ended_before_the_daemon_is_back(self):
        pid = self.start_appending(0.3)
        kernel = processes.identify(pid)
        self.daemon.kill()
        self.daemon.wait_spooled("done", "c1")
        processes.end_all([kernel])
        self.daemon.start()

        self.assert_complete_once(self.daemon.call("cell.wait", cell="c1"), pid)

    def test_the_output_of_a_surviving_cell_can_be_read_whole(self):
        self.start_appending(1)
        self.daemon.restart(crash=True)
        self.daemon.call("cell.wait", cell="c1")

        output = self.daemon.call("cell.output", cell="c1")

        self.assertEqual("".join(chunk["text"] for chunk in output["chunks"]), "before\nafter\n")
        self.assertEqual(output["dropped"], [])
        self.assertTrue(output["final"])

    def test_the_same_run_sent_again_to_the_next_daemon_waits_for_the_running_cell(self):
        self.start_appending(2)
        self.daemon.restart(crash=True)

        result = self.daemon.run(appending(self.path, 2), cell="c1")

        self.assert_complete_once(result)

    def test_queued_cells_survive_a_sigkill_and_run_in_order(self):
        self.start_appending(1.5)
        for number in (2, 3, 4):
            self.daemon.start_cell(f"with open({str(self.path)!r}, 'a') as file: file.write('{number}\\n')", f"c{number}")
        self.daemon.restart(crash=True)

        for number in (1, 2, 3, 4):
            self.assert_ok(self.daemon.call("cell.wait", cell=f"c{number}"))
        self.assertEqual(self.path.read_text(), "ran\n2\n3\n4\n")


if __name__ == "__main__":
    unittest.main()
