"""Owners and their children: apart from each other, closed with all they have, and nobody else with them."""

import unittest

from holdfast_test.client import RpcError
from holdfast_test.cases import DaemonCase
from holdfast_test.waiting import wait_until


class OwnersTest(DaemonCase):
    def sessions(self):
        return sorted((row["owner"], row["child"] or "", row["session"]) for row in self.daemon.call("session.list", limit=1000)["items"])

    def test_parent_and_child_read_no_global_of_each_other(self):
        self.daemon.run("theirs = 1")
        self.daemon.run("own = 1", child="c")

        for code, params in (("own", {}), ("theirs", {"child": "c"}), ("own", {"child": "d"}), ("theirs", {"owner": "other"})):
            self.assertEqual(self.daemon.run(code, **params)["error"]["name"], "NameError", (code, params))
        self.assert_ok(self.daemon.run("own", child="c"), "1")
        self.assert_ok(self.daemon.run("theirs"), "1")

    def test_closing_an_owner_ends_its_sessions_and_its_childrens_and_nobody_elses(self):
        for owner, child, session in (("o", None, "a"), ("o", None, "b"), ("o", "c", "a"), ("oo", None, "a"), ("p", "c", "a")):
            self.daemon.run("1", owner=owner, session=session, **({"child": child} if child else {}))
        hibernated = self.daemon.kernels(owner="o", session="b")[0]["kernel"]
        self.daemon.call("kernel.stop", kernel=hibernated)

        answer = self.daemon.call("owner.close", owner="o")

        self.assertEqual(answer, {"sessions": 3, "kernels": 2})
        self.assertEqual(sorted((row["owner"], row["child"] or "") for row in self.daemon.kernels()), [("oo", ""), ("p", "c")])
        self.assertEqual([row[0] for row in self.sessions()], ["oo", "p"])
        wait_until(lambda: len(self.daemon.run_directories()) == 2, "the directories of the others to be left")
        wait_until(lambda: not list((self.daemon.home / "state").iterdir()), "no saved namespace to be left")

    def test_closing_a_child_releases_that_one_alone(self):
        self.daemon.run("x = 1")
        for child in ("c", "d"):
            self.daemon.run("x = 1", child=child)

        answer = self.daemon.call("owner.close", child="c")

        self.assertEqual(answer, {"sessions": 1, "kernels": 1})
        self.assertEqual([row[1] for row in self.sessions() if row[1]], ["d"])
        self.assert_ok(self.daemon.run("x"), "1")
        self.assert_ok(self.daemon.run("x", child="d"), "1")
        self.assertEqual(self.daemon.run("x", child="c")["error"]["name"], "NameError")

    def test_sessions_that_are_not_loaded_are_closed_as_well(self):
        for number in range(30):
            self.daemon.run("1", session=f"s{number}", owner="o")
        for row in self.daemon.kernels():
            self.daemon.call("kernel.stop", kernel=row["kernel"], save=False)
        self.daemon.restart(crash=True)

        self.assertEqual(self.daemon.call("owner.close", owner="o"), {"sessions": 30, "kernels": 0})

        self.assertEqual(self.sessions(), [])
        self.daemon.restart(crash=True)
        self.assertEqual(self.sessions(), [])

    def test_a_running_cell_ends_as_interrupted_and_a_cell_that_waits_is_refused(self):
        client, pending = self.daemon.start_cell("import time; print('on', flush=True); time.sleep(60)", "c1", owner="o")
        client.wait_streamed("c1", "on")
        queued = client.send("run", code="1", cell="c2", owner="o", stream=True)
        client.wait_accepted("c2", queued)

        self.assertEqual(self.daemon.call("owner.close", owner="o"), {"sessions": 1, "kernels": 1})

        self.assertEqual(pending.result()["status"], "interrupted")
        self.assertEqual(queued.result()["status"], "interrupted")

    def test_an_owner_without_sessions_is_not_found(self):
        self.daemon.run("1")
        for params, name in (({"owner": "nobody"}, "owner nobody"), ({"child": "c"}, "owner default, child c")):
            with self.assertRaises(RpcError) as refused:
                self.daemon.call("owner.close", **params)
            self.assertEqual(refused.exception.code, 1001)
            self.assertIn(f"no session of {name}", refused.exception.message)

    def test_two_closings_at_once_are_both_answered(self):
        for number in range(5):
            self.daemon.run("1", session=f"s{number}")
        client = self.daemon.connect()

        both = [client.send("owner.close") for _ in range(2)]

        self.assertEqual([each.result()["sessions"] for each in both], [5, 5])

    def test_the_command_closes_an_owner(self):
        self.daemon.run("1", owner="o")
        self.daemon.run("1")

        closed = self.daemon.command("close", "--owner", "o")

        self.assertEqual((closed.returncode, closed.stdout), (0, "closed owner o: 1 sessions, 1 kernels ended\n"), closed.stderr)
        self.assertEqual([row[0] for row in self.sessions()], ["default"])
        again = self.daemon.command("close", "--owner", "o")
        self.assertEqual(again.returncode, 4, again)

    def test_a_session_that_left_memory_answers_as_before(self):
        self.daemon.run("x = 41", cell="c1")
        self.daemon.call("kernel.stop", kernel=self.daemon.kernels()[0]["kernel"])
        clients = [self.daemon.connect() for _ in range(4)]

        for _ in range(50):  # loaded and left again each time, with calls on its heels
            pending = [client.send("cell.get", cell="c1") for client in clients] + [clients[0].send("session.get")]
            for each in pending:
                each.result()

        self.assertEqual(self.daemon.call("session.get")["state"], "hibernated")
        self.assert_ok(self.daemon.run("x + 1"), "42")


if __name__ == "__main__":
    unittest.main()
