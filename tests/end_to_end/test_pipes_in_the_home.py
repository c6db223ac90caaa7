"""A pipe that was put in place of a file of the home holds up neither a start nor a daemon: what lay there is missing, and said so."""

import os
import unittest

from holdfast_test.cases import DaemonCase
from holdfast_test.client import RpcError
from holdfast_test.daemon import DaemonEnded

REFUSED = 4
UNREACHABLE = 3
GATED = "import asyncio\ngo = asyncio.Event()\nprint('before', flush=True)\nawait go.wait()\nprint('after')"


def put_pipe(path):
    path.unlink()
    os.mkfifo(path, 0o600)


class PipesAtTheStartTest(DaemonCase):
    def setUp(self):
        super().setUp()
        self.daemon.run("x = 41")
        self.daemon.stop()

    def assert_refused(self, *words):
        with self.assertRaises(DaemonEnded) as caught:
            self.daemon.start()
        self.assertEqual(caught.exception.returncode, REFUSED, caught.exception)
        last = caught.exception.output.strip().splitlines()[-1]
        for word in words:
            self.assertIn(word, last)

    def test_in_place_of_a_store_it_is_refused_by_name(self):
        for which in ("disk", "boot"):
            with self.subTest(store=which):
                file = self.daemon.home / "store" / which / "data.mdb"
                sound = file.read_bytes()
                put_pipe(file)

                self.assert_refused(f"cannot open the store {file}: ", "found 0 bytes")

                file.unlink()
                file.write_bytes(sound)
        self.daemon.start()
        self.assert_ok(self.daemon.run("x"), "41")

    def test_in_place_of_the_log_it_is_refused_by_name(self):
        log = self.daemon.home / "daemon.log"
        put_pipe(log)
        try:
            self.assert_refused(f"cannot open log {log}: it is a pipe")
            outcome = self.daemon.command("run", "1")
        finally:
            log.unlink()

        self.assertEqual(outcome.returncode, UNREACHABLE, outcome)
        self.assertIn(str(log), outcome.stderr)


class PipesWhileItServesTest(DaemonCase):
    def test_in_place_of_a_cells_output_that_output_is_missing_and_all_else_goes_on(self):
        self.daemon.run("print('o' * 100)", cell="c1")
        put_pipe(self.daemon.home / "output" / "1" / "1")

        page = self.daemon.call("cell.output", cell="c1")

        self.assertEqual((page["chunks"], page["dropped"]), ([], [{"from": 0, "to": 101}]), page)
        self.assertEqual(self.daemon.call("cell.get", cell="c1")["stdout"], "o" * 100 + "\n")
        self.assert_ok(self.daemon.run("1 + 1"), "2")

    def test_in_place_of_a_running_cells_output_its_result_is_whole(self):
        client, _pending = self.daemon.start_cell(GATED, "c1", background_after_ms=1)
        client.wait_streamed("c1", "before\n")
        put_pipe(self.daemon.home / "output" / "1" / "1")
        self.daemon.restart(crash=True)

        self.daemon.run("go.set()")
        result = self.daemon.call("cell.wait", cell="c1")

        self.assert_ok(result)
        self.assertEqual(result["stdout"], "before\nafter\n")

    def test_in_place_of_a_display_it_is_not_found_and_all_else_goes_on(self):
        self.daemon.run("class Shown:\n    def _repr_html_(self): return '<b>bold</b>'\ndisplay(Shown())", cell="c1")
        put_pipe(next(self.daemon.home.glob("output/1/1.displays/0")))

        with self.assertRaises(RpcError) as caught:
            self.daemon.call("cell.display", cell="c1", index=0, mime="text/html")

        self.assertEqual(caught.exception.code, 1001)
        self.assertEqual(self.daemon.call("cell.get", cell="c1")["displays"][0]["data"]["text/html"], "<b>bold</b>")
        self.assert_ok(self.daemon.run("1 + 1"), "2")


if __name__ == "__main__":
    unittest.main()
