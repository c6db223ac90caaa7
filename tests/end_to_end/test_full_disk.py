"""A file system without room refuses what it cannot record, keeps what it was given, and goes on once there is room."""

import unittest

from holdfast_test import processes
from holdfast_test.cases import DaemonCase
from holdfast_test.client import RpcError
from holdfast_test.daemon import DaemonEnded
from holdfast_test.filesystems import SmallDisk, enter_private_mounts
from holdfast_test.waiting import wait_until

DISK_BYTES = 12 << 20
LONG_SOURCE = "\n#" + "s" * 400_000  # recorded with its cell: it does not fit into pages that the store has left over


def setUpModule():
    enter_private_mounts()


class FullDiskTest(DaemonCase):
    def setUp(self):
        self.daemon = self.make_daemon()
        self.disk = SmallDisk(self.daemon.home, DISK_BYTES)
        self.addCleanup(self.disk.remove)  # runs before the daemon is closed, which removes the directory
        self.effects = self.daemon.directory / "effects"  # outside of the full disk
        self.gate = self.daemon.directory / "gate"

    def effect(self):
        return f"with open({str(self.effects)!r}, 'a') as file: file.write('ran\\n')\n"

    def ran(self):
        return self.effects.read_text().count("ran") if self.effects.exists() else 0

    def behind_the_gate(self, code):
        return f"import os, time\nwhile not os.path.exists({str(self.gate)!r}): time.sleep(0.01)\n{code}"

    def assert_store_full(self, problem, store):
        self.assertEqual(problem.code, 1014, problem)
        self.assertEqual((problem.data["kind"], problem.data["retry"]), ("store_full", True))
        self.assertIn(str(self.daemon.home / "store" / store), problem.message)
        self.assertIn("free space on its file system and try again", problem.message)

    def test_a_cell_that_cannot_be_recorded_is_refused_and_the_same_request_works_once_there_is_room(self):
        self.daemon.start()
        pid = self.daemon.run("x = 1")["kernel"]["pid"]
        self.disk.fill()

        with self.assertRaises(RpcError) as caught:
            self.daemon.run(self.effect() + "x += 1" + LONG_SOURCE, cell="c1")

        self.assert_store_full(caught.exception, "boot")
        self.assertEqual(self.ran(), 0)
        with self.assertRaises(RpcError) as unknown:
            self.daemon.call("cell.get", cell="c1")
        self.assertEqual(unknown.exception.code, 1001)
        self.assertEqual(self.daemon.kernels()[0]["state"], "idle")
        self.disk.free()
        self.assert_ok(self.daemon.run(self.effect() + "x += 1" + LONG_SOURCE, cell="c1"))
        after = self.daemon.run("x")
        self.assert_ok(after, "2")
        self.assertEqual((self.ran(), after["kernel"]["pid"]), (1, pid))

    def test_a_session_that_cannot_be_recorded_is_refused_and_made_once_there_is_room(self):
        self.daemon.start()
        self.daemon.run("1")
        self.disk.fill()
        with self.assertRaises(RpcError) as caught:
            self.daemon.run(self.effect(), session="another", cell="c1")

        self.assert_store_full(caught.exception, "disk")
        self.assertEqual(self.ran(), 0)
        with self.assertRaises(RpcError) as unknown:
            self.daemon.call("cell.get", session="another", cell="c1")
        self.assertEqual(unknown.exception.code, 1001)
        self.disk.free()
        self.assert_ok(self.daemon.run(self.effect() + "6 * 7", session="another", cell="c1"), "42")
        self.assertEqual(self.ran(), 1)

    def test_a_result_that_cannot_be_recorded_stays_and_is_there_once_when_there_is_room(self):
        self.daemon.start()
        self.daemon.run("x = 1")
        printed = "".join(f"line {number}\n" for number in range(20_000))
        code = self.behind_the_gate(self.effect() + "x += 1\nfor number in range(20_000): print('line', number)\nx")
        _, pending = self.daemon.start_cell(code, "c1")
        wait_until(lambda: self.daemon.call("cell.get", cell="c1")["status"] == "running", "the start")
        self.disk.fill()

        self.gate.touch()
        told = pending.result()

        self.assertEqual((told["status"], told["final"]), ("running", False))
        self.assertIn("could not be stored yet", told["kernel"]["note"])
        self.assertEqual(self.ran(), 1)
        later = self.daemon.call("cell.wait", cell="c1", wait_ms=100)
        self.assertFalse(later["final"], later)
        self.disk.free()
        result = self.daemon.call("cell.wait", cell="c1")
        self.assert_ok(result, "2")
        self.assert_head_and_tail(result["stdout"], printed)
        self.assertEqual(result["stdout_bytes"], len(printed))
        self.assert_pages_are_honest("c1", printed)
        self.daemon.restart(crash=True)
        again = self.daemon.call("cell.wait", cell="c1")
        self.assertEqual({**again, "replayed": None}, {**result, "replayed": None})
        self.assert_ok(self.daemon.run("x"), "2")
        self.assertEqual(self.ran(), 1)

    def test_a_kernel_that_ends_at_its_grace_over_a_full_disk_has_its_cause_told(self):
        self.daemon = self.make_daemon({"HOLDFAST_GRACE_SECONDS": "0.5"})
        self.disk = SmallDisk(self.daemon.home, DISK_BYTES)
        self.addCleanup(self.disk.remove)
        self.daemon.start()
        self.daemon.run("x = 1")
        kernel = self.daemon.kernel_identities()[0]
        nursery = self.daemon.nurseries()[0]
        self.disk.fill()

        self.daemon.kill()
        processes.wait_gone(kernel)
        wait_until(lambda: list((self.daemon.home / "run").glob("*/exit")), "the cause of the death")
        processes.send_signal(nursery, 9)
        processes.wait_gone(nursery)
        self.disk.free()
        self.daemon.start()

        told = self.daemon.run("x")["notices"][0]["text"]
        self.assertIn("exited 0", told)
        self.assertRegex(told, "its namespace was not saved: .*No space left on device")

    def test_a_daemon_killed_over_a_full_disk_leaves_the_result_to_the_next_one(self):
        self.daemon.start()
        self.daemon.run("x = 1")
        code = self.behind_the_gate(self.effect() + "x += 1\nprint('p' * 60_000)\nx")
        _, pending = self.daemon.start_cell(code, "c1")
        wait_until(lambda: self.daemon.call("cell.get", cell="c1")["status"] == "running", "the start")
        self.disk.fill()
        self.gate.touch()
        self.assertFalse(pending.result()["final"])

        self.daemon.kill()
        try:
            self.daemon.start()
        except DaemonEnded as refused:
            self.assertGreater(refused.returncode, 0, refused)  # no signal
            self.assertIn("free space on its file system and try again", refused.output)
        self.disk.free()
        if self.daemon.process is None:
            self.daemon.start()

        result = self.daemon.call("cell.wait", cell="c1")
        self.assert_ok(result, "2")
        self.assertEqual(result["stdout"], "p" * 60_000 + "\n")
        self.assertEqual(self.ran(), 1)

    def test_a_first_start_without_room_says_so_and_works_once_there_is_some(self):
        self.disk.fill()

        with self.assertRaises(DaemonEnded) as caught:
            self.daemon.start()

        self.assertGreater(caught.exception.returncode, 0, caught.exception)  # no signal
        self.assertIn(str(self.daemon.home), caught.exception.output)
        self.assertRegex(caught.exception.output, "(?i)no space left")
        self.disk.free()
        self.daemon.start()
        self.assert_ok(self.daemon.run("6 * 7"), "42")

    def assert_head_and_tail(self, text, whole):
        head, tail = text.split("[... ")[0], text.split(" left out ...]\n")[-1]
        self.assertTrue(whole.startswith(head.rstrip("\n")) and whole.endswith(tail), text[:200])

    def assert_pages_are_honest(self, cell, whole):
        """What is there is what was printed; what could not be written is named."""
        offset = 0
        while True:
            page = self.daemon.call("cell.output", cell=cell, offset=offset)
            pieces = [(chunk["offset"], chunk["text"]) for chunk in page["chunks"]]
            pieces += [(gap["from"], whole[gap["from"] : gap["to"]]) for gap in page["dropped"]]
            for start, text in sorted(pieces):
                self.assertLessEqual(start, offset)
                self.assertEqual(text, whole[start : start + len(text)])
                offset = max(offset, start + len(text))
            if page["next_offset"] >= page["total_bytes"]:
                break
            self.assertGreaterEqual(page["next_offset"], offset)
            offset = page["next_offset"]
        self.assertEqual((offset, page["total_bytes"]), (len(whole), len(whole)))


if __name__ == "__main__":
    unittest.main()
