"""No daemon comes back: a kernel with a running cell ends the cell at its own deadline, then itself, at the end of its grace."""

import os
import unittest

from holdfast_test import processes
from holdfast_test.cases import DaemonCase
from holdfast_test.waiting import stays_true, wait_until

ENDED_SECONDS = 20.0  # of a grace and a deadline of a second or less: the machine may be loaded


class NoDaemonTest(DaemonCase):
    environment = {"HOLDFAST_GRACE_SECONDS": "0.5"}

    def start(self, code, cell="long", **params):
        client, _ = self.daemon.start_cell(f"import time\nx = 41\nprint('on', flush=True)\n{code}", cell, **params)
        client.wait_streamed(cell, "on")
        (self.kernel,) = self.daemon.kernel_identities()
        self.nurseries = self.daemon.nurseries()

    def wait_ended(self):
        """Nothing of this home runs any more, save its nursery, which waits for a daemon for a while."""
        processes.wait_gone(self.kernel, ENDED_SECONDS)
        wait_until(lambda: set(self.daemon.processes()) <= set(self.nurseries), "nothing left but the nursery", ENDED_SECONDS)

    def test_a_kernel_in_the_midst_of_a_sleep_ends_itself_and_its_cell_is_a_timeout_once(self):
        self.start("time.sleep(300)", timeout_ms=1500)
        self.daemon.kill()

        self.wait_ended()

        self.daemon.start()
        result = self.daemon.call("cell.wait", cell="long")
        self.assertEqual((result["status"], result["stdout"]), ("timeout", "on\n"), result)
        again = self.daemon.run("x")
        self.assert_ok(again, "41")
        self.assertTrue(again["kernel"]["restored"], again["kernel"])
        self.assertEqual([row["status"] for row in self.daemon.call("cell.list")["items"]], ["ok", "timeout"])

    def test_one_whose_cell_swallows_its_interrupt_ends_too(self):
        self.start("while True:\n    try: time.sleep(300)\n    except BaseException: pass", timeout_ms=500)
        self.daemon.kill()

        self.wait_ended()

        self.daemon.start()
        result = self.daemon.call("cell.wait", cell="long")
        self.assertTrue(result["final"], result)
        self.assertIn(result["status"], ("timeout", "lost"))
        self.assertEqual(self.daemon.kernels(), [])

    def test_its_children_end_with_it(self):
        self.start("import subprocess\nsubprocess.Popen(['sleep', '77'], start_new_session=True)\ntime.sleep(300)", timeout_ms=1000)
        self.daemon.kill()

        self.wait_ended()

    def test_a_cell_without_a_deadline_is_let_end_first(self):
        gate = self.daemon.directory / "gate"
        self.start(f"import os\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.01)\nx = 42", timeout_ms=0)
        self.daemon.kill()
        stays_true(lambda: processes.is_alive(self.kernel), 1.5, "the kernel runs its cell beyond its grace")

        gate.touch()

        self.wait_ended()
        self.daemon.start()
        self.assert_ok(self.daemon.call("cell.wait", cell="long"))
        self.assert_ok(self.daemon.run("x"), "42")

    def test_a_job_is_let_end_first_and_its_end_is_told(self):
        gate = self.daemon.directory / "gate"
        self.start(f"job = run('sh', '-c', 'until test -e {gate}; do sleep 0.05; done')")
        wait_until(lambda: self.daemon.call("cell.get", cell="long")["final"], "the end of the cell")
        self.daemon.kill()
        stays_true(lambda: processes.is_alive(self.kernel), 1.5, "the kernel waits for its job beyond its grace")

        gate.touch()

        self.wait_ended()
        self.daemon.start()
        wait_until(lambda: self.daemon.call("job.list")["items"][0]["state"] == "finished", "the finished job")
        told = self.daemon.run("x")
        self.assert_ok(told, "41")
        self.assertIn("job_finished", self.notice_kinds(told))

    def test_a_removed_home_ends_a_kernel_in_mid_cell_and_its_jobs(self):
        self.start("job = run('sleep', '600')\ntime.sleep(300)")
        wait_until(lambda: self.daemon.call("job.list")["items"], "its job")
        job = processes.identify(self.daemon.call("job.list")["items"][0]["pid"])
        self.daemon.kill()
        aside = self.daemon.directory / "aside"
        os.rename(self.daemon.home / "run" / self.daemon.run_directories()[0].name, aside)
        stays_true(lambda: processes.is_alive(self.kernel), 1.5, "a moved directory is not a removed one")

        for path in aside.iterdir():
            path.unlink() if path.is_file() or path.is_socket() else [*map(os.unlink, path.iterdir()), path.rmdir()]
        aside.rmdir()

        processes.wait_gone(self.kernel, ENDED_SECONDS)
        processes.wait_gone(job, ENDED_SECONDS)


if __name__ == "__main__":
    unittest.main()
