"""Files of sessions that were closed right before a crash go with a later start, and nobody else's."""

import unittest

from holdfast_test.cases import DaemonCase
from holdfast_test.waiting import wait_until


class LeftFilesTest(DaemonCase):
    def names(self, folder):
        return sorted(path.name for path in (self.daemon.home / folder).iterdir())

    def test_output_and_saved_namespaces_of_sessions_that_are_no_more_are_removed(self):
        kernel = self.daemon.run("print('kept')", session="stays", cell="c1")["kernel"]["id"]
        self.daemon.call("kernel.stop", kernel=kernel)
        self.daemon.run("1", session="goes")
        self.daemon.call("session.close", session="goes")
        wait_until(lambda: self.names("output") == ["1"], "the output of the closed session to be gone")
        self.daemon.kill()
        (self.daemon.home / "output" / "2").mkdir()
        (self.daemon.home / "output" / "2" / "1").write_text("left")
        for name in ("2.0", "2.3.part"):
            (self.daemon.home / "state" / name).write_text("left")
        (self.daemon.home / "state" / "notes").write_text("not ours")

        self.daemon.start()

        wait_until(lambda: (self.names("output"), self.names("state")) == (["1"], ["1.0", "notes"]), "what was left to be gone")
        self.assert_ok(self.daemon.run("2", session="stays"))
        self.assertEqual(self.daemon.call("cell.output", session="stays", cell="c1")["chunks"][0]["text"], "kept\n")

    def test_a_saved_namespace_that_was_copied_for_a_fork_which_was_not_recorded_is_removed(self):
        kernel = self.daemon.run("x = 41")["kernel"]["id"]
        self.daemon.call("kernel.stop", kernel=kernel)
        self.daemon.kill()
        (self.daemon.home / "state" / "2.0").write_text("left")  # its number was never given to a session

        self.daemon.start()

        wait_until(lambda: self.names("state") == ["1.0"], "the copy to be gone")
        self.daemon.call("session.fork", into="b")
        self.assert_ok(self.daemon.run("x", session="b"), "41")


if __name__ == "__main__":
    unittest.main()
