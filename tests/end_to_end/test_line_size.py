"""Answers are lines of 8 MiB at most, whatever a cell printed or displayed: docs/protocol.md."""

import json
import unittest

from holdfast_test.cases import SharedDaemonCase
from holdfast_test.client import connect_unix

LINE = 8 << 20
# Streams that change with each character: a page has as many chunks as bytes.
ALTERNATING = 'import sys\nfor _ in range(200000):\n    sys.stdout.write("a"); sys.stderr.write("b")'


class LineSizeTest(SharedDaemonCase):
    def ask(self, count=1, **params):
        """The lines that answer `count` requests for the same page on one connection, sent at once."""
        connection = connect_unix(self.daemon.socket_path, 30)
        self.addCleanup(connection.close)
        for number in range(count):
            request = {"jsonrpc": "2.0", "id": number, "method": "cell.output", "params": {"session": self.session, "cell": "pages", **params}}
            connection.sendall(json.dumps(request).encode() + b"\n")
        with connection.makefile("rb") as lines:
            return [lines.readline() for _ in range(count)]

    def test_a_page_of_many_chunks_is_one_line_of_8_mib_at_most_and_all_can_be_read(self):
        self.assert_ok(self.run_cell(ALTERNATING, 90, cell="pages", timeout_ms=80_000))

        offset, text = 0, ""
        while offset < 400000:
            (line,) = self.ask(limit=1 << 20, offset=offset)
            self.assertLessEqual(len(line), LINE)
            page = json.loads(line)["result"]
            text += "".join(chunk["text"] for chunk in page["chunks"])
            self.assertGreater(page["next_offset"], offset)
            offset = page["next_offset"]

        self.assertEqual(text, "ab" * 200000)

    def test_pages_that_are_asked_for_at_once_cost_no_connection(self):
        self.assert_ok(self.run_cell(ALTERNATING.replace('"a"', '"\\1"').replace('"b"', '"\\1"'), 90, cell="pages", timeout_ms=80_000))

        answers = self.ask(4, limit=1 << 20)

        self.assertEqual([line[-1:] for line in answers], [b"\n"] * 4)

    def test_a_result_whose_displays_are_escaped_is_one_line_of_8_mib_at_most(self):
        self.assert_ok(self.run_cell('for _ in range(4): display({"text/html": "\\1" * 1000000}, raw=True)', cell="shown"))

        connection = connect_unix(self.daemon.socket_path, 30)
        self.addCleanup(connection.close)
        request = {"jsonrpc": "2.0", "id": 1, "method": "cell.get", "params": {"session": self.session, "cell": "shown"}}
        connection.sendall(json.dumps(request).encode() + b"\n")
        with connection.makefile("rb") as lines:
            self.assertLessEqual(len(lines.readline()), LINE)


if __name__ == "__main__":
    unittest.main()
