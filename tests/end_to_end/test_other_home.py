"""Kernels that belong to another home, though this one has them in its stores, are left alone: their daemon's, whoever that is."""

import re
import struct
import unittest

from holdfast_test import processes
from holdfast_test.cases import DaemonCase
from holdfast_test.waiting import wait_until


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def with_another_id(row):
    """The `home` row of storage/FORMAT.md, of the same length, with its id turned round and its checksum right again."""
    body = row["head"] + row["id"][::-1] + row["rest"]
    return body + struct.pack(">I", crc32c(b"home" + body))


class OtherHomeTest(DaemonCase):
    def become_another_home(self):
        """The id of the home is another one in both stores from now on, as if the kernels' rows had come here from elsewhere."""
        for name in ("disk", "boot"):
            path = self.daemon.home / "store" / name / "data.mdb"
            row = rb"(?P<head>\x01\0*[\x20\x40])(?P<id>[0-9a-f]{32,64})(?P<rest>.{8}\0*\x20?[0-9a-f]*\0*\x24[0-9a-f-]{36}.{8}).{4}"
            data, count = re.subn(row, with_another_id, path.read_bytes(), flags=re.DOTALL)
            self.assertGreaterEqual(count, 1, f"no row of the home in {path}")
            path.write_bytes(data)

    def test_they_go_on_untouched_and_the_session_has_a_fresh_one(self):
        kernel = processes.identify(self.daemon.run("x = 41\njob = run('sleep', '600')")["kernel"]["pid"])
        job = processes.identify(self.daemon.call("job.list")["items"][0]["pid"])
        (nursery,) = self.daemon.nurseries()
        directories = [*self.daemon.run_directories(), *(self.daemon.home / "nursery").iterdir()]
        self.daemon.kill()
        self.become_another_home()

        self.daemon.start()

        wait_until(lambda: "kernel-left" in self.daemon.log(), "the kernel to be left alone", 20)
        fresh = self.daemon.run("'x' in globals()")
        self.assert_ok(fresh, "False")
        self.assertTrue(fresh["kernel"]["state_lost"], fresh["kernel"])
        self.daemon.call("owner.close", owner="default")
        self.assertTrue(all(map(processes.is_alive, (kernel, job, nursery))))
        self.assertTrue(all(path.exists() for path in directories))


if __name__ == "__main__":
    unittest.main()
