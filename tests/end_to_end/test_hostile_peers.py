"""A kernel's socket gives nothing to a peer without its token: no attach, no epoch, no gap in anybody's stream."""

import os
import struct
import unittest

from holdfast_test import processes
from holdfast_test.cases import DaemonCase
from holdfast_test.raw import HEADER, RawConnection

COUNTING = "import time\nfor number in range(100):\n    print(number, flush=True)\n    time.sleep(0.02)"
CLOSE_SECONDS = 10.0  # 2 s are meant


class HostilePeerTest(DaemonCase):
    """Each attack happens while the kernel runs a cell that its daemon streams."""

    def setUp(self):
        super().setUp()
        self.kernel = self.daemon.run("1")["kernel"]
        self.socket_path = self.daemon.home / "run" / self.kernel["id"] / "kernel.sock"
        self.client, self.pending = self.daemon.start_cell(COUNTING, "counting")
        self.client.wait_streamed("counting", "0\n")

    def attach(self, **fields):
        return {
            "type": "attach", "kernel": self.kernel["id"], "token": "0" * 64, "home": "f" * 32,
            "incarnation": 99, "ack": 0, "grace_ms": 1, "protocol": 1, **fields,
        }  # fmt: skip

    def assert_unharmed(self):
        """The stream has no gap, and the attached connection is still the first: no hello was given in between."""
        result = self.pending.result()
        self.assert_ok(result)
        self.assertEqual(result["stdout"], "".join(f"{number}\n" for number in range(100)))
        self.assertEqual(self.client.streamed("counting"), result["stdout"])
        after = self.daemon.run("2")
        self.assertEqual((after["kernel"]["id"], after["kernel"]["pid"]), (self.kernel["id"], self.kernel["pid"]))
        attaches = self.client_events("kernel_attached")
        self.assertEqual(len(attaches), 1, attaches)

    def client_events(self, kind):
        with self.daemon.connect() as client:
            client.call("event.subscribe", types=[kind], since=0)
            client.call("status")  # what came before is told before this is answered
            return client.notifications("event", kind=kind)

    def assert_turned_away(self, send):
        with RawConnection(self.socket_path) as connection:
            send(connection)
            connection.read_to_end(CLOSE_SECONDS)  # an error or nothing, then the end

    def test_garbage(self):
        self.assert_turned_away(lambda connection: connection.send(os.urandom(4096)))
        self.assert_unharmed()

    def test_a_length_of_two_gibibytes(self):
        def send(connection):
            connection.send(struct.pack(">IQQ", (1 << 31) - 1, 0, 0) + b"x" * 65536)

        self.assert_turned_away(send)
        self.assert_unharmed()

    def test_ten_thousand_nested_brackets(self):
        payload = b"[" * 10_000 + b"]" * 10_000
        self.assert_turned_away(lambda connection: connection.send_frame(payload))
        self.assert_unharmed()

    def test_half_a_frame_and_silence(self):
        self.assert_turned_away(lambda connection: connection.send(HEADER.pack(100, 0, 0) + b'{"type":'))
        self.assert_unharmed()

    def test_silence(self):
        self.assert_turned_away(lambda connection: None)
        self.assert_unharmed()

    def test_a_wrong_token(self):
        with RawConnection(self.socket_path) as connection:
            connection.send_frame(self.attach())
            _, _, answer = connection.read_frame()
            self.assertEqual((answer["type"], answer["reason"]), ("refused", "wrong_token"), answer)
            connection.read_to_end(CLOSE_SECONDS)
        self.assert_unharmed()

    def test_a_token_of_another_type_or_length(self):
        for token in (None, 7, "", "short", ["0"] * 64, "\u00e9" * 64):
            with self.subTest(token=token), RawConnection(self.socket_path) as connection:
                connection.send_frame(self.attach(token=token))
                frame = connection.read_frame()
                self.assertTrue(frame is None or frame[2]["type"] == "refused", frame)
        self.assert_unharmed()

    def test_an_execute_before_any_attach(self):
        def send(connection):
            connection.send_frame({"type": "execute", "cell": "x", "generation": 9, "code": "1", "timeout_ms": 0}, seq=1)

        self.assert_turned_away(send)
        self.assert_unharmed()

    def test_fifty_silent_peers_at_once(self):
        connections = [RawConnection(self.socket_path) for _ in range(50)]
        try:
            self.assert_unharmed()
        finally:
            for connection in connections:
                connection.socket.close()

    def test_the_nurserys_socket_turns_strangers_away_too(self):
        paths = list((self.daemon.home / "nursery").glob("*/nursery.sock"))
        self.assertEqual(len(paths), 1, paths)
        with RawConnection(paths[0]) as connection:
            connection.send_frame(self.attach(kernel=paths[0].parent.name))
            _, _, answer = connection.read_frame()
            self.assertEqual((answer["type"], answer["reason"]), ("refused", "wrong_token"))
        with RawConnection(paths[0]) as connection:
            connection.send(os.urandom(4096))
            connection.read_to_end(CLOSE_SECONDS)

        self.assert_unharmed()
        self.assert_ok(self.daemon.run("3", session="forked-later"), "3")

    def test_another_home_with_the_right_token_is_refused(self):
        token = self.find_token()
        with RawConnection(self.socket_path) as connection:
            connection.send_frame(self.attach(token=token))
            _, _, answer = connection.read_frame()
        self.assertEqual((answer["type"], answer["reason"]), ("refused", "other_home"), answer)
        self.assert_unharmed()

    def find_token(self):
        """The kernel's token, from its memory of it in the store: the only run of 64 hex digits that the kernel takes."""
        data = (self.daemon.home / "store" / "boot" / "data.mdb").read_bytes()
        position = data.find(self.kernel["id"].encode())
        candidates = set()
        while position >= 0:
            window = data[position : position + 2048].decode("latin-1")
            candidates.update(part for part in _runs_of_hex(window) if len(part) == 64)
            position = data.find(self.kernel["id"].encode(), position + 1)
        for token in sorted(candidates):
            with RawConnection(self.socket_path) as connection:
                connection.send_frame(self.attach(token=token))
                frame = connection.read_frame()
                if frame and frame[2].get("reason") == "other_home":
                    return token
        self.fail(f"no token among {len(candidates)} candidates in the store")


def _runs_of_hex(text):
    run = ""
    for character in text:
        if character in "0123456789abcdef":
            run += character
        else:
            yield run
            run = ""
    yield run


class SecretsTest(DaemonCase):
    def test_no_token_and_no_code_is_in_an_argument_or_an_environment(self):
        self.daemon.run("distinctive_name = 1; import os; os.getpid()")

        for identity in self.daemon.processes():
            words = processes.command_line(identity.pid)
            environ = open(f"/proc/{identity.pid}/environ", "rb").read().decode(errors="replace")
            for text in (words, environ):
                self.assertNotIn("distinctive_name", text)
                self.assertEqual([run for run in _runs_of_hex(text) if len(run) == 64 and f"program/{run}" not in text], [])


if __name__ == "__main__":
    unittest.main()
