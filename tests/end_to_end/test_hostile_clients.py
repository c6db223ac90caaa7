"""What a broken or hostile client sends gets a clear error or a closed connection, and nobody else notices."""

import json
import unittest

from holdfast_test.cases import SharedDaemonCase
from holdfast_test.raw import RawConnection

COUNTING = "import time\nfor number in range(60):\n    print(number, flush=True)\n    time.sleep(0.02)"

PARSE_ERROR, INVALID_REQUEST, UNKNOWN_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602


class HostileClientTest(SharedDaemonCase):
    """Each attack happens while another client's cell streams its numbered output."""

    def setUp(self):
        super().setUp()
        self.kernel = self.run_cell("1")["kernel"]
        self.pending = self.start_cell(COUNTING, "counting")

    def assert_others_unharmed(self):
        result = self.pending.result()

        self.assert_ok(result)
        self.assertEqual(result["stdout"], "".join(f"{number}\n" for number in range(60)))
        chunks = self.client.notifications("cell.stream", cell="counting")
        self.assertEqual("".join(chunk["text"] for chunk in chunks), result["stdout"])
        self.assertEqual([chunk["seq"] for chunk in chunks], list(range(chunks[0]["seq"], chunks[0]["seq"] + len(chunks))))
        self.assertEqual(sum(chunk.get("dropped_bytes") or 0 for chunk in chunks), 0)
        self.assertEqual(self.run_cell("2")["kernel"]["id"], self.kernel["id"])

    def answer_to(self, line):
        with RawConnection(self.daemon.socket_path) as connection:
            connection.send(line + b"\n")
            return connection.read_line()

    def request(self, **fields):
        return json.dumps({"jsonrpc": "2.0", "id": 1, **fields}).encode()

    def assert_refused(self, line, code, *words):
        """The answer is that error, or (a parse error) the end of the connection; its message contains the words."""
        answer = self.answer_to(line)
        if answer is None and code == PARSE_ERROR:
            return
        self.assertIsNotNone(answer, "the connection was closed without a word")
        self.assertEqual(answer["error"]["code"], code, answer)
        for word in words:
            self.assertIn(word, answer["error"]["message"])

    def test_garbage(self):
        self.assert_refused(b"\x00\xff\xfe garbage", PARSE_ERROR)
        self.assert_others_unharmed()

    def test_ten_thousand_nested_brackets(self):
        self.assert_refused(b"[" * 10_000 + b"]" * 10_000, PARSE_ERROR)
        deep = b"[" * 10_000 + b"]" * 10_000
        self.assert_refused(self.request(method="run", params={})[:-2] + b'"code":' + deep + b"}}", PARSE_ERROR)
        self.assert_others_unharmed()

    def test_a_lone_surrogate(self):
        self.assert_refused(b'{"jsonrpc":"2.0","id":1,"method":"run","params":{"code":"\'\\ud800\'"}}', PARSE_ERROR)
        self.assert_others_unharmed()

    def test_nan(self):
        self.assert_refused(b'{"jsonrpc":"2.0","id":1,"method":"run","params":{"code":"1","timeout_ms":NaN}}', PARSE_ERROR)
        self.assert_others_unharmed()

    def test_an_unknown_method(self):
        self.assert_refused(self.request(method="no.such", params={}), UNKNOWN_METHOD, "no.such")
        self.assert_others_unharmed()

    def test_an_unknown_param(self):
        self.assert_refused(self.request(method="run", params={"code": "1", "colour": "red"}), INVALID_PARAMS, "colour")
        self.assert_others_unharmed()

    def test_what_is_not_built_yet_is_unknown(self):
        for method in ("tool.register",):
            self.assert_refused(self.request(method=method, params={}), UNKNOWN_METHOD)
        self.assert_others_unharmed()

    def test_wrong_types(self):
        for name, value in (("code", 7), ("code", None), ("cell", 5), ("timeout_ms", "1"), ("timeout_ms", -1), ("wait_ms", 1.5)):
            self.assert_refused(self.request(method="run", params={"code": "1", name: value}), INVALID_PARAMS, name)
        for name, value in (("reset", 1), ("stream", "yes"), ("env", []), ("env", {"A": 1}), ("session", ["x"])):
            self.assert_refused(self.request(method="run", params={"code": "1", name: value}), INVALID_PARAMS, name)
        self.assert_others_unharmed()

    def test_a_missing_param(self):
        self.assert_refused(self.request(method="run", params={}), INVALID_PARAMS, "code")
        self.assert_others_unharmed()

    def test_ids_outside_their_alphabet_or_length(self):
        for value in ("", "a b", "a/b", "\u00e9", "x" * 129, "../up"):
            self.assert_refused(self.request(method="run", params={"code": "1", "session": value}), INVALID_PARAMS, "session")
        self.assert_others_unharmed()

    def test_params_by_position_and_batches(self):
        self.assert_refused(self.request(method="run", params=["1"]), INVALID_PARAMS)
        self.assert_refused(b"[" + self.request(method="status", params={}) + b"]", INVALID_REQUEST)
        self.assert_others_unharmed()

    def test_no_request_at_all(self):
        old, odd = b'{"jsonrpc":"1.0","id":1,"method":"status"}', b'{"jsonrpc":"2.0","id":1,"method":5}'
        for line in (b"7", b"null", b'"text"', b"{}", old, odd):
            self.assert_refused(line, INVALID_REQUEST)
        self.assert_others_unharmed()

    def test_half_a_line_and_silence(self):
        with RawConnection(self.daemon.socket_path) as connection:
            connection.send(b'{"jsonrpc":"2.0",')
            self.assert_others_unharmed()

    def test_a_line_above_eight_mebibytes(self):
        with RawConnection(self.daemon.socket_path) as connection:
            connection.send(b'{"jsonrpc":"2.0","id":1,"method":"run","params":{"code":"' + b"x" * (9 << 20) + b'"}}\n')
            answer = connection.read_line(20)
        self.assertTrue(answer is None or "error" in answer, answer)
        self.assert_others_unharmed()

    def test_a_connection_goes_on_after_an_error(self):
        with RawConnection(self.daemon.socket_path) as connection:
            connection.send(self.request(method="no.such") + b"\n" + self.request(method="status") + b"\n")
            answers = [connection.read_line(), connection.read_line()]
        self.assertEqual(["error" in answer for answer in answers], [True, False])
        self.assert_others_unharmed()

    def test_300_clients_with_half_a_line_do_not_keep_others_from_being_served(self):
        connections = [RawConnection(self.daemon.socket_path) for _ in range(300)]
        try:
            for connection in connections:
                connection.send(b'{"jsonrpc":"2.0","id":1,')
            self.assert_others_unharmed()
            self.assertEqual(self.daemon.call("status")["pid"], self.daemon.pid)
        finally:
            for connection in connections:
                connection.socket.close()

    def test_a_client_that_never_reads_its_stream(self):
        with RawConnection(self.daemon.socket_path) as connection:
            flood = "for number in range(200_000): print('x' * 99)"
            params = {"code": flood, "session": self.session + "-flood", "stream": True, "cell": "flood"}
            connection.send(self.request(method="run", params=params) + b"\n")
            self.assert_others_unharmed()
            done = self.daemon.call("cell.wait", session=self.session + "-flood", cell="flood")
            self.assertEqual((done["status"], done["stdout_bytes"]), ("ok", 200_000 * 100))


class HalfALineTest(SharedDaemonCase):
    environment = {"HOLDFAST_TIME_SCALE": "60"}  # the 30 s within which a line must be complete

    def test_a_line_that_is_never_completed_ends_its_connection(self):
        with RawConnection(self.daemon.socket_path) as connection:
            connection.send(b'{"jsonrpc":"2.0",')
            connection.read_to_end(10)

    def test_a_client_without_a_request_keeps_its_connection(self):
        with RawConnection(self.daemon.socket_path) as broken:
            broken.send(b"{")
            broken.read_to_end(10)  # by then the silent client is as old

        self.assertEqual(self.client.call("status")["pid"], self.daemon.pid)


if __name__ == "__main__":
    unittest.main()
