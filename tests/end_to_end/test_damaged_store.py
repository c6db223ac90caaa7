"""A store that somebody wrote over or cut short is refused by name, left as it is, and works again once it is put back."""

import os
import random
import unittest

from holdfast_test.cases import DaemonCase
from holdfast_test.client import RpcError
from holdfast_test.daemon import DaemonEnded

NO_SERVICE = 3  # exit code of the command line
REFUSED = 4
STORE_FAILED = 1010


def scribbled(data):
    """The middle half overwritten."""
    garbage = random.Random(4).randbytes(len(data) // 2)
    start = len(data) // 4
    return data[:start] + garbage + data[start + len(garbage) :]


DAMAGES = {
    "scribbled on in the middle": scribbled,
    "zeros in the middle": lambda data: data[: len(data) // 4] + bytes(len(data) // 2) + data[len(data) // 4 * 3 :],
    "cut to half": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "one page": lambda data: data[:4096],
    "no store": lambda data: b"x" * len(data),
}


class DamagedStoreTest(DaemonCase):
    def setUp(self):
        super().setUp()
        for number in range(40):
            self.daemon.run(f"print('r' * 3000); {number}", cell=f"c{number}")
        self.daemon.run("x = 41")

    def assert_refused(self, file, data):
        with self.assertRaises(DaemonEnded) as caught:
            self.daemon.start()
        self.assertEqual(caught.exception.returncode, REFUSED, caught.exception)
        last = caught.exception.output.strip().splitlines()[-1]
        self.assertIn(f"cannot open the store {file}: ", last)
        self.assertIn("restore it from a backup, or move it away to begin anew", last)
        self.assertEqual(file.read_bytes(), data, "nothing may be damaged further")
        self.assertIn(f"cannot serve: cannot open the store {file}", self.daemon.log())

    def check(self, which, ends):
        file = self.daemon.home / "store" / which / "data.mdb"
        for name, damage in DAMAGES.items():
            with self.subTest(store=which, damage=name):
                ends()
                sound = file.read_bytes()
                other = self.daemon.home / "store" / ("boot" if which == "disk" else "disk") / "data.mdb"
                untouched = other.read_bytes()
                data = damage(sound)
                file.write_bytes(data)

                self.assert_refused(file, data)

                self.assertEqual(other.read_bytes(), untouched)
                file.write_bytes(sound)
                self.daemon.start()
                self.assert_ok(self.daemon.run("x"), "41")
                self.assertEqual(self.daemon.call("cell.get", cell="c7")["value"], "7")

    def test_a_damaged_disk_after_a_stop(self):
        self.check("disk", self.daemon.stop)

    def test_a_damaged_disk_after_a_sigkill(self):
        self.check("disk", self.daemon.kill)

    def test_a_damaged_boot_after_a_sigkill(self):
        self.check("boot", self.daemon.kill)

    def test_run_shows_the_same_words(self):
        self.daemon.stop()
        file = self.daemon.home / "store" / "disk" / "data.mdb"
        file.write_bytes(scribbled(file.read_bytes()))

        outcome = self.daemon.command("run", "1")

        self.assertEqual(outcome.returncode, NO_SERVICE, outcome)
        self.assertIn(f"cannot open the store {file}: ", outcome.stderr)
        self.assertIn("restore it from a backup, or move it away to begin anew", outcome.stderr)

    def test_moved_away_as_told_it_begins_anew(self):
        self.daemon.stop()
        file = self.daemon.home / "store" / "disk" / "data.mdb"
        os.truncate(file, 0)
        with self.assertRaises(DaemonEnded):
            self.daemon.start()

        file.rename(self.daemon.directory / "away")
        self.daemon.start()

        self.assert_ok(self.daemon.run("6 * 7"), "42")


class DamagedRowTest(DaemonCase):
    def test_a_session_whose_saved_namespace_cannot_be_read_from_the_store_is_refused_and_loses_nothing(self):
        self.daemon.run("x = 41")
        self.daemon.call("kernel.stop", kernel=self.daemon.kernels()[0]["kernel"])
        self.daemon.stop()
        store = self.daemon.home / "store" / "disk" / "data.mdb"
        sound = store.read_bytes()
        self.assertIn(b"state/1", sound)
        store.write_bytes(sound.replace(b"state/1", b"state/!"))
        (state,) = (self.daemon.home / "state").iterdir()
        saved = state.read_bytes()

        self.daemon.start()
        for method, params in (("run", {"code": "1"}), ("session.get", {}), ("session.reset", {}), ("session.fork", {"into": "copy"})):
            with self.subTest(method), self.assertRaises(RpcError) as caught:
                self.daemon.call(method, **params)
            self.assertEqual(caught.exception.code, STORE_FAILED)
            self.assertIn("cannot read table saved", caught.exception.message)
        self.assert_ok(self.daemon.run("6 * 7", session="other"), "42")
        self.daemon.stop()

        self.assertEqual(state.read_bytes(), saved)
        store.write_bytes(sound)
        self.daemon.start()
        self.assert_ok(self.daemon.run("x"), "41")


if __name__ == "__main__":
    unittest.main()
