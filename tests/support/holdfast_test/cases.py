"""Base classes of the tests: a daemon for each test, or one for a class; logs of the daemon are shown when a test fails."""

import sys
import unittest

from holdfast_test.daemon import Daemon


class _ReportingCase(unittest.TestCase):
    """Keeps the daemons' logs before they are removed and prints them when the test has failed."""

    maxDiff = 4000
    longMessage = True

    def run(self, result=None):
        self._reports = []
        before = self._problems(result)
        outcome = super().run(result)
        if self._problems(result) != before:
            for report in self._reports:
                print(f"\n=== {self.id()}\n{report}", file=sys.stderr)
        return outcome

    @staticmethod
    def _problems(result):
        return (len(result.failures), len(result.errors)) if result else (0, 0)

    def assert_ok(self, result, value=None):
        """The cell ended ok, with this value if one is given."""
        self.assertEqual(result["status"], "ok", result)
        if value is not None:
            self.assertEqual(result["value"], value, result)

    def notice_kinds(self, result):
        return [notice["kind"] for notice in result["notices"]]


class DaemonCase(_ReportingCase):
    """Each test has a home and a running daemon of its own: `self.daemon`."""

    environment = {}  # of the daemon, set by a subclass

    def setUp(self):
        self.daemon = self.make_daemon()
        self.daemon.start()

    def make_daemon(self, environment=None, **options):
        """A home with nothing running on it yet; it is closed at the end of the test."""
        daemon = Daemon(environment={**self.environment, **(environment or {})}, **options)
        self.addCleanup(daemon.close)
        self.addCleanup(lambda: self._reports.append(daemon.report()))
        return daemon


class SharedDaemonCase(_ReportingCase):
    """One daemon for all tests of the class; each test has a session (and a client) of its own."""

    environment = {}

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(environment=cls.environment)
        cls.addClassCleanup(cls.daemon.close)
        cls.daemon.start()

    def setUp(self):
        self.session = self._testMethodName[:128]
        self.client = self.daemon.connect()
        self.addCleanup(self._close_session)
        self.addCleanup(lambda: self._reports.append(self.daemon.report()))

    def _close_session(self):
        self.client.close()
        if self.daemon.process is not None:
            with self.daemon.connect() as client:
                for row in client.call("session.list", limit=1000)["items"]:
                    if row["session"].startswith(self.session):
                        client.call("session.close", session=row["session"], owner=row["owner"], child=row["child"])

    def run_cell(self, code, seconds=30.0, **params):
        """Runs a cell in this test's session until it is final."""
        return self.client.run(code, seconds, **{"session": self.session, **params})

    def start_cell(self, code, cell, client=None, **params):
        """Sends a streamed cell in this test's session; returns its pending call once it is accepted."""
        client = client or self.client
        pending = client.send("run", **{"session": self.session, **params}, code=code, cell=cell, stream=True)
        client.wait_accepted(cell, pending)
        return pending
