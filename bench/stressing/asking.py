"""The connections of one client thread: made again after a death of the daemon, and left for a fresh one after some requests."""

import contextlib
import time

from holdfast_test.client import Client, ConnectionLost, RpcError
from holdfast_test.waiting import NeverHappened

USES_MOST = 60  # a client keeps what it has received
ANSWER_SECONDS = 60.0  # for any answer, on a loaded machine; over it the daemon hangs
CONNECT_SECONDS = 60.0
RETRY_SECONDS = 0.02
RETRIES_MOST = 500
SHUTTING_DOWN = 1012


class Asking:
    def __init__(self, socket_path):
        self._path = socket_path
        self._client = None
        self._uses = 0
        self._left = []  # connections with open requests

    def close(self):
        for client in [*self._left, *([self._client] if self._client else [])]:
            client.close()
        self._left, self._client = [], None

    def client(self):
        """A connection that was open a moment ago."""
        if self._client is not None and (self._client.is_closed or self._uses >= USES_MOST):
            self._left.append(self._client)
            self._client = None
        if self._client is None:
            for client in self._left[:-2]:
                client.close()
            self._left = self._left[-2:]
            self._client, self._uses = self.connect(), 0
        self._uses += 1
        return self._client

    @property
    def is_used_up(self):
        return self._uses >= USES_MOST

    def connect(self):
        """A connection of its own; waits for a daemon that is being started."""
        deadline = time.monotonic() + CONNECT_SECONDS
        while True:
            try:
                return Client(self._path)
            except (OSError, NeverHappened):
                if time.monotonic() > deadline:
                    raise
                time.sleep(RETRY_SECONDS)

    def ask(self, method, **params):
        """The answer to a request that may be sent again as it is; RpcError for a refusal other than of a daemon that ends."""
        for _ in range(RETRIES_MOST):
            with contextlib.suppress(ConnectionLost):
                try:
                    return self.client().call(method, ANSWER_SECONDS, **params)
                except RpcError as problem:
                    if problem.code != SHUTTING_DOWN:
                        raise
            time.sleep(RETRY_SECONDS)
        raise NeverHappened(f"{method} {params} was not answered in {RETRIES_MOST} tries")
