"""What clients read about sessions, kernels, cells and events: filters, pages, order, and the table of methods."""

import unittest

from holdfast_test.cases import DaemonCase, SharedDaemonCase
from holdfast_test.client import RpcError
from holdfast_test.waiting import wait_until

METHODS = {
    "run", "cell.get", "cell.wait", "cell.list", "cell.output", "cell.display", "cell.interrupt",
    "session.list", "session.get", "session.variables", "session.fork", "session.reset", "session.close", "owner.close", "kernel.list", "kernel.stop", "job.list", "job.stop", "job.output",
    "notice.list", "notice.ack", "event.subscribe", "status", "metrics", "rpc.discover", "shutdown",
}  # fmt: skip


class CellListTest(SharedDaemonCase):
    def cells(self, **params):
        return self.client.call("cell.list", session=self.session, **params)

    def pages(self, limit, **params):
        """The items of all pages of that size, and the number of pages."""
        items, after, count = [], "", 0
        while after is not None:
            page = self.cells(limit=limit, **({"after": after} if after else {}), **params)
            self.assertLessEqual(len(page["items"]), limit)
            items, after, count = items + page["items"], page["next"], count + 1
        return items, count

    def test_cells_are_listed_newest_first_with_their_rows(self):
        for number in range(3):
            self.run_cell(f"print({number})", cell=f"c{number}")

        rows = self.cells()["items"]

        self.assertEqual([row["cell"] for row in rows], ["c2", "c1", "c0"])
        self.assertEqual({row["status"] for row in rows}, {"ok"})
        self.assertEqual((rows[0]["source"], rows[0]["output_bytes"]), ("print(2)", 2))
        self.assertRegex(rows[0]["started_at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertGreaterEqual(rows[0]["duration_ms"], 0)

    def test_a_filter_by_status_and_pages_of_it(self):
        for number in range(12):
            self.run_cell("1/0" if number % 3 == 0 else "1", cell=f"c{number}")

        errors, _ = self.pages(3, status="error")
        self.assertEqual([row["cell"] for row in errors], ["c9", "c6", "c3", "c0"])
        self.assertEqual(self.cells(status="lost"), {"items": [], "next": None})

    def test_pages_of_any_size_give_every_cell_once(self):
        for number in range(7):
            self.run_cell("1", cell=f"c{number}")
        expected = [f"c{number}" for number in reversed(range(7))]

        for limit in (1, 2, 3, 7, 100):
            items, _ = self.pages(limit)
            self.assertEqual([row["cell"] for row in items], expected, limit)

    def test_a_cell_accepted_between_two_pages_shifts_nothing(self):
        for number in range(4):
            self.run_cell("1", cell=f"c{number}")
        first = self.cells(limit=2)
        self.run_cell("1", cell="late")

        second = self.cells(limit=2, after=first["next"])

        self.assertEqual([row["cell"] for row in first["items"] + second["items"]], ["c3", "c2", "c1", "c0"])

    def test_the_source_is_cut_at_80_characters(self):
        self.run_cell("#" + "\u00e9" * 200, cell="c1")

        source = self.cells()["items"][0]["source"]

        self.assertEqual(source, "#" + "\u00e9" * 79)

    def test_limits_out_of_range_are_refused(self):
        self.run_cell("1")
        for limit in (0, 1001, -1):
            with self.subTest(limit), self.assertRaises(RpcError) as caught:
                self.cells(limit=limit)
            self.assertEqual(caught.exception.code, -32602)

    def test_a_running_cell_is_listed_as_running_and_a_queued_one_as_queued(self):
        pending = self.start_cell("import time\nprint('before', flush=True)\ntime.sleep(0.7)", "c1")
        self.client.wait_streamed("c1", "before\n")
        self.start_cell("1", "c2")

        rows = self.cells()["items"]

        self.assertEqual([row["status"] for row in rows], ["queued", "running"])
        self.assertEqual(rows[1]["output_bytes"], len("before\n"))
        pending.result()


class RowsTest(DaemonCase):
    def test_session_rows_and_their_filters(self):
        self.daemon.run("1", session="a", owner="one")
        self.daemon.run("1", session="b", owner="two", child="delegate")

        rows = self.daemon.call("session.list")["items"]
        of_two = self.daemon.call("session.list", owner="two")["items"]
        got = self.daemon.call("session.get", session="a", owner="one")

        self.assertEqual([row["session"] for row in rows], ["b", "a"])
        self.assertEqual([(row["session"], row["child"]) for row in of_two], [("b", "delegate")])
        self.assertEqual((got["state"], got["cell"], got["queued"], len(got["kernels"])), ("idle", None, 0, 1))
        self.assertEqual(self.daemon.call("session.list", state="busy")["items"], [])

    def test_a_busy_session_and_kernel_name_their_cell(self):
        client, pending = self.daemon.start_cell("import time\nprint('before', flush=True)\ntime.sleep(1)", "c1")
        client.wait_streamed("c1", "before\n")
        self.daemon.start_cell("1", "c2")

        session, kernel = self.daemon.call("session.get"), self.daemon.kernels()[0]

        self.assertEqual((session["state"], session["cell"], session["queued"]), ("busy", "c1", 1))
        self.assertEqual((kernel["state"], kernel["cell"], kernel["queued"]), ("busy", "c1", 1))
        pending.result()

    def test_kernel_rows_and_their_filters(self):
        first = self.daemon.run("1", session="a", owner="one")["kernel"]
        self.daemon.run("1", session="b", owner="two")

        rows = self.daemon.kernels(owner="one")

        self.assertEqual([(row["kernel"], row["pid"], row["session"]) for row in rows], [(first["id"], first["pid"], "a")])
        self.assertEqual((rows[0]["state"], rows[0]["environment"]), ("idle", "local"))
        self.assertEqual(len(self.daemon.kernels()), 2)
        self.assertEqual(self.daemon.kernels(session="none"), [])

    def test_rows_are_the_same_after_a_crash(self):
        self.daemon.run("1", session="a", cell="c1")
        before = self.daemon.call("session.list")["items"]
        cells = self.daemon.call("cell.list", session="a")
        self.daemon.restart(crash=True)
        wait_until(lambda: self.daemon.kernels(state="idle"), "the attached kernel")

        after = self.daemon.call("session.list")["items"]

        for field in ("session", "owner", "child", "kernels", "created_at"):
            self.assertEqual([row[field] for row in after], [row[field] for row in before])
        self.assertEqual(self.daemon.call("cell.list", session="a"), cells)


class EventsTest(DaemonCase):
    def kinds(self, client):
        return [event["kind"] for event in client.notifications("event")]

    def test_a_cells_events_come_in_order_with_ascending_seq(self):
        client = self.daemon.connect()
        client.call("event.subscribe")

        self.daemon.run("1", session="a", cell="c1")
        client.wait_notification("event", kind="cell_finished")

        kinds = self.kinds(client)
        expected = ["session_created", "kernel_started", "cell_accepted", "cell_started", "cell_finished"]
        self.assertEqual(sorted(kind for kind in kinds if kind in expected), sorted(expected), kinds)
        self.assertEqual([kind for kind in kinds if kind.startswith("cell_")], expected[2:])
        events = client.notifications("event")
        seqs = [event["seq"] for event in events]
        self.assertEqual(seqs, list(range(seqs[0], seqs[0] + len(seqs))))
        finished = next(event for event in events if event["kind"] == "cell_finished")
        self.assertEqual((finished["owner"], finished["child"], finished["session"]), ("default", None, "a"))
        self.assertEqual(finished["details"]["cell"], "c1")

    def test_every_event_says_why(self):
        client = self.daemon.connect()
        client.call("event.subscribe")

        self.daemon.run("1", cell="first")
        self.daemon.run("import time; time.sleep(60)", cell="late", timeout_ms=50)
        self.daemon.run("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", cell="struck")
        self.daemon.run("1", cell="fresh", reset=True)
        self.daemon.run("await run('true')", cell="jobs")
        with self.assertRaises(RpcError):
            self.daemon.call("run", code="1", cell="choosy", if_kernel="k-none")
        self.daemon.call("session.close")
        client.wait_notification("event", kind="session_closed")

        events = client.notifications("event")
        for event in events:
            self.assertTrue(event["details"].get("reason") or event["kind"] == "notice", event)
        told = [(event["kind"], event["details"].get("cell"), event["details"].get("reason")) for event in events]
        for expected in (
            ("session_created", None, "run"),
            ("kernel_started", None, "first"),
            ("kernel_attached", None, "started"),
            ("cell_started", "first", "first"),
            ("cell_finished", "first", "done"),
            ("cell_accepted", "late", "sent"),
            ("cell_started", "late", "reused"),
            ("cell_finished", "late", "deadline"),
            ("cell_finished", "struck", "signal"),
            ("kernel_ended", None, "signal"),
            ("kernel_started", None, "died"),
            ("cell_started", "fresh", "died"),
            ("job_started", "jobs", "cell"),
            ("job_finished", "jobs", "exit"),
            ("refused", "choosy", "kernel_changed"),
            ("kernel_ended", None, "close"),
            ("session_closed", None, "close"),
        ):
            self.assertIn(expected, told)

    def test_a_subscriber_that_names_since_hears_what_it_missed_and_only_that(self):
        self.daemon.run("1", cell="c1")
        first = self.daemon.connect()
        seq = first.call("event.subscribe")["seq"]
        self.daemon.run("2", cell="c2")
        first.wait_notification("event", kind="cell_finished")

        second = self.daemon.connect()
        answer = second.call("event.subscribe", since=seq)
        second.wait_notification("event", kind="cell_finished")

        self.assertEqual(answer["missed"], 0)
        self.assertEqual(second.notifications("event"), first.notifications("event"))
        self.assertTrue(all(event["seq"] > seq for event in second.notifications("event")))

    def test_types_and_owner_filter_what_is_heard(self):
        client = self.daemon.connect()
        client.call("event.subscribe", types=["cell_finished"], owner="one")

        self.daemon.run("1", owner="two")
        self.daemon.run("1", owner="one")
        client.wait_notification("event", kind="cell_finished")

        self.assertEqual([(event["kind"], event["owner"]) for event in client.notifications("event")], [("cell_finished", "one")])

    def test_an_unknown_type_is_refused(self):
        with self.assertRaises(RpcError) as caught:
            self.daemon.call("event.subscribe", types=["no_such"])
        self.assertEqual(caught.exception.code, -32602)


class DiscoverTest(SharedDaemonCase):
    def test_discover_lists_every_method_with_params_and_errors(self):
        table = self.client.call("rpc.discover")

        methods = {method["name"]: method for method in table["methods"]}
        self.assertEqual(set(methods), METHODS)
        self.assertIn("code", [param["name"] for param in methods["run"]["params"]])
        self.assertTrue(str(table["protocol"]).startswith("1."))

    def test_every_listed_method_refuses_an_unknown_param(self):
        for method in self.client.call("rpc.discover")["methods"]:
            with self.subTest(method["name"]), self.assertRaises(RpcError) as caught:
                self.client.call(method["name"], no_such_param=1)
            self.assertEqual(caught.exception.code, -32602)
            self.assertIn("no_such_param", caught.exception.message)


if __name__ == "__main__":
    unittest.main()
