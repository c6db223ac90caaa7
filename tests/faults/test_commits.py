"""SIGKILL of the daemon before and after each of its commits for one cell: nothing acknowledged is lost, nothing runs twice."""

import signal
import unittest

from holdfast_test.cases import DaemonCase
from holdfast_test.client import ConnectionLost, RpcError
from holdfast_test.waiting import NeverHappened, wait_until

MOST_COMMITS = 40  # of one cell; the sweep ends with the first number that is never reached
SHORT_SECONDS = 3.0  # by then a commit that is still to come has come


class CommitsTest(DaemonCase):
    def setUp(self):
        pass

    def killed_at(self, name, hit):
        """One cell with the daemon killed at that hit of that name. False if the cell ended before it."""
        daemon = self.make_daemon()
        effects = daemon.directory / "effects"
        code = f"with open({str(effects)!r}, 'a') as file: file.write('ran\\n')\n'value'"
        chain = f"{hit}*off->kill" if hit else "kill"
        try:
            daemon.start(HOLDFAST_FAILPOINTS=f"{name}={chain}", HOLDFAST_FAILPOINT_LOG=str(daemon.failpoint_log))
        except Exception:
            if name in daemon.fired_failpoints():  # it has commits of its own at start
                daemon.start()
                daemon.close()
                return True
            raise
        client = daemon.connect()
        pending = client.send("run", code=code, cell="c1", stream=True)
        answered = None
        try:
            answered = pending.result()
            wait_until(lambda: daemon.process.poll() is not None, "the kill", SHORT_SECONDS)
        except ConnectionLost:
            pass
        except NeverHappened:
            daemon.close()
            return False
        was_accepted = bool(client.notifications("cell.accepted", cell="c1"))
        self.assertEqual(daemon.wait_ended(), -signal.SIGKILL)
        daemon.start()
        self.assert_survived(daemon, code, answered, was_accepted)
        self.assertEqual(effects.read_text(), "ran\n")
        daemon.close()
        return True

    def assert_survived(self, daemon, code, answered, was_accepted):
        try:
            result = daemon.call("cell.wait", cell="c1")
        except RpcError as problem:
            self.assertEqual(problem.code, 1001)
            self.assertFalse(was_accepted or answered, "what was acknowledged is gone")
            result = daemon.run(code, cell="c1")
        self.assert_ok(result, "'value'")
        if answered:
            self.assertEqual({**result, "replayed": None}, {**answered, "replayed": None})

    def sweep(self, name):
        for hit in range(MOST_COMMITS):
            with self.subTest(name=name, hit=hit):
                if not self.killed_at(name, hit):
                    self.assertGreater(hit, 0, f"failpoint {name} never fired")
                    return
        self.fail(f"{name} fires more than {MOST_COMMITS} times for one cell")

    def test_boot_before_commit(self):
        self.sweep("storage.boot.before_commit")

    def test_boot_after_commit(self):
        self.sweep("storage.boot.after_commit")

    def test_disk_before_commit(self):
        self.sweep("storage.disk.before_commit")

    def test_disk_after_commit(self):
        self.sweep("storage.disk.after_commit")


if __name__ == "__main__":
    unittest.main()
