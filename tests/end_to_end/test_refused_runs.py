"""A run that is refused leaves nothing: no session that nobody has ever had a cell in."""

import unittest

from holdfast_test.cases import DaemonCase
from holdfast_test.client import RpcError
from holdfast_test.waiting import wait_until

REFUSED = (
    ({"python": "/no/such/python3"}, 1007),
    ({"cwd": "/no/such/directory"}, 1007),
    ({"if_kernel": "k-none"}, 1011),
    ({"environment": "moon"}, -32602),
)


class RefusedRunTest(DaemonCase):
    environment = {"HOLDFAST_FALLBACK": "error"}

    def sessions(self):
        return [row["session"] for row in self.daemon.call("session.list")["items"]]

    def refuse(self, code=1007, **params):
        with self.assertRaises(RpcError) as refused:
            self.daemon.run("1", **(params or {"python": "/no/such/python3"}))
        self.assertEqual(refused.exception.code, code)

    def test_the_session_that_it_made_is_not_kept_and_its_name_is_free(self):
        for params, code in REFUSED:
            with self.subTest(params):
                self.refuse(code, **params, session="new")

                wait_until(lambda: self.sessions() == [], "the end of the empty session")
                self.assert_ok(self.daemon.run("1", session="new", python=None), "1")
                self.daemon.call("session.close", session="new")

    def test_it_is_gone_for_good_and_told_as_closed(self):
        client = self.daemon.connect()
        client.call("event.subscribe")

        self.refuse()

        closed = client.wait_notification("event", where=lambda event: event["kind"] == "session_closed")
        self.assertEqual(closed["details"]["reason"], "refused")
        self.daemon.restart(crash=True)
        self.assertEqual(self.sessions(), [])
        with self.assertRaises(RpcError) as unknown:
            self.daemon.call("session.get")
        self.assertEqual(unknown.exception.code, 1001)

    def test_one_in_which_a_cell_has_run_is_kept(self):
        self.daemon.run("x = 1")
        self.daemon.call("kernel.stop", kernel=self.daemon.kernels()[0]["kernel"], save=False)

        self.refuse()

        self.assertEqual(self.sessions(), ["default"])
        self.assertEqual(len(self.daemon.call("cell.list")["items"]), 1)

    def test_what_comes_right_behind_the_refusal_is_done_as_in_a_new_session(self):
        client = self.daemon.connect()
        for number in range(25):
            name = f"s{number}"
            with self.assertRaises(RpcError):
                client.call("run", code="1", session=name, if_kernel="k-none")

            asked = client.send("session.get", session=name)
            run = client.send("run", code="6 * 7", session=name)

            try:
                self.assertEqual(asked.result()["session"], name)
            except RpcError as unknown:
                self.assertEqual(unknown.code, 1001)
            self.assert_ok(run.result(), "42")
            self.assertIn(name, self.sessions())

    def test_an_owner_can_be_closed_meanwhile(self):
        client = self.daemon.connect()
        for _ in range(10):
            with self.assertRaises(RpcError):
                client.call("run", code="1", owner="ada", if_kernel="k-none")

            try:
                client.call("owner.close", owner="ada")
            except RpcError as unknown:  # it was gone by itself
                self.assertEqual(unknown.code, 1001)

            self.assertEqual(self.sessions(), [])


if __name__ == "__main__":
    unittest.main()
