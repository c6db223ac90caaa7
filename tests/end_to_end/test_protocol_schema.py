"""rpc.discover names every field that the daemon sends, with its type, and none that it does not send."""

import os
import signal
import sys
import unittest

from holdfast_test import processes
from holdfast_test.cases import DaemonCase
from holdfast_test.client import RpcError
from holdfast_test.schema import Schema
from holdfast_test.waiting import wait_until

# Described because it is sent, but only ever as null or empty: what would fill it is not built.
ALWAYS_EMPTY = {
    ("kernel row", "tools"),
    ("forked session", "cell"),  # it is as idle as the original
}  # fmt: skip
ENDLESS = "import time\ndisplay(1)\nprint('on', flush=True)\ntime.sleep(600)"

SHOWN = """
class Shown:
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": "x", "text/html": "x" * (2 << 20)}, {"text/html": {"width": 1}}
Shown()
"""


class SchemaTest(DaemonCase):
    """One life of a daemon in which every method, notification, kind of event and field comes up."""

    def setUp(self):
        super().setUp()
        self.schema = Schema(self.daemon.call("rpc.discover"))
        self.listen()

    def listen(self):
        self.listener = self.daemon.connect()
        self.ask("event.subscribe", client=self.listener, since=0)

    def ask(self, method, client=None, **params):
        """The answer, checked; an error, checked, comes back as its object."""
        try:
            answer = client.call(method, **params) if client else self.daemon.call(method, **params)
        except RpcError as problem:
            error = {"code": problem.code, "message": problem.message, "data": problem.data}
            self.schema.check_error(method, error)
            return error
        self.schema.check_answer(method, answer)
        return answer

    def refuse(self, expected, method, **params):
        self.assertEqual(self.ask(method, **params).get("code"), expected, (method, params))

    def check_told(self, *clients):
        for client in clients:
            for message in list(client.received):
                if "method" in message:
                    self.schema.check_notification(message["method"], message["params"])

    def results_of_every_kind(self):
        self.ask("run", code="import sys; print('out'); print('err', file=sys.stderr); 1", child="c1")
        self.ask("run", code="1/0", text_limit=1000)
        self.ask("run", code=SHOWN, cell="shown")
        self.ask("cell.display", cell="shown", index=0, mime="text/html")
        self.ask("session.variables")
        self.ask("run", code="raise SystemExit(3)")
        self.ask("run", code="import time; time.sleep(60)", timeout_ms=50)
        self.ask("run", code="print('x' * 200_000)", cell="long")
        self.ask("run", code="print('x' * (17 << 20))", cell="more-than-is-kept")
        self.ask("cell.output", cell="more-than-is-kept", offset=16 << 20)
        for _ in range(2):
            self.ask("run", code="1", cell="again")
        self.ask("run", code="1", reset=True)
        self.ask("run", code="import os; os._exit(7)", session="exits")
        self.ask("run", code="import os, signal; os.kill(os.getpid(), signal.SIGKILL)", session="killed")
        self.ask("notice.list")
        self.ask("run", code="1", session="killed")

    def a_running_cell(self):
        """A cell runs and another one waits while everything that shows them is asked."""
        client, pending = self.daemon.start_cell(ENDLESS, "endless", child="c1")
        client.wait_streamed("endless", "on")
        self.ask("cell.interrupt", child="c1")
        self.schema.check_answer("run", pending.result())
        self.check_told(client)
        client, pending = self.daemon.start_cell(ENDLESS, "endless")
        client.wait_streamed("endless", "on")
        self.ask("run", code="2", cell="behind", wait_ms=0)
        for method in ("session.list", "session.get", "kernel.list", "cell.list", "status"):
            self.ask(method)
        for method in ("cell.get", "cell.output"):
            self.ask(method, cell="endless")
        self.ask("cell.wait", cell="endless", wait_ms=0)
        kernel = self.ask("kernel.list", session="default", state="busy")["items"][0]["kernel"]
        self.refuse(1004, "kernel.stop", kernel=kernel)
        self.ask("cell.interrupt", cell="behind")
        self.ask("cell.interrupt")
        self.schema.check_answer("run", pending.result())
        self.check_told(client)

    def a_restart_with_news(self):
        """A kernel is attached again, another one is found dead; both are told in notices."""
        gone = self.ask("kernel.list", session="killed")["items"][0]
        self.check_told(self.listener)
        self.daemon.kill()
        processes.end_all([processes.identify(gone["pid"])])
        self.daemon.start()
        self.listen()
        wait_until(lambda: len(self.daemon.call("notice.list")["items"]) >= 2, "a notice of each")
        for notice in self.ask("notice.list")["items"]:
            self.ask("notice.ack", ids=[notice["id"]])
        client, pending = self.daemon.start_cell(ENDLESS, "struck")
        client.wait_streamed("struck", "on")
        self.daemon.restart(crash=True)
        self.listen()
        wait_until(lambda: self.daemon.call("notice.list")["items"], "the notice of the running cell")
        self.ask("notice.list")
        self.ask("cell.interrupt", cell="struck")

    def an_orphan(self):
        """A kernel cannot be reached, is given up, and is ended as an orphan."""
        self.ask("run", code="1", session="stuck")
        stuck = self.ask("kernel.list", session="stuck")["items"][0]
        self.check_told(self.listener)
        self.daemon.kill()
        os.kill(stuck["pid"], signal.SIGSTOP)
        self.daemon.start(HOLDFAST_HELLO_DEADLINE_SECONDS="0.3", HOLDFAST_ATTACH_BUDGET_SECONDS="0.3")
        self.listen()
        self.listener.wait_notification("event", kind="kernel_orphaned")
        self.ask("kernel.list", state="orphan")
        self.ask("kernel.stop", kernel=stuck["kernel"])
        self.listener.wait_notification("event", kind="orphan_ended")

    def jobs(self):
        job = self.ask("run", code="j = run('sh', '-c', 'echo out; exec sleep 600')\nj.id", child="c2")["value"].strip("'")
        wait_until(lambda: self.daemon.call("job.output", job=job)["total_bytes"], "its output")
        processes.end_all([processes.identify(self.ask("job.list")["items"][0]["pid"])])
        wait_until(lambda: self.daemon.call("notice.list")["items"], "the notice of its end")
        self.ask("notice.list")
        self.ask("job.list")
        self.ask("job.output", job=job)
        self.ask("run", code="1", child="c2")
        running = self.ask("run", code="run('sleep', '600').id", child="c2")["value"].strip("'")
        self.refuse(1004, "kernel.stop", kernel=self.ask("kernel.list", child="c2")["items"][0]["kernel"])
        self.ask("job.stop", job=running)
        self.ask("session.reset", child="c2")
        self.ask("job.output", job=job)

    def forks(self):
        code = f"""
import socket, subprocess
near = socket.socket(socket.AF_UNIX)
near.connect({str(self.daemon.socket_path)!r})
child = subprocess.Popen(['sleep', '600'])
job = run('sleep', '600')
"""
        self.ask("run", code=code)
        self.ask("session.fork", into="copy")
        self.refuse(1013, "session.fork", into="copy")
        self.refuse(1001, "session.fork", session="none", into="other")
        self.ask("run", code="1", session="copy")
        self.ask("session.close", session="copy")
        self.ask("session.fork", into="copy", child="c1")
        self.ask("session.close", session="copy", child="c1")

    def a_cell_without_a_kernel(self):
        python = self.daemon.directory / "python"
        python.write_text(f'#!/bin/sh\ncase "$1" in *nursery.py) exit 9;; esac\nexec {sys.executable} "$@"\n')
        python.chmod(0o755)
        self.ask("run", code="1", session="alone", python=str(python))

    def refusals(self):
        self.refuse(-32601, "no.such")
        self.refuse(-32602, "run", code=1)
        self.refuse(-32602, "run", code="1", environment="moon")
        self.refuse(1009, "run", code="#" * (1 << 20) + "#")
        self.refuse(1002, "run", code="other", cell="long")
        self.refuse(1011, "run", code="1", if_kernel="k-none", cell="choosy")
        self.refuse(1007, "run", code="1", session="unborn", python="/no/such/python")
        for method in ("cell.get", "cell.wait", "cell.output", "cell.interrupt"):
            self.refuse(1001, method, cell="none")
            self.refuse(1001, method, cell="none", session="none")
        for method in ("session.get", "session.reset", "session.close", "cell.list"):
            self.refuse(1001, method, session="none")
        self.refuse(1001, "kernel.stop", kernel="k-none")
        self.refuse(1001, "cell.display", cell="shown", index=7, mime="text/html")
        self.refuse(1001, "job.stop", job="j-none")
        self.refuse(1001, "job.output", job="j-none")

    def endings(self):
        self.ask("session.reset")
        self.ask("session.close", session="exits")
        self.ask("owner.close", child="c1")
        self.refuse(1001, "owner.close", child="c1")
        self.ask("run", code="import threading\nx, lock = 1, threading.Lock()", session="stopped")
        self.ask("kernel.stop", kernel=self.ask("kernel.list", session="stopped")["items"][0]["kernel"])
        self.ask("session.list", state="hibernated")
        self.ask("run", code="x", session="stopped")
        self.ask("run", code="1", session="dropped")
        self.listener.wait_notification("event", kind="session_closed")
        self.check_told(self.listener)
        self.ask("shutdown", kernels=True)
        self.daemon.wait_ended()

    def test_every_field_that_is_sent_is_described_and_every_one_described_is_sent(self):
        self.ask("rpc.discover")
        self.ask("metrics")
        self.results_of_every_kind()
        self.a_running_cell()
        self.jobs()
        self.forks()
        self.a_cell_without_a_kernel()
        self.refusals()
        self.a_restart_with_news()
        self.an_orphan()
        self.endings()

        names, fields = self.schema.never_met()
        self.assertEqual(names, set(), "described and never sent")
        self.assertEqual(fields, ALWAYS_EMPTY, "described and never sent with a value")


if __name__ == "__main__":
    unittest.main()
