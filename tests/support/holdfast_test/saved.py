"""What the tests of saved namespaces share."""

from holdfast_test.cases import DaemonCase
from holdfast_test.waiting import wait_until

# Of these all but the lock can be saved.
FILL = "import threading\nx = 41\ndef plus(): return x + 1\nlock = threading.Lock()"


class SavedCase(DaemonCase):
    def stop_kernel(self, **params):
        return self.daemon.call("kernel.stop", kernel=self.daemon.kernels()[0]["kernel"], **params)

    def hibernate(self, code=FILL, **params):
        self.assert_ok(self.daemon.run(code, **params))
        self.stop_kernel()

    def session(self, **params):
        return self.daemon.call("session.get", **params)

    def state_files(self):
        return sorted(path.name for path in (self.daemon.home / "state").iterdir())

    def wait_state(self, state):
        wait_until(lambda: self.session()["state"] == state, f"the session to be {state}")

    def assert_restored(self, result, value=None):
        self.assert_ok(result, value)
        kernel = result["kernel"]
        self.assertEqual((kernel["reason"], kernel["restored"], kernel["reused"]), ("restored", True, False), kernel)
        self.assertEqual((kernel["state_lost"], kernel["state_reset"]), (False, False), kernel)
        self.assertEqual(self.notice_kinds(result), ["restored"])
