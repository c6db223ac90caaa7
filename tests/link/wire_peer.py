"""The kernel's end of python_peer_test.cpp: the program's own window, codec and handshake against the daemon's.

    wire_peer.py CONTROL_FD FRAMES TOKEN [delivers_duplicates]

Over CONTROL_FD (a unix socket) it is handed one connection after the other, as descriptors; each replaces the one before. It sends
FRAMES numbered payloads and takes as many. When CONTROL_FD ends it prints one JSON object with what it saw. With
`delivers_duplicates` it has that defect, to prove that it would be noticed.
"""

import array
import json
import select
import socket
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'bin' / 'kernel'))

from holdfast_kernel import frames, handshake, window  # noqa: E402

MOST_WAITING = 64 * 1024  # bytes made ready for the socket


def payload_of(number):
    return b'%d%s' % (number, b'.' * (number * 7 % 41))


class Peer:
    def __init__(self, control, count, token, defect):
        self.control = control
        self.count = count
        self.delivers_duplicates = defect == 'delivers_duplicates'
        self.window = window.Window(256, 1 << 20)
        self.rules = handshake.Handshake('k-1', token, '', 'program', handshake.Identity())
        self.connection = None
        self.attached = False
        self.announced = 0
        self.waiting = b''
        self.pushed = 0
        self.seen = {'delivered': 0, 'violation': '', 'connections': 0, 'gaps': 0, 'duplicates': 0}

    def run(self):
        while True:
            events = select.POLLIN | (select.POLLOUT if self.waiting else 0)
            poll = select.poll()
            poll.register(self.control, select.POLLIN)
            if self.connection:
                poll.register(self.connection, events)
            ready = dict(poll.poll())
            if self.control.fileno() in ready and not self.take_connection():
                return
            elif self.connection and self.connection.fileno() in ready:
                self.receive()
            self.send()

    def take_connection(self):
        data, ancillary, _flags, _address = self.control.recvmsg(1, socket.CMSG_SPACE(4))
        if not data:
            return False
        descriptors = array.array('i')
        descriptors.frombytes(ancillary[0][2][:4])
        self.close()
        self.connection = socket.socket(fileno=descriptors[0])
        self.connection.setblocking(False)
        self.decoder = frames.Decoder()
        self.seen['connections'] += 1
        return True

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None
        self.attached = False
        self.waiting = b''

    def receive(self):
        try:
            data = self.connection.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b''
        if not data:
            return self.close()
        for frame in self.decoder.feed(data):
            if not self.attached:
                attach = self.rules.check(frame.payload, self.window)
                self.attached = True
                self.announced = self.window.ack
                self.waiting = frames.encode(0, self.window.ack, frames.to_payload(self.rules.hello(self.window, [], [], attach.ack)))
            elif not self.take(frame):
                return self.close()

    def take(self, frame):
        receipt = self.window.on_frame(frame.seq, frame.ack)
        if receipt == 'gap':
            self.seen['gaps'] += 1
            return False
        if receipt == 'duplicate' and frame.seq:
            self.seen['duplicates'] += 1
            if self.delivers_duplicates:
                receipt = 'fresh'
        if receipt == 'fresh':
            if frame.payload != payload_of(self.seen['delivered'] + 1) and not self.seen['violation']:
                self.seen['violation'] = 'got %r after %d' % (frame.payload[:20], self.seen['delivered'])
            self.seen['delivered'] += 1
            self.window.record(frame.seq)
        return True

    def send(self):
        if not self.attached:
            return
        try:
            while self.pushed < self.count:
                self.window.push(payload_of(self.pushed + 1))
                self.pushed += 1
        except window.WindowFull:
            pass
        if len(self.waiting) < MOST_WAITING:
            taken = [frames.encode(seq, self.window.ack, payload) for seq, payload in self.window.take_unsent(MOST_WAITING)]
            if not taken and self.window.ack > self.announced:
                taken = [frames.encode(0, self.window.ack, b'')]
            if taken:
                self.announced = self.window.ack
                self.waiting += b''.join(taken)
        if self.waiting:
            try:
                self.waiting = self.waiting[self.connection.send(self.waiting):]
            except BlockingIOError:
                pass
            except OSError:
                self.close()


def main():
    descriptor, count, token = sys.argv[1:4]
    peer = Peer(socket.socket(fileno=int(descriptor)), int(count), token, sys.argv[4] if len(sys.argv) > 4 else '')
    peer.run()
    print(json.dumps(peer.seen))


if __name__ == '__main__':
    main()
