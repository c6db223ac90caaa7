"""A small JSON-RPC client over a home's socket: requests side by side, notifications in order, a deadline on every wait.

It knows lines and ids, not methods; what it received is kept in the order of arrival, so that tests can assert that order.
"""

import contextlib
import itertools
import json
import os
import socket
import threading
import time

from holdfast_test.waiting import NeverHappened, wait_until

SUN_PATH_MAX = 107  # bytes of a unix socket's path that fit beside its final zero


class RpcError(Exception):
    """An `error` that the daemon answered."""

    def __init__(self, error):
        super().__init__(f"{error.get('code')} {error.get('message')}")
        self.code = error.get("code")
        self.message = error.get("message")
        self.data = error.get("data") or {}


class ConnectionLost(Exception):
    """The connection ended before the answer came."""


def connect_unix(path, seconds=5.0):
    """A connected stream socket; a path longer than sun_path goes through its directory's descriptor."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(seconds)
    directory = None
    try:
        address = os.fspath(path)
        if len(os.fsencode(address)) > SUN_PATH_MAX:
            directory = os.open(os.path.dirname(address), os.O_PATH | os.O_DIRECTORY)
            address = f"/proc/self/fd/{directory}/{os.path.basename(address)}"
        # With a timeout Python connects without blocking, and a full backlog says EAGAIN: the listener is slow, not gone.
        wait_until(lambda: _connects(connection, address), f"a place in the backlog of {path}", seconds)
    except BaseException:
        connection.close()
        raise
    finally:
        if directory is not None:
            os.close(directory)
    return connection


def _connects(connection, address):
    try:
        connection.connect(address)
        return True
    except BlockingIOError:
        return False


class Pending:
    """A request that was sent. `result` waits for its answer."""

    def __init__(self, client, request_id):
        self._client = client
        self.id = request_id

    @property
    def is_answered(self):
        return self._client.answer_of(self.id) is not None

    def result(self, seconds=30.0):
        """The result; RpcError for an error, ConnectionLost, or NeverHappened after `seconds`."""
        answer = self._client.wait_for(lambda: self._client.answer_of(self.id), f"the answer to request {self.id}", seconds)
        if "error" in answer:
            raise RpcError(answer["error"])
        return answer["result"]


class Client:
    """One connection. Threads of a test may share it."""

    def __init__(self, path, seconds=5.0):
        self._socket = connect_unix(path, seconds)
        self._socket.settimeout(None)
        self._ids = itertools.count(1)
        self._changed = threading.Condition()
        self._send_lock = threading.Lock()
        self._answers = {}  # id -> whole response; ids are never reused on a connection
        self.received = []  # every message of the daemon in order of arrival
        self.is_closed = False  # the daemon, or we, ended the connection
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._reader.join(5)
        self._socket.close()

    # -- requests

    def send(self, method, **params):
        """Sends a request and returns at once."""
        request_id = next(self._ids)
        self.send_line({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        return Pending(self, request_id)

    def call(self, method, seconds=30.0, **params):
        """Sends a request and waits for its result."""
        return self.send(method, **params).result(seconds)

    def run(self, code, seconds=30.0, **params):
        """`run` until the cell is final."""
        return self.call("run", seconds, code=code, **params)

    def send_line(self, message):
        self.send_bytes(json.dumps(message).encode() + b"\n")

    def send_bytes(self, data):
        try:
            with self._send_lock:
                self._socket.sendall(data)
        except OSError as problem:
            raise ConnectionLost(str(problem)) from problem

    # -- what came

    def answer_of(self, request_id):
        with self._changed:
            return self._answers.get(request_id)

    def notifications(self, method=None, **fields):
        """The params of the notifications so far, in order; only those of `method` whose params have these fields."""
        with self._changed:
            messages = list(self.received)
        return [
            message["params"]
            for message in messages
            if "id" not in message and "method" in message
            if method is None or message["method"] == method
            if all(message["params"].get(name) == value for name, value in fields.items())
        ]

    def wait_notification(self, method, seconds=10.0, where=lambda params: True, **fields):
        """The params of the first such notification, also one that has come already."""

        def found():
            return next((params for params in self.notifications(method, **fields) if where(params)), None)

        return self.wait_for(found, f"a notification {method} {fields}", seconds)

    def streamed(self, cell, stream=None):
        """The text of a cell's cell.stream notifications so far, in order."""
        chunks = self.notifications("cell.stream", cell=cell)
        return "".join(chunk.get("text") or "" for chunk in chunks if stream in (None, chunk.get("stream")))

    def wait_accepted(self, cell, pending, seconds=20.0):
        """Returns once a cell that was sent with `stream` is accepted, or its call answered (it was refused)."""
        self.wait_for(
            lambda: pending.is_answered or self.notifications("cell.accepted", cell=cell), f"the acceptance of {cell}", seconds
        )

    def wait_streamed(self, cell, text, seconds=10.0):
        """Returns once the streamed text of a cell contains `text`."""
        self.wait_for(lambda: text in self.streamed(cell), f"{text!r} in the stream of {cell}", seconds)

    def wait_closed(self, seconds=10.0):
        """Returns once the daemon has ended the connection."""
        self.wait_for(lambda: self.is_closed, "the end of the connection", seconds, until_closed=False)

    def wait_for(self, condition, what, seconds, until_closed=True):
        """The first true value of `condition`, looked at after each message; else ConnectionLost or NeverHappened."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while True:
                value = condition()
                if value:
                    return value
                if self.is_closed and until_closed:
                    raise ConnectionLost(f"the connection ended before {what}")
                left = deadline - time.monotonic()
                if left <= 0:
                    raise NeverHappened(f"waited {seconds:g} s in vain: {what}")
                self._changed.wait(left)

    def _read(self):
        try:
            with self._socket.makefile("rb") as lines:
                for line in lines:
                    message = json.loads(line)
                    with self._changed:
                        self.received.append(message)
                        if "method" not in message and message.get("id") is not None:
                            self._answers[message["id"]] = message
                        self._changed.notify_all()
        except (OSError, ValueError):
            pass  # a broken line ends the connection as an end of file does: the waiter is told below
        with self._changed:
            self.is_closed = True
            self._changed.notify_all()
