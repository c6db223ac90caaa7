"""Another process that listens at a kernel's or a nursery's socket path is not taken for it, learns no token, and proves no death."""

import contextlib
import json
import os
import socket
import threading
import unittest

from holdfast_test.cases import DaemonCase
from holdfast_test.client import RpcError
from holdfast_test.raw import HEADER
from holdfast_test.waiting import wait_until

HELLO = {
    "type": "hello", "protocol": 1, "program": "", "epoch": 9, "ack": 0, "first": 1, "boot_id": "", "pid_namespace": 0,
    "pid": os.getpid(), "start_time": 1, "ready": True, "cells": [], "jobs": [], "dropped": 0,
}  # fmt: skip


class Impostor:
    """Listens at a path in place of the socket file there, and answers each connection with one frame."""

    def __init__(self, path, answer):
        self._path = path
        self._aside = path.with_suffix(".aside")
        path.rename(self._aside)
        self._answer = HEADER.pack(len(answer), 0, 0) + answer
        self.heard = b""
        self.connections = 0
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen(64)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with connection, contextlib.suppress(OSError):
                    self.connections += 1
                    connection.sendall(self._answer)
                    connection.settimeout(5)
                    while piece := connection.recv(65536):
                        self.heard += piece

    def leave(self):
        """The socket file is put back."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)
        self._listener.close()
        self._aside.replace(self._path)


ANSWERS = {
    "garbage": b"\xff" * 100,
    "a hello of its own": json.dumps(HELLO).encode(),
    "a refusal": json.dumps({"type": "refused", "reason": "wrong_token", "message": ""}).encode(),
}


class ImpostorTest(DaemonCase):
    def state(self):
        return self.daemon.kernels()[0]["state"]

    def test_a_kernel_behind_an_impostor_is_unreachable_and_found_again(self):
        kernel = self.daemon.run("x = 41")["kernel"]
        path = self.daemon.home / "run" / kernel["id"] / "kernel.sock"
        for name, answer in ANSWERS.items():
            with self.subTest(answer=name):
                self.daemon.kill()
                impostor = Impostor(path, answer)
                self.daemon.start()

                wait_until(lambda: self.state() == "unreachable", "the state unreachable")
                wait_until(lambda: impostor.connections >= 3, "two retries")

                self.assertEqual(self.state(), "unreachable")
                self.assertEqual(self.daemon.call("session.get")["state"], "unreachable")
                self.assertEqual(self.daemon.kernels()[0]["kernel"], kernel["id"])
                self.assertEqual(impostor.heard, b"", "it must not be told the token")
                waiting = self.daemon.run("x + 1", cell=f"cell-{name.split()[-1]}", wait_ms=50)
                self.assertEqual((waiting["status"], waiting["final"]), ("queued", False))
                impostor.leave()
                result = self.daemon.call("cell.wait", cell=waiting["cell"])
                self.assert_ok(result, "42")
                self.assertEqual((result["kernel"]["pid"], result["kernel"]["state_lost"]), (kernel["pid"], False))
                self.assertEqual(self.state(), "idle")


class NurseryImpostorTest(DaemonCase):
    environment = {"HOLDFAST_TIME_SCALE": "20", "HOLDFAST_FALLBACK": "error"}  # a nursery that does not answer is waited for 500 ms

    def test_a_nursery_behind_an_impostor_is_not_given_up(self):
        self.daemon.run("x = 41")
        nurseries = self.daemon.nurseries()
        (path,) = (self.daemon.home / "nursery").glob("*/nursery.sock")
        for name, answer in ANSWERS.items():
            with self.subTest(answer=name):
                self.daemon.kill()
                impostor = Impostor(path, answer)
                self.daemon.start()

                with self.assertRaises(RpcError) as caught:
                    self.daemon.run("1", session=f"new-{name.split()[-1]}")

                self.assertEqual(caught.exception.code, 1007, caught.exception)
                self.assertGreaterEqual(impostor.connections, 1)
                self.assertEqual(impostor.heard, b"", "it must not be told the token")
                impostor.leave()
                self.assert_ok(self.daemon.run("1", session=f"new-{name.split()[-1]}"), "1")
                self.assertEqual(self.daemon.nurseries(), nurseries)
                self.assert_ok(self.daemon.run("x"), "41")


if __name__ == "__main__":
    unittest.main()
