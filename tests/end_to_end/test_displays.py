"""What a cell shows beside its output: in its result, in its stream, read back by type, over restarts."""

import base64
import subprocess
import unittest

from holdfast_test.cases import DaemonCase
from holdfast_test.client import RpcError
from holdfast_test.daemon import binary

PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
SHOWN = f"""
class Shown:
    def __repr__(self): return 'plain'
    def _repr_html_(self): return '<b>bold</b>'
    def _repr_png_(self): return {PICTURE!r}
"""


class DisplayTest(DaemonCase):
    def test_a_rich_last_value_is_a_display_with_all_its_types(self):
        result = self.daemon.run(SHOWN + "print('before')\nShown()")

        self.assertEqual(result["value"], "plain")
        (shown,) = result["displays"]
        self.assertEqual((shown["index"], shown["main"], shown["offset"], shown["omitted"]), (0, True, len("before\n"), []))
        self.assertEqual(shown["data"]["text/html"], "<b>bold</b>")
        self.assertEqual(base64.b64decode(shown["data"]["image/png"]), PICTURE)

    def test_displays_are_streamed_in_order_with_the_output(self):
        client = self.daemon.connect()

        result = client.run("print('one')\ndisplay({'a': 1})\nprint('two')\ndisplay('last')", cell="c1", stream=True)
        pieces = client.notifications("cell.stream", cell="c1")

        self.assertEqual([shown["main"] for shown in result["displays"]], [False, False])
        self.assertEqual([piece["display"]["index"] for piece in pieces if "display" in piece], [0, 1])
        offsets = [piece["offset"] for piece in pieces if "display" in piece]
        self.assertEqual(offsets, [len("one\n"), len("one\ntwo\n")])

    def test_what_is_too_large_for_the_result_is_read_by_type(self):
        html = "x" * (2 << 20)
        result = self.daemon.run(SHOWN + f"Shown._repr_html_ = lambda self: 'x' * {len(html)}\nShown()", cell="c1")

        (shown,) = result["displays"]
        self.assertEqual(shown["omitted"], [{"mime": "text/html", "bytes": len(html), "kept": True}])
        self.assertNotIn("text/html", shown["data"])
        read = self.daemon.call("cell.display", cell="c1", index=0, mime="text/html")
        self.assertEqual((read["mime"], read["bytes"], read["data"]), ("text/html", len(html), html))
        picture = self.daemon.call("cell.display", cell="c1", index=0, mime="image/png")
        self.assertEqual((picture["bytes"], base64.b64decode(picture["data"])), (len(PICTURE), PICTURE))

    def test_the_command_line_names_displays_and_writes_one(self):
        ran = self.daemon.command("run", "--cell", "c1", SHOWN + "Shown()")
        with subprocess.Popen(
            [binary(), "display", "c1", "0", "--mime", "image/png"], env=self.daemon.clean_environment(), stdout=subprocess.PIPE
        ) as written:
            data = written.stdout.read()

        self.assertRegex(ran.stderr, r"\[display 0: .*image/png.*; holdfast display c1 0 --mime \S+\]")
        self.assertEqual(data, PICTURE)

    def test_what_a_display_over_its_limit_lost_is_told_as_not_kept(self):
        code = "display({'text/plain': 'p', 'text/html': 'x' * 3_200_000, 'image/svg+xml': 'y' * 3_000_000}, raw=True)"
        result = self.daemon.run(code, cell="c1", text_limit=1000)

        (shown,) = result["displays"]
        kept = {each["mime"]: each["kept"] for each in shown["omitted"]}
        self.assertEqual(kept, {"text/html": False, "image/svg+xml": True})
        self.assertEqual(self.daemon.call("cell.display", cell="c1", index=0, mime="image/svg+xml")["bytes"], 3_000_000)
        with self.assertRaisesRegex(RpcError, "display 0 has no text/html"):
            self.daemon.call("cell.display", cell="c1", index=0, mime="text/html")
        self.assertIn("[display 0: text/html, 3.1 MB, too large to be kept]", result["text"])

    def test_json_of_any_type_is_text_and_what_is_no_base64_is_written_as_it_is(self):
        self.daemon.run("display({'application/vnd.chart.v1+json': {'a': [1]}, 'a/b': 'no base64'}, raw=True)", cell="c1")

        chart = self.daemon.call("cell.display", cell="c1", index=0, mime="application/vnd.chart.v1+json")
        self.assertEqual((chart["data"], chart["bytes"]), ('{"a": [1]}', len('{"a": [1]}')))
        for mime, text in (("application/vnd.chart.v1+json", '{"a": [1]}'), ("a/b", "no base64")):
            self.assertEqual(self.daemon.command("display", "c1", "0", "--mime", mime).stdout, text)

    def test_the_command_that_reads_a_display_names_its_session(self):
        ran = self.daemon.command("run", "-s", "other", "--cell", "c1", SHOWN + "Shown()")

        self.assertIn("; holdfast display -s other c1 0 --mime ", ran.stderr)

    def test_a_display_that_is_not_there_is_refused_with_what_there_is(self):
        self.daemon.run(SHOWN + "Shown()", cell="c1")

        with self.assertRaises(RpcError) as no_type:
            self.daemon.call("cell.display", cell="c1", index=0, mime="image/jpeg")
        with self.assertRaises(RpcError) as no_index:
            self.daemon.call("cell.display", cell="c1", index=1, mime="text/html")

        self.assertEqual((no_type.exception.code, no_index.exception.code), (1001, 1001))
        self.assertIn("text/html", no_type.exception.message)

    def test_what_was_shown_before_the_daemon_died_is_in_the_result(self):
        client, _ = self.daemon.start_cell(
            SHOWN + "import time\ndisplay(Shown())\nprint('shown', flush=True)\ntime.sleep(1.5)\ndisplay('after')", "c1"
        )
        client.wait_streamed("c1", "shown")

        self.daemon.restart(crash=True)
        result = self.daemon.call("cell.wait", cell="c1")

        self.assertEqual([shown["index"] for shown in result["displays"]], [0, 1], result)
        self.assertEqual(result["displays"][0]["data"]["text/html"], "<b>bold</b>")
        self.assertEqual(self.daemon.call("cell.get", cell="c1")["displays"], result["displays"])

    def test_a_deadline_keeps_what_was_printed_and_shown(self):
        result = self.daemon.run(SHOWN + "import time\nprint('text')\ndisplay(Shown())\ntime.sleep(60)", timeout_ms=700)

        self.assertEqual((result["status"], result["stdout"]), ("timeout", "text\n"))
        self.assertEqual(result["displays"][0]["data"]["text/html"], "<b>bold</b>")


if __name__ == "__main__":
    unittest.main()
