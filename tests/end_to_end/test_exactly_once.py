"""A cell id runs once, whoever sends it again, when, and over whatever; other code under it is a conflict."""

import unittest

from holdfast_test.cases import DaemonCase
from holdfast_test.client import RpcError
from holdfast_test.waiting import wait_until


class ExactlyOnceTest(DaemonCase):
    def setUp(self):
        super().setUp()
        self.path = self.daemon.directory / "effects"
        self.code = f"with open({str(self.path)!r}, 'a') as file: file.write('ran\\n')\nprint('once'); 7"

    def assert_ran_once(self):
        self.assertEqual(self.path.read_text(), "ran\n")

    def assert_replay(self, result):
        self.assert_ok(result, "7")
        self.assertEqual(result["stdout"], "once\n")
        self.assertTrue(result["replayed"])
        self.assert_ran_once()

    def assert_conflict(self):
        with self.assertRaises(RpcError) as caught:
            self.daemon.run("print('other')", cell="c1")
        self.assertEqual((caught.exception.code, caught.exception.data["kind"]), (1002, "cell_conflict"))

    def is_accepted(self):
        try:
            return self.daemon.call("cell.get", cell="c1")
        except RpcError:
            return None

    def test_a_cell_sent_again_is_replayed(self):
        first = self.daemon.run(self.code, cell="c1")

        self.assertFalse(first["replayed"])
        self.assert_replay(self.daemon.run(self.code, cell="c1"))

    def test_other_code_under_a_used_id_is_a_conflict(self):
        self.daemon.run(self.code, cell="c1")

        self.assert_conflict()
        self.assert_ran_once()

    def test_a_cell_sent_by_ten_clients_at_once_runs_once_and_all_get_its_result(self):
        clients = [self.daemon.connect() for _ in range(10)]

        pending = [client.send("run", code=self.code, cell="c1") for client in clients]

        for call in pending:
            self.assert_ok(call.result(), "7")
        self.assert_ran_once()

    def test_other_code_sent_at_the_same_time_is_a_conflict(self):
        clients = [self.daemon.connect() for _ in range(2)]
        slow = "import time; time.sleep(0.5)\n" + self.code

        first = clients[0].send("run", code=slow, cell="c1")
        wait_until(self.is_accepted, "the accepted cell")
        with self.assertRaises(RpcError) as caught:
            clients[1].run(self.code, cell="c1")

        self.assertEqual(caught.exception.code, 1002)
        self.assert_ok(first.result(), "7")
        self.assert_ran_once()

    def test_a_cell_sent_again_after_a_crash_is_replayed(self):
        self.daemon.run(self.code, cell="c1")
        self.daemon.restart(crash=True)

        self.assert_replay(self.daemon.run(self.code, cell="c1"))
        self.assert_conflict()

    def test_a_cell_sent_again_after_a_graceful_restart_is_replayed(self):
        self.daemon.run(self.code, cell="c1")
        self.daemon.restart()

        self.assert_replay(self.daemon.run(self.code, cell="c1"))
        self.assert_conflict()

    def test_a_cell_is_replayed_from_disk_alone(self):
        """`boot` is thrown away when the boot id differs: removing it leaves what had moved to `disk`."""
        self.daemon.run(self.code, cell="c1")
        self.daemon.call("shutdown", kernels=True)  # a graceful stop has moved every final cell
        self.daemon.wait_ended()
        for path in (self.daemon.home / "store" / "boot").iterdir():
            path.unlink()
        self.daemon.start()

        self.assert_replay(self.daemon.run(self.code, cell="c1"))
        self.assert_conflict()

    def test_a_final_cell_reaches_the_disk_without_a_stop(self):
        self.daemon.run(self.code, cell="c1")
        data = self.daemon.home / "store" / "disk" / "data.mdb"

        wait_until(lambda: b"once\\n" in data.read_bytes(), "the result in the disk store", 5)

    def test_a_cell_that_failed_is_replayed_too(self):
        code = self.code + "\n1/0"
        first = self.daemon.run(code, cell="c1")
        self.daemon.restart(crash=True)

        again = self.daemon.run(code, cell="c1")

        self.assertEqual((first["status"], again["status"]), ("error", "error"))
        self.assertEqual(first["error"], again["error"])
        self.assert_ran_once()

    def test_the_same_id_in_another_session_owner_or_child_is_another_cell(self):
        for place in ({}, {"session": "other"}, {"owner": "other"}, {"child": "other"}):
            self.assertFalse(self.daemon.run(self.code, cell="c1", **place)["replayed"])

        self.assertEqual(self.path.read_text(), "ran\n" * 4)

    def test_reset_is_ignored_on_a_replay(self):
        first = self.daemon.run(self.code, cell="c1")
        self.daemon.run("kept = 5")

        self.assert_replay(self.daemon.run(self.code, cell="c1", reset=True))
        after = self.daemon.run("kept")
        self.assert_ok(after, "5")
        self.assertEqual(after["kernel"]["id"], first["kernel"]["id"])

    def test_a_cell_of_a_closed_session_is_gone_and_its_id_free(self):
        self.daemon.run(self.code, cell="c1")
        self.daemon.call("session.close")

        with self.assertRaises(RpcError) as caught:
            self.daemon.call("cell.get", cell="c1")
        again = self.daemon.run(self.code, cell="c1")

        self.assertEqual(caught.exception.code, 1001)
        self.assertFalse(again["replayed"])

    def test_a_cell_without_an_id_is_given_one_and_can_be_asked_for(self):
        result = self.daemon.run(self.code)

        self.assertRegex(result["cell"], r"^c-[0-9A-HJKMNP-TV-Z]{26}$")
        self.assert_replay(self.daemon.run(self.code, cell=result["cell"]))


class ExpiredTest(DaemonCase):
    environment = {"HOLDFAST_KEEP_CELLS": "2"}

    def test_a_cell_whose_record_is_gone_is_expired_and_never_runs_again(self):
        for number in range(5):
            self.daemon.run(f"{number}", cell=f"c{number}")
        wait_until(lambda: len(self.daemon.call("cell.list")["items"]) == 2, "the old records to go")

        for method, params in (("run", {"code": "0"}), ("cell.get", {}), ("cell.wait", {}), ("cell.output", {})):
            with self.subTest(method), self.assertRaises(RpcError) as caught:
                self.daemon.call(method, cell="c0", **params)
            self.assertEqual((caught.exception.code, caught.exception.data["kind"]), (1003, "cell_expired"))
        with self.assertRaises(RpcError) as caught:
            self.daemon.run("other", cell="c0")
        self.assertIn(caught.exception.code, (1002, 1003))
        self.assertEqual(self.daemon.run("4", cell="c4")["replayed"], True)

    def test_it_is_expired_after_a_crash_too(self):
        for number in range(5):
            self.daemon.run(f"{number}", cell=f"c{number}")
        wait_until(lambda: len(self.daemon.call("cell.list")["items"]) == 2, "the old records to go")
        self.daemon.restart(crash=True)

        with self.assertRaises(RpcError) as caught:
            self.daemon.run("0", cell="c0")
        self.assertEqual(caught.exception.code, 1003)


if __name__ == "__main__":
    unittest.main()
