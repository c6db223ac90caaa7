#!/usr/bin/env python3
"""Writes the golden vectors beside this file from docs/wire.md alone: it shares no code with either implementation.

Run it only when the wire changes, and read the difference. Replayed by tests/link/vectors_test.cpp and tests/kernel/test_vectors.py.
"""

import itertools
import json
import struct
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent


def write(name, about, **content):
    """One case a line, so that a change of one is a difference of one line."""
    lines = ['{"about": %s' % json.dumps(about)]
    for key, cases in content.items():
        lines.append('"%s": [\n%s\n]' % (key, ",\n".join(json.dumps(case) for case in cases)))
    (HERE / name).write_text(",\n".join(lines) + "}\n")


def payload(message):
    return json.dumps(message, ensure_ascii=False, separators=(",", ":"))


def frame(seq, ack, text):
    data = text.encode()
    return struct.pack(">IQQ", len(data), seq, ack) + data


# Frames: every message type, as both sides write it: the fields in the order of docs/wire.md, no blanks, text unescaped where it may be.

STREAM = {"head": "a\n", "tail": "", "bytes": 2}
NOTHING = {"head": "", "tail": "", "bytes": 0}
DONE = {"type": "done", "cell": "c-1", "generation": 3, "status": "ok", "value": "42", "error": None, "exit_code": None,
        "started_at": 1700000000000, "finished_at": 1700000000005, "duration_ms": 5, "stdout": STREAM, "stderr": NOTHING,
        "output_bytes": 2}
TOKEN = "0123456789abcdef" * 4
HELLO = {"type": "hello", "protocol": 1, "program": "9f" * 32, "epoch": 2, "ack": 5, "first": 9,
         "boot_id": "4e0d0b5c-3f0e-4d5e-9a3b-0d8f2f1c7a11", "pid_namespace": 4026531836, "pid": 4711, "start_time": 123456789,
         "ready": True, "cells": [{"cell": "c-1", "generation": 3}], "jobs": [], "dropped": 0}
EXITED = {"type": "exited", "kernel": "k-1", "pid": 4711, "start_time": 123456789, "cause": "signal", "exit_code": None,
          "signal": "SIGKILL", "log_tail": "last words\n", "rest": [{"stream": "stdout", "text": "left"}],
          "ended": [{"pid": 4712, "command": "sleep 77"}], "at": 1700000000999}

MESSAGES = [  # name, who writes it, seq, ack, message
    ("attach", "to_kernel", 0, 8, {"type": "attach", "kernel": "k-1", "token": TOKEN, "home": "h-1", "incarnation": 4, "ack": 8,
                                   "grace_ms": 3600000, "protocol": 1}),
    ("hello", "answer", 0, 5, HELLO),
    ("refused", "answer", 0, 0, {"type": "refused", "reason": "wrong_token", "message": "token does not fit"}),
    ("execute", "to_kernel", 6, 8, {"type": "execute", "cell": "c-1", "generation": 3, "code": "print(\"a\\n\")\n# \u00fc \u20ac \U0001f600",
                                    "timeout_ms": 300000, "output_limit": 16777216,
                                    "background_after_ms": 60000}),
    ("execute with every kind of character", "to_kernel", 2**40, 2**33,
     {"type": "execute", "cell": "c", "generation": 1, "code": "".join(map(chr, range(0x20))) + "\"\\/\x7f\u0080\u2028\ud7ff\ue000\uffff\U0010ffff",
      "timeout_ms": 0, "output_limit": 0, "background_after_ms": 0}),
    ("interrupt", "to_kernel", 7, 9, {"type": "interrupt", "cell": "c-1", "reason": "timeout"}),
    ("shutdown", "to_kernel", 8, 9, {"type": "shutdown", "reason": "reset"}),
    ("started", "from_kernel", 9, 6, {"type": "started", "cell": "c-1", "generation": 3, "at": 1700000000000}),
    ("background", "from_kernel", 10, 6, {"type": "background", "cell": "c-1"}),
    ("output", "from_kernel", 10, 6, {"type": "output", "cell": "c-1", "stream": "stderr", "offset": 65536, "text": "\u00e4\t\u001b[31mred\r\n"}),
    ("done", "from_kernel", 11, 6, DONE),
    ("done with an error", "from_kernel", 12, 6,
     {**DONE, "status": "error", "value": None,
      "error": {"name": "ValueError", "message": "a \\ud800", "traceback": "Traceback ...\nValueError: a\n"}}),
    ("done by exit", "from_kernel", 13, 6, {**DONE, "status": "exit", "value": None, "exit_code": -3}),
    ("done with a cut stream", "from_kernel", 14, 6,
     {**DONE, "status": "interrupted", "value": None, "stdout": {"head": "h", "tail": "t", "bytes": 153600}, "output_bytes": 153600}),
    ("done of a kernel that ends itself", "from_kernel", 15, 6, {**DONE, "status": "timeout", "value": None, "kernel_ended": True}),
    ("bad_frame", "from_kernel", 16, 6, {"type": "bad_frame", "seq": 6, "message": "payload is not JSON"}),
    ("spawn", "to_nursery", 1, 0,
     {"type": "spawn", "kernel": "k-1", "token": TOKEN, "home": "h-1", "directory": "/d/k-1", "cwd": "/w",
      "env": {"LANG": "C.UTF-8", "PATH": "/usr/bin:/bin"}, "grace_ms": 3600000, "first_grace_ms": 60000, "interrupt_grace_ms": 2000,
      "failpoints": ""}),
    ("spawn of a kernel that saves itself", "to_nursery", 1, 0,
     {"type": "spawn", "kernel": "k-1", "token": TOKEN, "home": "h-1", "directory": "/d/k-1", "cwd": "/w", "env": {}, "grace_ms": 3600000,
      "first_grace_ms": 60000, "interrupt_grace_ms": 2000, "failpoints": "", "state": "/h/state/7"}),
    ("spawn of a kernel with tools", "to_nursery", 1, 0,
     {"type": "spawn", "kernel": "k-1", "token": TOKEN, "home": "h-1", "directory": "/d/k-1", "cwd": "/w", "env": {}, "grace_ms": 3600000,
      "first_grace_ms": 60000, "interrupt_grace_ms": 2000, "failpoints": "", "tools_module": "tools", "tools": ["read_file", "web_search"]}),
    ("kill", "to_nursery", 2, 0, {"type": "kill", "kernel": "k-1"}),
    ("spawned", "from_nursery", 1, 1, {"type": "spawned", "kernel": "k-1", "pid": 4711, "start_time": 123456789}),
    ("spawn_failed", "from_nursery", 2, 1, {"type": "spawn_failed", "kernel": "k-1", "message": "cannot fork: out of memory"}),
    ("exited", "from_nursery", 3, 2, EXITED),
    ("exited by itself", "from_nursery", 4, 2, {**EXITED, "cause": "exit", "exit_code": 3, "signal": None, "rest": [], "ended": []}),
    ("job_started", "from_kernel", 17, 6,
     {"type": "job_started", "job": "j-1", "cell": "c-1", "command": "sh -c 'echo \u00fc'", "pid": 4712, "start_time": 123456790, "group": 4712,
      "keep": False, "at": 1700000000000}),
    ("job_started outside of a cell", "from_kernel", 18, 6,
     {"type": "job_started", "job": "j-2", "cell": None, "command": "true", "pid": 4713, "start_time": 1, "group": 4713, "keep": True,
      "at": 1700000000000}),
    ("job_finished", "from_kernel", 19, 6,
     {"type": "job_finished", "job": "j-1", "cell": "c-1", "exit_code": 3, "signal": None, "timed_out": False, "stopped": False,
      "duration_ms": 5, "output_bytes": 3, "read": False, "at": 1700000000005}),
    ("job_finished by a signal", "from_kernel", 20, 6,
     {"type": "job_finished", "job": "j-2", "cell": None, "exit_code": None, "signal": "SIGKILL", "timed_out": True, "stopped": True,
      "duration_ms": 0, "output_bytes": 0, "read": True, "at": 1700000000005}),
    ("jobs", "from_kernel", 21, 6, {"type": "jobs", "read": ["j-1", "j-2"]}),
    ("jobs, none of them", "from_kernel", 22, 6, {"type": "jobs", "read": []}),
    ("display", "from_kernel", 23, 6,
     {"type": "display", "cell": "c-1", "index": 0, "main": True, "offset": 7,
      "data": {"text/html": "<b>\u00fc \u20ac \U0001f600</b>\n", "image/png": "iVBORw0KGgo=", "text/plain": "'plain'"},
      "metadata": {"image/png": {"width": 640, "height": -1, "ratio": None}, "isolated": True, "tags": ["\u00fc", [], {}]}, "omitted": []}),
    ("display without its largest data", "from_kernel", 24, 6,
     {"type": "display", "cell": "c-1", "index": 255, "main": False, "offset": 2**40, "data": {}, "metadata": {},
      "omitted": [{"mime": "text/html", "bytes": 4194305}, {"mime": "text/plain", "bytes": 0}]}),
    ("request for variables", "to_kernel", 9, 24, {"type": "request", "id": "r-1", "what": "variables", "after": 0, "limit": 1000}),
    ("request for a job's output", "to_kernel", 10, 24,
     {"type": "request", "id": "r-2", "what": "job_output", "job": "j-1", "limit": 65536, "offset": 2**40}),
    ("request to stop a job", "to_kernel", 11, 24, {"type": "request", "id": "r-3", "what": "job_stop", "job": "j-1"}),
    ("request without more", "to_kernel", 12, 24, {"type": "request", "id": "r" * 128, "what": "\u00fc"}),
    ("answer with variables", "from_kernel", 25, 12,
     {"type": "answer", "id": "r-1",
      "rows": [{"name": "\u00fc", "type": "list", "bytes": 56, "preview": "['\u20ac']"}, {"name": "y", "type": "Odd", "bytes": None, "preview": ""}],
      "next": None}),
    ("answer with more variables behind", "from_kernel", 26, 12, {"type": "answer", "id": "r-1", "rows": [], "next": 1000}),
    ("answer with a job's output", "from_kernel", 27, 12,
     {"type": "answer", "id": "r-2", "chunks": [{"stream": "stdout", "offset": 8388608, "bytes": 3, "text": "\ufffd\n"},
                                               {"stream": "stderr", "offset": 8388611, "bytes": 1, "text": "\u0000"}],
      "next_offset": 8388612, "total_bytes": 2**33, "dropped": [{"from": 0, "to": 8388608}], "final": False}),
    ("answer for a stopped job", "from_kernel", 28, 12,
     {"type": "answer", "id": "r-3", "job": "j-1", "exit_code": None, "signal": "SIGTERM", "timed_out": False, "stopped": True}),
    ("answer that refuses", "from_kernel", 29, 12,
     {"type": "answer", "id": "r" * 128, "error": {"kind": "failed", "message": "cannot answer \"\u00fc\": unknown"}}),
]

write("frames.json", "hex is the whole frame; payload its text, which writing the message gives back byte by byte",
      frames=[{"name": name, "writer": writer, "seq": seq, "ack": ack, "message": message, "payload": payload(message),
               "hex": frame(seq, ack, payload(message)).hex()} for name, writer, seq, ack, message in MESSAGES],
      bare_acks=[{"ack": ack, "hex": frame(0, ack, "").hex()} for ack in (0, 1, 255, 256, 2**32, 2**63 - 1, 2**64 - 1)])

# Payloads that a receiver must refuse, and go on.


def pieces(data):
    """[hex, times] of parts that give these bytes: a run of one byte is written once."""
    found = []
    for byte, run in ((byte, len(list(group))) for byte, group in itertools.groupby(data)):
        if run >= 64:
            found.append(["%02x" % byte, run])
        elif found and found[-1][1] == 1:
            found[-1][0] += "%02x" % byte * run
        else:
            found.append(["%02x" % byte * run, 1])
    return found


def nested(levels):
    return b'{"type":"kill","kernel":"k","x":' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}"

write("bad_payloads.json", "each is refused with a text, whatever the receiver waits for; the link stays",
      payloads=[{"name": name, "pieces": pieces(data)} for name, data in [
          ("nothing", b""), ("blank", b"  "), ("no JSON", b"hello"), ("cut short", b'{"type":"kill","kernel"'),
          ("two objects", b"{}{}"), ("something behind", b'{"type":"kill","kernel":"k"} x'),
          ("a list", b'[1,2]'), ("a text", b'"done"'), ("null", b"null"), ("no type", b"{}"), ("type is a number", b'{"type":7}'),
          ("type is null", b'{"type":null}'), ("NaN", b'{"type":"bad_frame","seq":NaN,"message":""}'),
          ("Infinity", b'{"type":"bad_frame","seq":Infinity,"message":""}'),
          ("-Infinity", b'{"type":"bad_frame","seq":-Infinity,"message":""}'),
          ("no UTF-8", b'{"type":"kill","kernel":"\xff"}'), ("UTF-8 cut short", b'{"type":"kill","kernel":"\xe2\x82"}'),
          ("a surrogate in UTF-8", b'{"type":"kill","kernel":"\xed\xa0\x80"}'), ("overlong", b'{"type":"kill","kernel":"\xc0\xaf"}'),
          ("a bare control character", b'{"type":"kill","kernel":"\x01"}'), ("a NUL behind", b'{"type":"kill","kernel":"k"}\0'),
          ("a byte order mark", b'\xef\xbb\xbf{"type":"kill","kernel":"k"}'), ("UTF-16", '{"type":"kill"}'.encode("utf-16")),
          ("single quotes", b"{'type':'kill'}"), ("a comma too many", b'{"type":"kill","kernel":"k",}'),
          ("65 levels", nested(65)), ("10000 levels, closed", nested(10000)), ("100000 brackets, open", b'{"type":' + b"[" * 100000),
      ]],
      good_payloads=[{"name": "64 levels", "pieces": pieces(nested(64))}])

# Window scripts. Steps: [operation, arguments..., expected].

write("window.json",
      "push TEXT -> seq, or full; send -> seqs taken, in order; frame SEQ ACK -> fresh, duplicate, gap; record SEQ; ack -> seq; "
      "resume PEER_ACK PEER_FIRST; unacked -> [frames, bytes]; unsent -> true or false. limits: [frames, bytes]",
      scripts=[
          {"name": "numbers from 1", "limits": [4096, 1 << 20], "steps": [
              ["unsent", False], ["send", []], ["push", "a", 1], ["push", "bb", 2], ["unsent", True], ["unacked", [2, 3]],
              ["send", [1, 2]], ["send", []], ["push", "c", 3], ["send", [3]]]},
          {"name": "cumulative acks", "limits": [4096, 1 << 20], "steps": [
              ["push", "a", 1], ["push", "bb", 2], ["push", "ccc", 3], ["send", [1, 2, 3]], ["frame", 0, 2, "duplicate"], ["unacked", [1, 3]],
              ["frame", 0, 1, "duplicate"], ["unacked", [1, 3]], ["frame", 0, 3, "duplicate"], ["unacked", [0, 0]], ["push", "d", 4],
              ["send", [4]]]},
          {"name": "a replay is dropped", "limits": [4096, 1 << 20], "steps": [
              ["frame", 1, 0, "fresh"], ["frame", 1, 0, "duplicate"], ["frame", 2, 0, "fresh"], ["frame", 1, 0, "duplicate"],
              ["frame", 2, 0, "duplicate"], ["frame", 3, 0, "fresh"]]},
          {"name": "a missing frame breaks the connection", "limits": [4096, 1 << 20], "steps": [
              ["frame", 2, 0, "gap"], ["frame", 1, 0, "fresh"], ["frame", 3, 0, "gap"], ["frame", 2, 0, "fresh"],
              ["frame", 2**63, 0, "gap"]]},
          {"name": "only what is recorded is acked", "limits": [4096, 1 << 20], "steps": [
              ["ack", 0], ["frame", 1, 0, "fresh"], ["ack", 0], ["frame", 2, 0, "fresh"], ["record", 1], ["ack", 1], ["record", 2],
              ["ack", 2], ["record", 1], ["ack", 2]]},
          {"name": "a frame acks as well as a bare ack", "limits": [4096, 1 << 20], "steps": [
              ["push", "a", 1], ["send", [1]], ["frame", 1, 1, "fresh"], ["unacked", [0, 0]]]},
          {"name": "full by frames", "limits": [2, 100], "steps": [
              ["push", "a", 1], ["push", "b", 2], ["push", "c", "full"], ["unacked", [2, 2]], ["send", [1, 2]],
              ["frame", 0, 1, "duplicate"], ["push", "c", 3], ["push", "d", "full"], ["send", [3]]]},
          {"name": "full by bytes", "limits": [100, 10], "steps": [
              ["push", "123456", 1], ["push", "12345", "full"], ["push", "1234", 2], ["push", "1", "full"], ["push", "", 3],
              ["unacked", [3, 10]], ["send", [1, 2, 3]], ["frame", 0, 1, "duplicate"], ["push", "123456", 4]]},
          {"name": "a resumed connection sends the rest again", "limits": [4096, 1 << 20], "steps": [
              ["push", "a", 1], ["push", "b", 2], ["push", "c", 3], ["push", "d", 4], ["send", [1, 2, 3, 4]], ["frame", 0, 1, "duplicate"],
              ["resume", 2, 0], ["unacked", [2, 2]], ["unsent", True], ["send", [3, 4]], ["push", "e", 5], ["send", [5]],
              ["resume", 5, 0], ["send", []], ["unacked", [0, 0]]]},
          {"name": "an old ack in the handshake brings nothing back", "limits": [4096, 1 << 20], "steps": [
              ["push", "a", 1], ["push", "b", 2], ["send", [1, 2]], ["frame", 0, 2, "duplicate"], ["resume", 1, 0], ["send", []],
              ["push", "c", 3], ["send", [3]]]},
          {"name": "an ack overtakes a resend", "limits": [4096, 1 << 20], "steps": [
              ["push", "a", 1], ["push", "b", 2], ["push", "c", 3], ["send", [1, 2, 3]], ["resume", 0, 0], ["frame", 0, 2, "duplicate"],
              ["send", [3]]]},
          {"name": "receiving goes on across connections", "limits": [4096, 1 << 20], "steps": [
              ["frame", 1, 0, "fresh"], ["frame", 2, 0, "fresh"], ["record", 2], ["resume", 0, 1], ["frame", 1, 0, "duplicate"],
              ["frame", 2, 0, "duplicate"], ["frame", 3, 0, "fresh"], ["record", 3], ["ack", 3]]},
          {"name": "what the peer no longer has is no gap", "limits": [4096, 1 << 20], "steps": [
              ["frame", 1, 0, "fresh"], ["record", 1], ["resume", 0, 6], ["frame", 5, 0, "duplicate"], ["frame", 6, 0, "fresh"],
              ["record", 6], ["ack", 6]]},
      ])

# Files. A part is [offset, pieces]; bytes that are in no part are zero.

SPOOL = 512 * 1024
JOURNAL = 256 * 1024
RING = JOURNAL - 64


def record(seq, text, checksum=None):
    data = text.encode()
    return struct.pack(">IQI", len(data), seq, zlib.crc32(data) if checksum is None else checksum) + data


def spool(name, records, raw=b"", end=None, acked=0, size=SPOOL, left=0):
    """`records`: (seq, text), whole; `raw`: what lies behind them; `left`: bytes that a reader must leave."""
    body = b"".join(record(*item) for item in records) + raw
    end = 64 + len(body) if end is None else end
    head = b"HFSPOOL1" + struct.pack(">QQ", end, acked)
    return {"name": name, "size": size, "parts": [[0, pieces(head)], [64, pieces(body)]],
            "records": [{"seq": seq, "payload": text} for seq, text in records], "acked": acked, "left": left}


ONE, TWO, THREE = (9, payload(MESSAGES[7][4])), (11, payload(DONE)), (14, '{"type":"started","cell":"\u20ac","generation":4,"at":1}')

write("spool.json", "images of spool files and what a reader takes from them. written: appending the records in order makes this image",
      images=[
          {**spool("empty", []), "written": True},
          {**spool("one record", [ONE]), "written": True},
          {**spool("three records", [ONE, TWO, THREE]), "written": True},
          spool("some are acked", [ONE, TWO, THREE], acked=9),
          spool("all acked, the old records still lie there", [], raw=record(*ONE) + record(*TWO), end=64, acked=11),
          spool("older records behind the end", [THREE], raw=record(*ONE), end=64 + len(record(*THREE))),
          spool("a wrong checksum in the middle", [ONE], raw=record(10, "bad", 1) + record(*TWO), left=len(record(10, "bad") + record(*TWO))),
          spool("a length beyond the file", [ONE], raw=struct.pack(">IQI", 2**32 - 1, 10, 0) + b"abc", left=19),
          spool("a header cut short by the file's end", [], raw=b"", end=70, size=70, left=6),
          spool("seq falls", [TWO], raw=record(*ONE), left=len(record(*ONE))),
          spool("seq 0", [], raw=record(0, "x"), left=len(record(0, "x"))),
          spool("an end beyond the file", [ONE, TWO], end=2**63, left=SPOOL - 64 - len(record(*ONE) + record(*TWO))),
          spool("an end before the records", [ONE], end=0, left=SPOOL - 64 - len(record(*ONE))),
          spool("an end that was half written, within a record", [ONE, TWO], end=64 + len(record(*ONE)) + 20),
      ],
      refused=[
          {"name": "no bytes", "size": 0, "parts": []},
          {"name": "too short", "size": 63, "parts": [[0, pieces(b"HFSPOOL1")]]},
          {"name": "zeros", "size": SPOOL, "parts": []},
          {"name": "another magic", "size": SPOOL, "parts": [[0, pieces(b"HFSPOOL2")]]},
      ])


def entry(stream, cell, offset, text):
    return struct.pack(">IBBHQ", len(text.encode()), stream, 0, len(cell.encode()), offset) + cell.encode() + text.encode()


def journal(name, chunks, tail=0, raw=b"", head=None, left=0, is_open=False):
    """The chunks (stream, cell, offset, text) from logical position `tail` on, wrapped into the ring; the last of them still open."""
    entries = [entry(*chunk) for chunk in chunks]
    if is_open:
        entries[-1] = b"\0\0\0\0" + entries[-1][4:]
    body = b"".join(entries) + raw
    head = tail + len(body) if head is None else head
    parts = [[0, pieces(b"HFJRNL01" + struct.pack(">QQ", head, tail))]]
    at = tail % RING
    parts.append([64 + at, pieces(body[:RING - at])])
    if len(body) > RING - at:
        parts.append([64, pieces(body[RING - at:])])
    return {"name": name, "size": JOURNAL, "parts": parts, "left": left,
            "records": [{"stream": stream, "cell": cell, "offset": offset, "text": pieces(text.encode())} for stream, cell, offset, text in chunks]}


A, B, C = (1, "c-1", 0, "one\n"), (2, "c-1", 4, "\u00fc\u20ac"), (1, "c-2", 0, "")

write("journal.json", "images of journal files and what a reader takes from them. written: appending the records in order makes this image",
      images=[
          {**journal("empty", []), "written": True},
          {**journal("three records", [A, B, C]), "written": True},
          {**journal("an open record", [A, B], is_open=True), "written": True},
          journal("an open record wraps around", [A, B], tail=RING - 21, is_open=True),
          journal("a text wraps around", [A, B], tail=RING - 21),
          journal("a header wraps around", [A, B], tail=3 * RING - 5),
          journal("a cell wraps around", [A, B], tail=RING - 17),
          journal("full to the last byte", [(1, "c", 0, "x" * (RING - 17))], tail=12345),
          journal("a length beyond the head", [A], raw=struct.pack(">IBBHQ", 100, 1, 0, 3, 4) + b"c-1abc", left=22),
          journal("a length of 4 GiB", [A], raw=struct.pack(">IBBHQ", 2**32 - 1, 1, 0, 3, 4) + b"c-1abc", left=22),
          journal("a cell length beyond the head", [A], raw=struct.pack(">IBBHQ", 0, 1, 0, 65535, 4) + b"c-1", left=19),
          journal("a header cut short", [A], raw=b"\0\0\0\1\1", left=5),
      ],
      images_with_strict_reader=[
          journal("stream 3", [A], raw=entry(3, "c-1", 4, "x"), left=len(entry(3, "c-1", 4, "x"))),
          journal("no UTF-8", [A], raw=struct.pack(">IBBHQ", 1, 1, 0, 1, 4) + b"c\xff", left=18),
          journal("tail above head", [], tail=100, head=50, left=RING),
          journal("more than the ring", [], tail=0, head=RING + 1, left=RING),
      ],
      refused=[
          {"name": "no bytes", "size": 0, "parts": []},
          {"name": "zeros", "size": JOURNAL, "parts": []},
          {"name": "another magic", "size": JOURNAL, "parts": [[0, pieces(b"HFSPOOL1")]]},
      ])
