"""A disk that fails: from a chosen moment on, fdatasync() of a daemon and what it starts answers EIO, as the system's own answer.

A seccomp filter hands each such call to this process, which lets it through or fails it. x86-64 and arm64; elsewhere the test is skipped.
"""

import ctypes
import errno
import fcntl
import os
import platform
import select
import socket
import struct
import threading
import unittest

_NUMBERS = {"x86_64": (317, 75), "aarch64": (277, 83)}  # of seccomp and fdatasync
PR_SET_NO_NEW_PRIVS = 38
SECCOMP_SET_MODE_FILTER = 1
SECCOMP_FILTER_FLAG_NEW_LISTENER = 1 << 3
SECCOMP_RET_USER_NOTIF = 0x7FC00000
SECCOMP_RET_ALLOW = 0x7FFF0000
NOTIF_RECV = 0xC0502100
NOTIF_SEND = 0xC0182101
NOTIF_SIZE = 80
FLAG_CONTINUE = 1

_libc = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


class FailingSync:
    def __init__(self):
        if platform.machine() not in _NUMBERS:
            raise unittest.SkipTest(f"no syscall numbers for {platform.machine()}")
        self._seccomp, number = _NUMBERS[platform.machine()]
        instructions = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, SECCOMP_RET_USER_NOTIF), (0x06, 0, 0, SECCOMP_RET_ALLOW)]
        self._code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *each) for each in instructions))
        self._program = _Program(len(instructions), ctypes.addressof(self._code))
        self._ours, self._theirs = socket.socketpair()
        self._closing, self._closed = os.pipe()
        self._thread = None
        self.is_failing = False
        self.failed = 0  # calls

    def before_exec(self):
        """In the new process."""
        _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        flags = SECCOMP_FILTER_FLAG_NEW_LISTENER
        listener = _libc.syscall(self._seccomp, SECCOMP_SET_MODE_FILTER, flags, ctypes.byref(self._program))
        socket.send_fds(self._theirs, [b"l" if listener >= 0 else b"-"], [listener] if listener >= 0 else [])

    def serve(self):
        """From before the start on."""
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        _, listeners, _, _ = socket.recv_fds(self._ours, 1, 1)
        if not listeners:
            return
        poller = select.poll()
        poller.register(listeners[0], select.POLLIN)
        poller.register(self._closing, select.POLLHUP)
        while True:
            ready = dict(poller.poll())
            if self._closing in ready or ready.get(listeners[0], 0) & select.POLLHUP:
                break
            call = bytearray(NOTIF_SIZE)
            try:
                fcntl.ioctl(listeners[0], NOTIF_RECV, call)
                (number,) = struct.unpack_from("=Q", call)
                is_failing = self.is_failing
                self.failed += is_failing
                error, flags = (-errno.EIO, 0) if is_failing else (0, FLAG_CONTINUE)
                fcntl.ioctl(listeners[0], NOTIF_SEND, struct.pack("=QqiI", number, 0, error, flags))
            except OSError as problem:
                if problem.errno not in (errno.ENOENT, errno.EINTR):  # the caller was killed meanwhile
                    raise
        os.close(listeners[0])

    def close(self):
        os.close(self._closed)  # the other end becomes readable
        self._ours.close()
        self._theirs.close()
        if self._thread is not None:
            self._thread.join(5)
        os.close(self._closing)
