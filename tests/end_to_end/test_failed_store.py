"""A store whose disk fails is never written again: the request is refused, the daemon ends and says why, the next one is right."""

import unittest

from holdfast_test.cases import DaemonCase
from holdfast_test.client import ConnectionLost, RpcError
from holdfast_test.failing_sync import FailingSync
from holdfast_test.waiting import wait_until

ENDED_SECONDS = 10.0


class FailedStoreTest(DaemonCase):
    def setUp(self):
        self.daemon = self.make_daemon()
        self.effects = self.daemon.directory / "effects"
        self.gate = self.daemon.directory / "gate"

    def start_on_a_disk_that_may_fail(self):
        disk = FailingSync()
        self.addCleanup(disk.close)
        disk.serve()
        self.daemon.before_exec = disk.before_exec
        self.daemon.start()
        self.daemon.before_exec = None
        return disk

    def effect(self):
        return f"with open({str(self.effects)!r}, 'a') as file: file.write('ran\\n')\n"

    def ran(self):
        return self.effects.read_text().count("ran") if self.effects.exists() else 0

    def assert_store_failed(self, problem):
        self.assertEqual(problem.code, 1010, problem)
        self.assertEqual((problem.data["kind"], problem.data["retry"]), ("store_failed", False))

    def assert_ends(self, store):
        self.assertGreater(self.daemon.wait_ended(ENDED_SECONDS), 0)
        last = self.daemon.printed().strip().splitlines()[-1]
        self.assertIn("cannot commit", last)
        self.assertRegex(last, "start again")
        self.assertIn("gateway-failed", self.daemon.log())
        return last

    def test_a_failed_sync_refuses_the_cell_ends_the_daemon_and_the_next_one_runs_it(self):
        disk = self.start_on_a_disk_that_may_fail()
        kernel = self.daemon.run("x = 41", session="old")["kernel"]
        wait_until(lambda: self.settled("old"), "the rows of the first cell on disk")
        disk.is_failing = True

        with self.assertRaises(RpcError) as caught:
            self.daemon.run(self.effect(), session="new", cell="c1")

        self.assert_store_failed(caught.exception)
        self.assertIn(str(self.daemon.home / "store" / "disk"), caught.exception.message)
        self.assertIn("look at the disk and the system's log, then start again", caught.exception.message)
        self.assertIn(str(self.daemon.home / "store" / "disk"), self.assert_ends("disk"))
        self.assertGreater(disk.failed, 0)
        self.assertEqual(self.ran(), 0)
        self.daemon.start()
        self.assert_ok(self.daemon.run(self.effect(), session="new", cell="c1"))
        after = self.daemon.run("x", session="old")
        self.assert_ok(after, "41")
        self.assertEqual((self.ran(), after["kernel"]["pid"]), (1, kernel["pid"]))

    def settled(self, session):
        return self.daemon.call("cell.list", session=session)["items"][0]["status"] == "ok"

    def test_a_failed_sync_under_a_running_cell_ends_the_daemon_and_loses_nothing(self):
        disk = self.start_on_a_disk_that_may_fail()
        self.daemon.run("x = 41")
        code = f"import os, time\nwhile not os.path.exists({str(self.gate)!r}): time.sleep(0.01)\n" + self.effect() + "x + 1"
        client, pending = self.daemon.start_cell(code, "c1")
        disk.is_failing = True
        try:
            self.daemon.run("1", session="another", wait_ms=0)
        except (RpcError, ConnectionLost, OSError):
            pass

        self.assert_ends("disk")
        told = client.answer_of(pending.id)
        self.assertTrue(told is None or told["result"]["final"] is False, told)
        self.daemon.start()
        self.gate.touch()

        self.assert_ok(self.daemon.call("cell.wait", cell="c1"), "42")
        self.assertEqual(self.ran(), 1)

    def test_a_boot_that_fails_refuses_ends_and_the_next_daemon_runs_the_same_request_once(self):
        self.daemon.start()
        self.daemon.run("x = 41")
        failing = {"HOLDFAST_FAILPOINTS": "storage.boot.before_commit=1*off->error"}  # the first one is that of the attach
        self.daemon.restart(**failing)
        wait_until(lambda: self.daemon.kernels()[0]["state"] == "idle", "the attach")

        with self.assertRaises(RpcError) as caught:
            self.daemon.run(self.effect(), cell="c1")

        self.assert_store_failed(caught.exception)
        self.assert_ends("boot")
        self.assertEqual(self.ran(), 0)
        self.daemon.start()
        self.assert_ok(self.daemon.run(self.effect(), cell="c1"))
        self.assert_ok(self.daemon.run("x"), "41")
        self.assertEqual(self.ran(), 1)

    def test_a_result_that_a_failing_store_does_not_take_is_delivered_by_the_next_daemon(self):
        self.daemon.start()
        self.daemon.run("x = 41")
        # Those of the attach, of the acceptance and of the start are taken; that of the result is not.
        self.daemon.restart(HOLDFAST_FAILPOINTS="storage.boot.before_commit=3*off->error")
        wait_until(lambda: self.daemon.kernels()[0]["state"] == "idle", "the attach")
        code = f"import os, time\nwhile not os.path.exists({str(self.gate)!r}): time.sleep(0.01)\n" + self.effect() + "x + 1"
        client, pending = self.daemon.start_cell(code, "c1")
        wait_until(lambda: self.daemon.call("cell.get", cell="c1")["status"] == "running", "the start")

        self.gate.touch()

        told = pending.result()
        self.assertFalse(told["final"], told)
        self.assert_ends("boot")
        self.daemon.start()
        self.assert_ok(self.daemon.call("cell.wait", cell="c1"), "42")
        self.assertEqual(self.ran(), 1)


if __name__ == "__main__":
    unittest.main()
