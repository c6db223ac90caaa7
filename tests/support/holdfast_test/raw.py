"""Bytes on a unix socket, for what no well-behaved client or daemon sends; and frames of docs/wire.md by hand."""

import json
import struct

from holdfast_test.client import connect_unix

HEADER = struct.Struct(">IQQ")  # length, seq, ack


class RawConnection:
    def __init__(self, path, seconds=5.0):
        self.socket = connect_unix(path, seconds)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        """Sends all of it, or as much as the other end takes before it closes."""
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def send_frame(self, message, seq=0, ack=0):
        payload = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.send(HEADER.pack(len(payload), seq, ack) + payload)

    def read_line(self, seconds=10.0):
        """One line as JSON; None at the end of the connection."""
        self.socket.settimeout(seconds)
        line = b""
        while not line.endswith(b"\n"):
            try:
                byte = self.socket.recv(1)
            except ConnectionResetError:
                byte = b""
            if not byte:
                return None
            line += byte
        return json.loads(line)

    def read_frame(self, seconds=10.0):
        """(seq, ack, message); None at the end of the connection. A bare ack has the message None."""
        header = self._read_exactly(HEADER.size, seconds)
        if header is None:
            return None
        length, seq, ack = HEADER.unpack(header)
        payload = self._read_exactly(length, seconds)
        return None if payload is None else (seq, ack, json.loads(payload) if payload else None)

    def read_to_end(self, seconds=10.0):
        """All bytes until the other end closes; TimeoutError if it does not."""
        self.socket.settimeout(seconds)
        parts = []
        while True:
            try:
                part = self.socket.recv(65536)
            except ConnectionResetError:
                part = b""
            if not part:
                return b"".join(parts)
            parts.append(part)

    def _read_exactly(self, count, seconds):
        self.socket.settimeout(seconds)
        data = b""
        while len(data) < count:
            try:
                part = self.socket.recv(count - len(data))
            except ConnectionResetError:
                part = b""
            if not part:
                return None
            data += part
        return data
