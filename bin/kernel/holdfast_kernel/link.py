"""One served unix socket: accepts peers, lets one attach, carries frames both ways.

Used by kernel and nursery alike. Collaborators: a poller (register, modify, unregister as select.poll has them) that the caller
polls, a Window, a Handshake and an owner (on_message, on_bad_frame, on_attached, on_lost, on_acked, on_accept_failed, hello_state).
Single-threaded: whoever polls calls it. Waits in flush_for only, and refuses to buffer more than one batch of frames.
"""

import select
import socket

from time import monotonic, sleep  # bound here: a cell may replace those of the module

from . import failpoints, frames, limits, sockets, system
from .handshake import Refusal

READ = select.POLLIN
READ_WRITE = select.POLLIN | select.POLLOUT
_GONE = select.POLLNVAL
_SEND = int(socket.MSG_NOSIGNAL | socket.MSG_DONTWAIT)  # a cell may have made the descriptor blocking


class _Peer:
    """A connection; attached or still pending."""

    __slots__ = ('socket', 'fd', 'decoder', 'deadline', 'out', 'awaits_room', 'identity')

    def __init__(self, sock, limit):
        self.socket = sock
        self.fd = sock.fileno()
        self.decoder = frames.Decoder(limit)
        self.deadline = monotonic() + limits.PENDING_SECONDS
        self.out = b''  # bytes the socket did not take yet
        self.awaits_room = False  # whether the poller watches for room in the socket
        self.identity = system.identity(self.fd)


class Link:
    def __init__(self, role, listener, poller, window, handshake, owner, log):
        self._role = role  # 'kernel' or 'nursery': first part of failpoint names
        self._poller = poller
        self.window = window
        self._handshake = handshake
        self._owner = owner
        self._log = log
        self._pending = {}  # fd -> _Peer that has not attached; at most PENDING_CONNECTIONS
        self._attached = None  # the _Peer that is served
        self._announced = 0  # the ack that was sent last on this connection
        self.answer_first = None  # (payload, socket) -> the answer to a first frame that is no attach, or None
        self._listener = None
        self.listener_fd = -1
        self.use_listener(listener)

    @property
    def is_attached(self):
        return self._attached is not None

    def has_outgoing(self):
        """Whether an attached daemon has not been given all frames yet."""
        return self._attached is not None and (bool(self._attached.out) or self.window.has_unsent())

    def use_listener(self, listener):
        self._listener = listener
        self.listener_fd = listener.fileno()
        self._listener_identity = system.identity(self.listener_fd)
        self._poller.register(self.listener_fd, READ)

    def handle(self, fd, events):
        """Serves an event of the poller; False if the descriptor is not the link's."""
        attached = self._attached
        if attached is not None and fd == attached.fd:
            if events & _GONE:
                self.drop('its descriptor was closed')
            else:
                if events & select.POLLOUT:
                    self.flush()
                if events & ~select.POLLOUT and self._attached is attached:
                    self._read(attached)
        elif fd == self.listener_fd:
            if not events & _GONE:
                self._accept()
        elif fd in self._pending:
            self._read_pending(self._pending[fd])
        else:
            return False
        return True

    def _read(self, peer):
        try:
            data = peer.socket.recv(limits.READ_SIZE)
        except BlockingIOError:
            return
        except OSError as error:
            return self.drop('reading failed: %s' % error)
        if not data:
            return self.drop('the other end closed it')
        self._take(peer, peer.decoder.feed(data))

    def _take(self, peer, received):
        window = self.window
        for frame in received:
            if self._attached is not peer:
                return
            before = window.last_acked
            if failpoints.active is not None and frame.ack > before and not self._pass('before_ack_processed'):
                return
            verdict = window.on_frame(frame.seq, frame.ack)
            if window.last_acked != before:
                self._owner.on_acked(window.last_acked)
                if failpoints.active is not None and not self._pass('after_ack_processed'):
                    return
            if verdict == 'gap':
                return self.drop('frame %d does not follow' % frame.seq)
            if verdict == 'fresh':
                try:
                    message = frames.from_payload(frame.payload)
                except frames.BadFrame as error:
                    self._log.write('bad-frame frame %d: %s' % (frame.seq, error))
                    self._owner.on_bad_frame(frame.seq, str(error))
                else:
                    self._owner.on_message(frame.seq, message)
                window.record(frame.seq)

    def flush(self):
        """Sends what is unsent, or an ack that no frame carries, as far as the socket takes it."""
        peer = self._attached
        if peer is None:
            return
        window = self.window
        while self._attached is peer:
            if not peer.out:
                taken = window.take_unsent(limits.SEND_BATCH)
                ack = window.ack
                if taken:
                    pack = frames.HEADER.pack
                    parts = []
                    for seq, payload in taken:
                        parts.append(pack(len(payload), seq, ack))
                        parts.append(payload)
                    peer.out = b''.join(parts)
                elif ack != self._announced:
                    if failpoints.active is not None and not self._pass('before_ack_sent'):
                        return
                    peer.out = frames.HEADER.pack(0, 0, ack)
                else:
                    return
                if taken and failpoints.active is not None and not self._before_sending(taken):
                    return
                self._announced = ack
                if not self._send(peer):
                    return
                if failpoints.active is None:
                    if window.has_unsent() or window.ack != ack:
                        continue
                    return
                if taken:
                    self._after_sending(taken)
            elif not self._send(peer):
                return

    def flush_for(self, seconds):
        """The same, and waits for room in the socket for that long."""
        until = monotonic() + seconds
        self.flush()
        while self.has_outgoing() and monotonic() < until:
            sleep(0.005)
            self.flush()

    def _send(self, peer):
        """Whether all that was ready went out."""
        try:
            sent = peer.socket.send(peer.out, _SEND)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            self.drop('writing failed: %s' % error)
            return False
        if sent == len(peer.out):
            if peer.awaits_room:
                peer.awaits_room = False
                self._poller.modify(peer.fd, READ)
            peer.out = b''
            return True
        peer.out = peer.out[sent:]
        if not peer.awaits_room:
            peer.awaits_room = True
            self._poller.modify(peer.fd, READ_WRITE)
        return False

    def _names_of(self, taken):
        for _seq, payload in taken:
            name = frames.from_payload(payload)['type']
            if self._role + '.before_%s_sent' % name in failpoints.NAMES:
                yield name

    def _before_sending(self, taken):
        return all(self._pass('before_%s_sent' % name) for name in self._names_of(taken))

    def _after_sending(self, taken):
        for name in self._names_of(taken):
            if not self._pass('after_%s_sent' % name):
                return

    def _pass(self, name):
        """Passes a failpoint; False if it failed: as if the socket had, the connection is dropped."""
        try:
            failpoints.active.hit(self._role + '.' + name)
        except failpoints.FailpointError as error:
            self.drop('failpoint %s' % error)
            return False
        return True

    def _accept(self):
        """One connection: while more wait, the poller says so again."""
        try:
            fd, _address = self._listener._accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        except OSError as error:
            self._owner.on_accept_failed(error)
            return
        connection = system.place_socket(fd)
        if not sockets.peer_is_trusted(connection):
            self._log.write('peer-refused another user connected')
            connection.close()
            return
        if len(self._pending) >= limits.PENDING_CONNECTIONS:
            self._close(min(self._pending.values(), key=lambda peer: peer.deadline))
        peer = _Peer(connection, limits.MAX_ATTACH_PAYLOAD)
        self._pending[peer.fd] = peer
        self._poller.register(peer.fd, READ)

    def _read_pending(self, peer):
        try:
            data = peer.socket.recv(limits.READ_SIZE)
        except BlockingIOError:
            return
        except OSError:
            data = b''
        received = peer.decoder.feed(data)
        if not data or (received and received[0].seq != 0):
            return self._close(peer)
        if not received:
            return
        answer = self.answer_first(received[0].payload, peer.socket) if self.answer_first is not None else None
        if answer is not None:
            self._answer(peer, answer)
            return self._close(peer)
        try:
            attach = self._handshake.check(received[0].payload, self.window)
        except Refusal as refusal:
            self._log.write('attach-refused %s: %s' % (refusal.reason, refusal))
            answer = {'type': 'refused', 'reason': refusal.reason, 'message': str(refusal)}
            if refusal.reason == 'unsupported':  # it has shown the token
                answer['protocol'] = limits.PROTOCOL
            self._answer(peer, answer)
            return self._close(peer)
        self._become_attached(peer, attach, received[1:])

    def _become_attached(self, peer, attach, received):
        del self._pending[peer.fd]
        if self._attached is not None:
            self._shut('a newer attach won')
        peer.decoder.limit = limits.MAX_PAYLOAD
        self._attached = peer
        self._announced = self.window.ack
        self._owner.on_acked(self.window.last_acked)
        self._log.write('attached epoch %d incarnation %d ack %d' % (self._handshake.epoch, attach.incarnation, attach.ack))
        self._owner.on_attached(attach)
        if failpoints.active is not None and not self._pass('before_hello_sent'):
            return
        self._answer(peer, self._handshake.hello(self.window, *self._owner.hello_state()))
        if failpoints.active is not None and not self._pass('after_hello_sent'):
            return
        self._take(peer, received)
        self.flush()

    def _answer(self, peer, message):
        """A handshake frame: small, on a fresh socket, so it goes out whole or the connection is of no use."""
        try:
            peer.socket.send(frames.encode(0, 0 if message['type'] == 'refused' else self.window.ack, frames.to_payload(message)),
                             _SEND)
        except OSError:
            pass

    def _close(self, peer):
        self._pending.pop(peer.fd, None)
        self._unregister(peer.fd)
        _close_if_own(peer)

    def _unregister(self, fd):
        try:
            self._poller.unregister(fd)
        except (KeyError, OSError):
            pass

    def _shut(self, why):
        peer = self._attached
        self._attached = None
        self._unregister(peer.fd)
        try:
            if system.identity(peer.fd) == peer.identity:
                peer.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        _close_if_own(peer)
        self._log.write('connection-closed %s' % why)

    def drop(self, why):
        """Closes the attached connection; frames that are not acked wait for the next one."""
        if self._attached is not None:
            self._shut(why)
            self._owner.on_lost()

    def expire(self, now):
        """Closes pending connections past their deadline; seconds until the next one, or None."""
        if not self._pending:
            return None
        left = None
        for peer in list(self._pending.values()):
            if peer.deadline <= now:
                self._close(peer)
            elif left is None or peer.deadline - now < left:
                left = peer.deadline - now
        return left

    def attached_is_own(self):
        """Whether the attached connection's descriptor is still that connection."""
        peer = self._attached
        return peer is None or system.identity(peer.fd) == peer.identity

    def listener_is_own(self):
        return system.identity(self.listener_fd) == self._listener_identity

    def replace_listener(self, listener):
        """Takes another listening socket for one whose descriptor was closed, or whose file was removed."""
        self._unregister(self.listener_fd)
        self._forget_listener()
        self.use_listener(listener)

    def stop_listening(self):
        self._unregister(self.listener_fd)

    def abandon(self):
        """In a child of a cell's fork: forgets all sockets and closes those descriptors that are still ours."""
        peers = list(self._pending.values()) + ([self._attached] if self._attached is not None else [])
        self._pending = {}
        self._attached = None
        for peer in peers:
            _close_if_own(peer)
        self._forget_listener()

    def _forget_listener(self):
        if self.listener_is_own():
            self._listener.close()
        else:
            self._listener.detach()


def _close_if_own(peer):
    if system.identity(peer.fd) == peer.identity:
        peer.socket.close()
    else:
        peer.socket.detach()
