"""A home with a kernel, its jobs and a cell that waits: what the tests of copied and of moved homes share."""

import ast
import subprocess

from holdfast_test import processes
from holdfast_test.cases import DaemonCase

WITH_JOBS = "import os\nx = 41\njob = run('sleep', '600')\nkept = run('sleep', '600', keep=True)\n(os.getpid(), job.pid, kept.pid)"


class HomeCase(DaemonCase):
    def setUp(self):
        super().setUp()
        pids = ast.literal_eval(self.daemon.run(WITH_JOBS, cell="first")["value"])
        self.pid = pids[0]
        self.started = [processes.identify(pid) for pid in pids] + self.daemon.nurseries()
        self.gate = self.daemon.directory / "gate"

    def start_gated(self):
        """A cell that runs until the gate is there."""
        code = f"import os, time\nprint('on', flush=True)\nwhile not os.path.exists({str(self.gate)!r}): time.sleep(0.01)\nx += 1\nx"
        client, pending = self.daemon.start_cell(code, "gated")
        client.wait_streamed("gated", "on")
        return pending

    def copy_home(self, to=None):
        """A daemon, not running yet, whose home is a copy of the first one's as it is now; `to`: at that path."""
        copied = self.make_daemon()
        copied.home.rmdir()
        copied.home = to or copied.home
        subprocess.run(["cp", "-a", str(self.daemon.home), str(copied.home)], check=True)
        return copied

    def assert_unharmed(self):
        self.assertEqual([each for each in self.started if not processes.is_alive(each)], [])

    def assert_original_goes_on(self, value):
        result = self.daemon.run("x")
        self.assert_ok(result, value)
        self.assertEqual((result["kernel"]["pid"], result["kernel"]["state_lost"]), (self.pid, False))
        self.assertEqual([row["state"] for row in self.daemon.call("job.list")["items"]], ["running", "running"])
        self.assert_unharmed()
        return result
