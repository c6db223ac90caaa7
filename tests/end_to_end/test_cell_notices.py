"""The end of a cell that nobody waited for: told once to who listens and with the next result, and no news once it was read."""

import unittest

from holdfast_test.cases import DaemonCase, SharedDaemonCase
from holdfast_test.client import Client
from holdfast_test.waiting import wait_until


class CellFinishedTest(SharedDaemonCase):
    def start_unattended(self, code, cell):
        """Runs it while nobody waits, and returns once it has ended."""
        self.run_cell(code, cell=cell, wait_ms=0)
        rows = lambda: self.client.call("cell.list", session=self.session)["items"]  # reads no result
        wait_until(lambda: any(row["cell"] == cell and row["status"] == "ok" for row in rows()), "its end")

    def told(self):
        items = self.client.call("notice.list", owner="default", session=self.session)["items"]
        return [notice for notice in items if notice["kind"] == "cell_finished"]

    def test_it_rides_on_the_next_result_once(self):
        self.run_cell("1")
        self.start_unattended("import time\ntime.sleep(0.2)\n42", "alone")

        next_one, later = self.run_cell("1"), self.run_cell("2")

        self.assertEqual(self.notice_kinds(next_one), ["cell_finished"])
        self.assertIn("cell alone has ended (ok)", next_one["notices"][0]["text"])
        self.assertEqual(next_one["notices"][0]["details"]["cells"], ["alone"])
        self.assertEqual(later["notices"], [])

    def test_reading_the_result_withdraws_it(self):
        for method in ("cell.get", "cell.wait", "run"):
            with self.subTest(method=method):
                cell = f"read-by-{method}"
                self.start_unattended("import time\ntime.sleep(0.2)", cell)
                self.assertEqual(len(self.told()), 1)

                more = {"code": "import time\ntime.sleep(0.2)"} if method == "run" else {}
                self.client.call(method, session=self.session, cell=cell, **more)

                self.assertEqual(self.told(), [])
                self.assertEqual(self.run_cell("1")["notices"], [])

    def test_one_that_somebody_waits_for_is_no_news(self):
        self.run_cell("1", cell="waited")

        self.assertEqual(self.run_cell("2")["notices"], [])

    def test_one_whose_waiter_is_gone_is(self):
        with Client(self.daemon.socket_path) as gone:
            pending = self.start_cell("import time\nprint('on', flush=True)\ntime.sleep(1)", "left", client=gone)
            gone.wait_streamed("left", "on")
            del pending

        wait_until(self.told, "its notice")

    def test_who_listens_hears_of_it(self):
        with Client(self.daemon.socket_path) as listener:
            listener.call("event.subscribe", types=["notice"])
            self.start_unattended("import time\ntime.sleep(0.2)", "alone")

            told = listener.wait_notification("event", kind="notice")

        self.assertEqual((told["details"]["kind"], told["session"]), ("cell_finished", self.session))


class AfterRestartTest(DaemonCase):
    def test_it_survives_a_crash_and_so_does_its_withdrawal(self):
        self.daemon.run("import time\ntime.sleep(0.2)", cell="alone", wait_ms=0)
        wait_until(lambda: self.daemon.call("notice.list")["items"], "its notice")
        self.daemon.restart(crash=True)
        wait_until(lambda: self.daemon.call("status")["attaching"] == 0, "its kernel attached")
        kinds = [notice["kind"] for notice in self.daemon.call("notice.list")["items"]]
        self.assertEqual(sorted(kinds), ["cell_finished", "reattached"])

        self.daemon.call("cell.get", cell="alone")
        self.daemon.restart(crash=True)

        self.assertEqual(self.notice_kinds(self.daemon.run("1")), ["reattached"])

    def test_one_that_ended_while_the_daemon_was_down_is_told(self):
        client, _ = self.daemon.start_cell("import time\nprint('on', flush=True)\ntime.sleep(1)", "alone")
        client.wait_streamed("alone", "on")
        self.daemon.kill()
        self.daemon.wait_spooled("done", "alone")
        self.daemon.start()

        wait_until(lambda: "cell_finished" in [each["kind"] for each in self.daemon.call("notice.list")["items"]], "its notice")


if __name__ == "__main__":
    unittest.main()
