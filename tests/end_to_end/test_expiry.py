"""Records are kept in number; what is beyond leaves a tombstone, so that its cell never runs again."""

import unittest

from holdfast_test.cases import DaemonCase
from holdfast_test.client import RpcError
from holdfast_test.waiting import wait_until


class ExpiryTest(DaemonCase):
    def test_a_lowered_limit_is_caught_up_with_and_expired_cells_never_run_again(self):
        for number in range(10):
            self.daemon.run(f"print({number})", cell=f"c{number}")
        self.daemon.stop()
        self.daemon.start(HOLDFAST_KEEP_CELLS="3")

        self.daemon.run("'newest'", cell="newest")

        wait_until(lambda: len(self.daemon.call("cell.list")["items"]) == 3, "only three records", 10)
        self.assertEqual([row["cell"] for row in self.daemon.call("cell.list")["items"]], ["newest", "c9", "c8"])
        for method, params in (("cell.get", {}), ("run", {"code": "print(0)"})):
            with self.assertRaises(RpcError) as caught:
                self.daemon.call(method, cell="c0", **params)
            self.assertEqual((caught.exception.code, caught.exception.data["kind"]), (1003, "cell_expired"))
        wait_until(lambda: len(list((self.daemon.home / "output" / "1").iterdir())) <= 3, "the output of expired cells gone", 10)


if __name__ == "__main__":
    unittest.main()
