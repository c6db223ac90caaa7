"""The frame codec: length(4) seq(8) ack(8) payload, big-endian, payload one JSON object.

Pure: bytes in, frames out. Refuses to produce a frame over MAX_PAYLOAD and never buffers one that it receives.
"""

import json
import struct
from collections import namedtuple
from json.encoder import c_make_encoder, encode_basestring  # the first is None where CPython was built without it

from . import limits

HEADER = struct.Struct('>IQQ')
HEADER_SIZE = HEADER.size
_unpack_header = HEADER.unpack_from

# payload is None if the frame was longer than the limit and its bytes were skipped; b'' is a bare ack.
Frame = namedtuple('Frame', 'seq ack payload')


class BadFrame(Exception):
    """A payload that is not what the wire allows; the text says why."""


def encode(seq, ack, payload):
    """The bytes of one frame; BadFrame if the payload is over the limit."""
    if len(payload) > limits.MAX_PAYLOAD:
        raise BadFrame('cannot send frame %d: payload of %d bytes, at most %d' % (seq, len(payload), limits.MAX_PAYLOAD))
    return HEADER.pack(len(payload), seq, ack) + payload


class Decoder:
    """Cuts a stream of bytes into frames; holds at most one incomplete frame."""

    __slots__ = ('limit', '_buffer', '_skip')

    def __init__(self, limit=limits.MAX_PAYLOAD):
        self.limit = limit
        self._buffer = bytearray()  # begins at a header; shorter than HEADER_SIZE + limit after each feed
        self._skip = 0  # bytes of an over-long payload still to come; the buffer is empty while it is not 0

    def feed(self, data):
        """The frames that are complete with these bytes, in order."""
        if self._buffer or self._skip:
            return self._feed_slowly(data)
        # Mostly whole frames come, an ack and an execute: cut without being copied together first.
        frames = []
        at = 0
        size = len(data)
        while size - at >= HEADER_SIZE:
            length, seq, ack = _unpack_header(data, at)
            end = at + HEADER_SIZE + length
            if end > size or length > self.limit:
                break
            frames.append(Frame(seq, ack, data[at + HEADER_SIZE:end]))
            at = end
        if at < size:
            frames += self._feed_slowly(data[at:] if at else data)
        return frames

    def _feed_slowly(self, data):
        if self._skip:
            passed = min(self._skip, len(data))
            self._skip -= passed
            data = data[passed:]
        buffer = self._buffer
        buffer += data
        frames = []
        at = 0
        while len(buffer) - at >= HEADER_SIZE:
            length, seq, ack = HEADER.unpack_from(buffer, at)
            if length > self.limit:
                frames.append(Frame(seq, ack, None))
                here = min(length, len(buffer) - at - HEADER_SIZE)
                self._skip = length - here
                at += HEADER_SIZE + here
                continue
            if len(buffer) - at - HEADER_SIZE < length:
                break
            at += HEADER_SIZE
            frames.append(Frame(seq, ack, bytes(buffer[at:at + length])))
            at += length
        if at:
            del buffer[:at]
        return frames


def clean_text(text):
    """The text with lone surrogates written as \\udXXX."""
    return text.encode('utf-8', 'backslashreplace').decode('utf-8')


def _clean(value):
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(key): _clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value]
    return value


def _make_encoder():
    if c_make_encoder is None:
        encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, separators=(',', ':'))
        return lambda message, _level: (encoder.encode(message),)
    # What JSONEncoder builds anew for each call, built once.
    return c_make_encoder(None, None, encode_basestring, None, ':', ',', False, False, False)


_encode = _make_encoder()


def to_payload(message):
    """One message as JSON in UTF-8, without NaN and lone surrogates."""
    try:
        return ''.join(_encode(message, 0)).encode()
    except UnicodeEncodeError:
        return ''.join(_encode(_clean(message), 0)).encode()


_STREAMS = {1: 'stdout', 2: 'stderr'}
_ESCAPES = ((b'\\', b'\\\\'), (b'"', b'\\"'), (b'\n', b'\\n'), (b'\t', b'\\t'), (b'\r', b'\\r'), (b'\x1b', b'\\u001b'))
_SHORT = 512  # bytes of a text for which the encoder takes less time than this
_OTHER_CONTROLS = bytes(set(range(32)) - set(b'\n\t\r\x1b'))


def output_payload(cell, stream, offset, text):
    """An `output`, its cell and text given as UTF-8. The encoder, which takes a flood twice as long, sees short and rare texts only."""
    head = '{"type":"output","cell":%s,"stream":"%s","offset":%d,"text":' % (encode_basestring(cell.decode()), _STREAMS[stream], offset)
    if len(text) < _SHORT or len(text.translate(None, _OTHER_CONTROLS)) != len(text):
        return (head + encode_basestring(text.decode()) + '}').encode()
    for character, escaped in _ESCAPES:
        text = text.replace(character, escaped)
    return b'%b"%b"}' % (head.encode(), text)


def started_payload(cell, generation, at):
    """A `started`, written without the encoder: on the way of every cell that takes half the time."""
    text = '{"type":"started","cell":%s,"generation":%d,"at":%d}' % (encode_basestring(cell), generation, at)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return to_payload({'type': 'started', 'cell': cell, 'generation': generation, 'at': at})


def _refuse_constant(name):
    raise BadFrame('%s is not JSON' % name)


_scan = json.JSONDecoder(parse_constant=_refuse_constant).scan_once


def _depth(value):
    """How many arrays and objects are nested in a parsed value, without recursion; counts no further than one over the limit."""
    deepest = 0
    level = [value]
    while level and deepest <= limits.MAX_DEPTH:
        deepest += 1
        level = [item for holder in level for item in (holder.values() if isinstance(holder, dict) else holder)
                 if isinstance(item, (dict, list))]
    return deepest


def from_payload(payload):
    """The message in a payload, a dict with a string field `type`; BadFrame otherwise."""
    if payload is None:
        raise BadFrame('frame longer than %d bytes' % limits.MAX_PAYLOAD)
    try:
        text = payload.decode()
        message, end = _scan(text, 0)
        if end != len(text) and text[end:].strip(' \t\r\n'):
            raise BadFrame('payload goes on behind its object')
    except StopIteration:
        raise BadFrame('payload is not JSON') from None
    except (UnicodeDecodeError, ValueError) as error:
        raise BadFrame('payload is not JSON: %s' % error) from None
    except RecursionError:
        raise BadFrame('payload is nested deeper than %d' % limits.MAX_DEPTH) from None
    if type(message) is not dict or type(message.get('type')) is not str:
        raise BadFrame('payload is not an object with a type')
    if payload.count(b'{') + payload.count(b'[') > limits.MAX_DEPTH and _depth(message) > limits.MAX_DEPTH:
        raise BadFrame('payload is nested deeper than %d' % limits.MAX_DEPTH)
    return message
