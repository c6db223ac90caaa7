"""The examples of docs/protocol.md, run in their order against a daemon, get the answers that stand there."""

import json
import re
import unittest
from pathlib import Path

from holdfast_test.cases import DaemonCase
from holdfast_test.client import RpcError

PROTOCOL = Path(__file__).resolve().parents[2] / "docs" / "protocol.md"
BLOCK = re.compile(r"^```json (request|response)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)

# What differs from run to run: each is replaced by its kind before two documents are compared.
VOLATILE_TEXT = (
    (re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"), "an instant"),
    (re.compile(r"^# HELP "), "metrics"),
    (re.compile(r"^([kcnj])-[0-9A-HJKMNP-TV-Z]{26}$"), "an id"),
)
VOLATILE_KEYS = re.compile(r"^(pid|seq|home|python|version|missed|message|\w+_ms|memory_bytes|limits|kernels)$")


# What must be there before the example of a method: a cell that is run first.
SHOWN = "class Shown:\n    def _repr_html_(self): return '<b>bold</b>'\nShown()"
MAKE = """
import os, time
with open('make', 'w') as script: script.write('#!/bin/sh\\necho cc -c a.c\\nexec sleep 600\\n')
os.chmod('make', 0o755)
os.environ['PATH'] = os.getcwd() + os.pathsep + os.environ['PATH']
job = run('make', '-j2')
while not job.read_bytes(): time.sleep(0.01)
"""
PREPARED = {
    "cell.display": {"session": "pictures", "cell": "shown", "code": SHOWN},
    "owner.close": {"child": "delegate", "code": "1"},
    "job.list": {"code": MAKE},
}


def settled(value, key=""):
    """A document without what differs from run to run; the kind of each such value stays."""
    if VOLATILE_KEYS.match(key) and not isinstance(value, bool):
        return None if value is None else "a " + type(value).__name__
    if isinstance(value, dict):
        return {name: settled(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [settled(item) for item in value]
    if isinstance(value, str):
        for pattern, kind in VOLATILE_TEXT:
            if pattern.match(value):
                return kind
    return value


def examples():
    """(request, response) in the order of the page."""
    blocks = BLOCK.findall(PROTOCOL.read_text())
    pairs = list(zip(blocks[::2], blocks[1::2]))
    if len(blocks) % 2 or any((first[0], second[0]) != ("request", "response") for first, second in pairs):
        raise AssertionError("every request block of docs/protocol.md is followed by its response block")
    return [(json.loads(first[1]), json.loads(second[1])) for first, second in pairs]


class ProtocolExamplesTest(DaemonCase):
    def assert_shows(self, example, actual, path):
        """Everything in the example is in the answer; an example may leave fields out, never invent one. `[]` stands for any list
        and `{}` for any object where an example shows no more."""
        if isinstance(example, dict):
            self.assertIsInstance(actual, dict, path)
            for name, value in example.items():
                self.assertIn(name, actual, path)
                self.assert_shows(value, actual[name], f"{path}.{name}")
        elif isinstance(example, list):
            self.assertIsInstance(actual, list, path)
            for index, (expected, found) in enumerate(zip(example, actual)):
                self.assert_shows(expected, found, f"{path}[{index}]")
            if example:
                self.assertEqual(len(example), len(actual), path)
        else:
            self.assertEqual(example, actual, path)

    def known_ids(self, request, known):
        """An id of the page is replaced by the one that this run gave in its place."""
        text = json.dumps(request)
        for example, actual in known.items():
            text = text.replace(example, actual)
        return json.loads(text)

    def learn_ids(self, example, actual, known):
        if isinstance(example, dict) and isinstance(actual, dict):
            for name, value in example.items():
                self.learn_ids(value, actual.get(name), known)
        elif isinstance(example, list) and isinstance(actual, list):
            for first, second in zip(example, actual):
                self.learn_ids(first, second, known)
        elif isinstance(example, str) and isinstance(actual, str) and VOLATILE_TEXT[-1][0].match(example):
            known[example] = actual

    def test_the_examples_of_the_protocol_page_get_the_answers_shown(self):
        known, client = {}, self.daemon.connect()
        pairs = examples()
        self.assertGreater(len(pairs), 10)

        for number, (request, response) in enumerate(pairs, 1):
            with self.subTest(number=number, method=request["method"]):
                request = self.known_ids(request, known)
                prepared = PREPARED.get(request["method"])
                if prepared:
                    self.assert_ok(client.run(cwd=str(self.daemon.directory), **prepared))
                try:
                    actual = {"result": client.call(request["method"], **request.get("params", {}))}
                except RpcError as problem:
                    actual = {"error": {"code": problem.code, "message": problem.message, "data": problem.data}}
                self.learn_ids(response, actual, known)
                if prepared and "session" in prepared:
                    client.call("session.close", session=prepared["session"])
                expected = {name: value for name, value in response.items() if name in ("result", "error")}
                self.assert_shows(settled(expected), settled(actual), request["method"])


if __name__ == "__main__":
    unittest.main()
