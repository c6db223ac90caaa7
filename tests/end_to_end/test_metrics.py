"""What the daemon counts: the method `metrics`, the command, and the HTTP server on the loopback."""

import os
import re
import select
import socket
import unittest
import urllib.error
import urllib.request
from pathlib import Path

from holdfast_test.cases import DaemonCase
from holdfast_test.daemon import DaemonEnded
from holdfast_test.waiting import wait_until

LINE = re.compile(r"^([a-z_]+)(\{[^}]*\})? (-?[0-9.e+-]+|[+-]Inf|Nan)$")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def values(text):
    """The value by name and labels, as written."""
    found = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        match = LINE.match(line)
        assert match, line
        assert (match[1], match[2]) not in found, line
        found[match[1] + (match[2] or "")] = float(match[3])
    return found


class MetricsTest(DaemonCase):
    def values(self):
        return values(self.daemon.call("metrics"))

    def test_what_has_happened_is_counted(self):
        self.daemon.run("1")
        self.daemon.run("1/0")
        self.daemon.run("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
        self.daemon.run("1")
        wait_until(lambda: self.values()["holdfast_disk_flush_seconds_count"] > 0, "the rows to reach disk")

        found = self.values()

        self.assertEqual(found['holdfast_cells_total{status="ok"}'], 2)
        self.assertEqual(found['holdfast_cells_total{status="error"}'], 1)
        self.assertEqual(found['holdfast_cells_total{status="lost"}'], 1)
        self.assertEqual(found['holdfast_events_total{kind="cell_accepted"}'], 4)
        self.assertEqual(found['holdfast_kernels_started_total{reason="first"}'], 1)
        self.assertEqual(found['holdfast_kernels_started_total{reason="died"}'], 1)
        self.assertEqual(found['holdfast_kernels_ended_total{reason="signal"}'], 1)
        self.assertEqual(found['holdfast_kernels{state="idle"}'], 1)
        self.assertEqual(found["holdfast_cell_duration_seconds_count"], 4)
        self.assertEqual(found["holdfast_kernel_start_seconds_count"], 2)
        self.assertEqual(found["holdfast_starts"], 1)
        self.assertGreaterEqual(found["holdfast_connections"], 1)
        self.assertGreater(found['holdfast_store_commit_seconds_count{store="boot"}'], 8)
        self.assertGreater(found['holdfast_store_commit_seconds_count{store="disk"}'], 0)
        self.assertEqual(found['holdfast_events_total{kind="other"}'], 0)

    def test_a_running_and_a_waiting_cell_are_levels(self):
        client, pending = self.daemon.start_cell("print('on', flush=True)\nimport time; time.sleep(600)", "long")
        client.wait_streamed("long", "on")
        client.call("run", code="2", wait_ms=0)

        found = self.values()

        self.assertEqual(found["holdfast_cells_running"], 1)
        self.assertEqual(found["holdfast_cells_queued"], 1)
        self.assertEqual(found['holdfast_kernels{state="busy"}'], 1)
        self.daemon.call("cell.interrupt", cell="long")
        pending.result()

    def test_a_kernel_that_does_not_start_is_counted(self):
        self.daemon.run("1", session="good")
        self.daemon.command("run", "-s", "bad", "--python", "/bin/false", "1")

        found = self.values()

        self.assertGreater(found["holdfast_kernel_start_failures_total"], 0)
        self.assertGreater(found['holdfast_refusals_total{reason="start_failed"}'], 0)

    def test_no_owner_session_or_cell_is_named(self):
        self.daemon.run("1", owner="ada-lovelace", session="engine", cell="note-g")

        text = self.daemon.call("metrics")

        for name in ("lovelace", "engine", "note-g", "k-0"):
            self.assertNotIn(name, text)

    def test_the_command_prints_the_text(self):
        self.daemon.run("1")

        done = self.daemon.command("metrics")

        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(values(done.stdout)['holdfast_cells_total{status="ok"}'], 1)

    def sockets(self, kind):
        return Path(f"/proc/{self.daemon.pid}/net/{kind}").read_text().splitlines()

    def test_off_is_the_default(self):
        rows = [line.split() for kind in ("tcp", "tcp6") for line in self.sockets(kind)]
        listening = {f"socket:[{row[9]}]" for row in rows if row[3] == "0A"}
        descriptors = Path(f"/proc/{self.daemon.pid}/fd")

        held = {os.readlink(each) for each in descriptors.iterdir() if each.is_symlink()}

        self.assertFalse(listening & held)


class ServedTest(DaemonCase):
    def setUp(self):
        self.port = free_port()
        self.environment = {"HOLDFAST_METRICS_LISTEN": f"127.0.0.1:{self.port}"}
        super().setUp()

    def get(self, path="/metrics", **options):
        return urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", **options), timeout=20)

    def connect(self):
        made = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        self.addCleanup(made.close)
        return made

    def test_a_scrape_gets_the_text(self):
        self.daemon.run("1")

        with self.get() as answer:
            text = answer.read().decode()

        self.assertEqual(answer.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        self.assertEqual(values(text)['holdfast_cells_total{status="ok"}'], 1)

    def test_it_listens_on_the_loopback_only(self):
        listening = [line.split()[1] for line in Path(f"/proc/{self.daemon.pid}/net/tcp").read_text().splitlines() if " 0A " in line]

        self.assertIn(f"0100007F:{self.port:04X}", listening)
        self.assertNotIn(f"00000000:{self.port:04X}", listening)

    def test_nothing_else_is_there(self):
        for path, options, code in (("/", {}, 404), ("/metrics", {"method": "POST", "data": b"x"}, 405)):
            with self.subTest(path=path), self.assertRaises(urllib.error.HTTPError) as caught:
                self.get(path, **options)
            self.assertEqual(caught.exception.code, code)

    def test_clients_that_say_nothing_keep_no_other_one_from_its_answer(self):
        silent = [self.connect() for _ in range(8)]
        silent[0].sendall(b"GET /metrics HTTP/1.1\r\n")

        with self.get() as answer:
            self.assertIn(b"holdfast_cells_total", answer.read())

    def test_too_many_connections_are_closed_and_room_comes_back(self):
        many = [self.connect() for _ in range(40)]

        wait_until(lambda: len(select.select(many, [], [], 0)[0]) >= 8, "the end of those over the limit")

        closed = select.select(many, [], [], 0)[0]
        self.assertEqual(closed, many[32:])
        many[0].close()
        wait_until(self.is_answered, "room for one more")

    def is_answered(self):
        try:
            return self.get().status == 200
        except OSError:
            return False

    def test_a_stop_does_not_wait_for_a_client_and_the_port_is_free_again(self):
        self.connect().sendall(b"GET /metr")

        self.daemon.stop()
        self.daemon.start()

        self.assertEqual(self.get().status, 200)

    def test_a_taken_port_is_named_and_refuses_the_start(self):
        other = self.make_daemon()

        with self.assertRaises(DaemonEnded) as caught:
            other.start()

        self.assertIn(f"cannot serve metrics at 127.0.0.1:{self.port}: Address already in use", caught.exception.output)


if __name__ == "__main__":
    unittest.main()
