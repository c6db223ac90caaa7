"""A cell for which no kernel can be started runs once in an interpreter of its own, is told why, and never runs again."""

import signal
import sys
import unittest

from holdfast_test import processes
from holdfast_test.cases import DaemonCase
from holdfast_test.client import RpcError
from holdfast_test.waiting import stays_true, wait_until

WAITS = "import time\nprint('on', flush=True)\ntime.sleep(600)"


class FallbackCase(DaemonCase):
    """`self.python` runs what it is told, but no nursery before `mend()`."""

    def setUp(self):
        super().setUp()
        self.mended = self.daemon.directory / "mended"
        self.effects = self.daemon.directory / "effects"
        refuse = "{ echo no nursery >&2; exit 9; }"
        self.python = self.interpreter("python", f'case "$1" in *nursery.py) [ -e {self.mended} ] || {refuse};; esac')

    def interpreter(self, name, lines):
        path = self.daemon.directory / name
        path.write_text(f'#!/bin/sh\n{lines}\nexec {sys.executable} "$@"\n')
        path.chmod(0o755)
        return str(path)

    def mend(self):
        self.mended.touch()

    def run_alone(self, code, **params):
        """The result of a cell that ran without a kernel."""
        result = self.daemon.run(code, python=self.python, **params)
        self.assert_alone(result)
        return result

    def assert_alone(self, result):
        self.assertEqual((result["fallback"], result["kernel"]), ("per_call", None), result)

    def start_alone(self, code=WAITS, cell="c1", **params):
        """The client and the pending call of a cell that has written `on`."""
        client, pending = self.daemon.start_cell(code, cell, python=self.python, **params)
        client.wait_streamed(cell, "on")
        return client, pending

    def interpreters(self):
        """What this home's daemons started and is neither a daemon nor one of its nurseries."""
        return [one for one in self.daemon.processes() if self.daemon.process is None or one.pid != self.daemon.pid]

    def wait_no_process(self):
        wait_until(lambda: not self.interpreters(), "the end of all that the cell started")

    def count(self, effect="ran"):
        return self.effects.read_text().split().count(effect) if self.effects.exists() else 0

    def leave(self, effect="ran"):
        return f"open({str(self.effects)!r}, 'a').write('{effect} ')\n"

    def refusal(self, **params):
        with self.assertRaises(RpcError) as caught:
            self.daemon.run(**{"code": self.leave(), "cell": "c1", "python": self.python, **params})
        return caught.exception


class FallbackTest(FallbackCase):
    def test_value_output_error_exit_and_await_are_as_in_a_kernel(self):
        result = self.run_alone("import sys\nprint('out')\nprint('err', file=sys.stderr)\n6 * 7")
        self.assert_ok(result, "42")
        self.assertEqual((result["stdout"], result["stderr"]), ("out\n", "err\n"))
        self.assert_ok(self.run_alone("import asyncio\nawait asyncio.sleep(0)\nasync def f(): return [1]\nawait f()"), "[1]")
        self.assertIsNone(self.run_alone("x = 1")["value"])

        failed = self.run_alone("def f():\n    return 1 / 0\nf()")
        self.assertEqual((failed["status"], failed["error"]["name"]), ("error", "ZeroDivisionError"))
        self.assertIn('line 2, in f\n    return 1 / 0', failed["error"]["traceback"])
        self.assertNotIn("<string>", failed["error"]["traceback"])
        self.assertEqual(self.run_alone("1 +")["error"]["name"], "SyntaxError")

        ended = self.run_alone("raise SystemExit(3)")
        self.assertEqual((ended["status"], ended["exit_code"]), ("exit", 3))
        said = self.run_alone("import sys\nsys.exit('why')")
        self.assertEqual((said["status"], said["exit_code"], said["error"]["message"]), ("exit", 1, "why"))

    def test_it_is_told_why_once_and_in_its_text_and_in_an_event(self):
        listener = self.daemon.connect()
        listener.call("event.subscribe", since=0)

        result = self.run_alone("1", cell="c1", text_limit=2000)

        self.assertEqual(self.notice_kinds(result), ["fallback"])
        text = result["notices"][0]["text"]
        for part in ("cell c1", "exit code 9: no nursery", "variables"):
            self.assertIn(part, text)
        self.assertEqual(result["notices"][0]["details"]["cells"], ["c1"])
        self.assertIn("[fallback: cell c1 ran without a kernel", result["text"])
        event = listener.wait_notification("event", kind="fallback")
        self.assertEqual(event["details"]["cell"], "c1")
        self.assertIn("no nursery", event["details"]["reason"])
        self.assertEqual(self.daemon.call("notice.list")["items"], [])
        self.assertEqual(self.notice_kinds(self.daemon.run("1", python=self.python, cell="c1")), ["fallback"], "a replay tells it again")

    def test_the_end_of_one_that_nobody_waited_for_is_told(self):
        self.daemon.run("import time\ntime.sleep(0.2)", cell="alone", wait_ms=0, python=self.python)
        told = lambda: [notice["kind"] for notice in self.daemon.call("notice.list")["items"]]

        wait_until(lambda: told() == ["cell_finished"], "its notice")

    def test_nothing_is_kept_between_two_and_a_mended_start_has_a_kernel_again(self):
        self.run_alone("x = 41")
        self.assertEqual(self.run_alone("x")["error"]["name"], "NameError")
        self.assertEqual(self.daemon.kernels(), [])

        self.mend()

        result = self.daemon.run("x = 1\nx", python=self.python)
        self.assert_ok(result, "1")
        self.assertEqual((result["fallback"], result["kernel"]["reason"]), (None, "first"))
        self.assert_ok(self.daemon.run("x + 1"), "2")

    def test_cwd_and_env_are_the_session_s_also_for_its_next_cell(self):
        code = "import os\nos.getcwd(), os.environ['A'], os.environ.get('HOLDFAST_HOME')"
        where = str(self.daemon.scratch)

        first = self.run_alone(code, cwd=where, env={"A": "1"})

        self.assert_ok(first, repr((where, "1", None)))
        again = self.daemon.run(code)
        self.assert_alone(again)
        self.assert_ok(again, repr((where, "1", None)))

    def test_the_same_id_is_replayed_and_runs_once(self):
        code = self.leave() + "print('once')"
        self.run_alone(code, cell="c1")

        again = self.daemon.run(code, cell="c1", python=self.python)

        self.assertEqual((again["replayed"], again["stdout"]), (True, "once\n"))
        self.mend()
        self.assertTrue(self.daemon.run(code, cell="c1")["replayed"])
        self.assertEqual(self.count(), 1)
        with self.assertRaises(RpcError) as caught:
            self.daemon.run("other", cell="c1")
        self.assertEqual(caught.exception.code, 1002)

    def test_where_nothing_runs_it_is_refused_as_ever_and_the_id_is_free(self):
        broken = self.interpreter("broken", f"[ -e {self.mended} ] || exit 7")
        for python in (broken, "/bin/false", "/no/such/python"):
            with self.subTest(python=python):
                problem = self.refusal(python=python)
                self.assertEqual((problem.code, problem.data["kind"]), (1007, "start_failed"), problem)
        wait_until(lambda: self.daemon.call("session.list")["items"] == [], "nothing kept of a session in which nothing ran")

        self.mend()

        self.assert_ok(self.daemon.run(self.leave() + "1", cell="c1", python=broken), "1")
        self.assertEqual(self.count(), 1)

    def test_output_in_turn_keeps_its_order(self):
        code = "import sys\nfor i in range(300):\n    print(i, end=' ')\n    print(-i, end=' ', file=sys.stderr)"

        self.run_alone(code, cell="c1")

        chunks = self.daemon.call("cell.output", cell="c1")["chunks"]
        self.assertEqual("".join(chunk["text"] for chunk in chunks), "".join(f"{i} {-i} " for i in range(300)))

    def test_odd_text_arrives_whole(self):
        code = (
            "import os, time\nprint('\\ud800')\nos.write(1, 'ä'.encode()[:1])\ntime.sleep(0.1)\nos.write(1, 'ä'.encode()[1:])\n"
            "os.write(1, b'\\xff')\n'\\ud800'"
        )

        result = self.run_alone(code)

        self.assertEqual(result["stdout"], "\\ud800\nä\ufffd")
        self.assertEqual((result["value"], result["stdout_bytes"]), ("'\\ud800'", 12))

    def test_a_flood_is_bounded_and_counted(self):
        size = 20 << 20
        code = f"import sys\nline = 'x' * 1023 + '\\n'\nfor _ in range({size >> 10}): sys.stdout.write(line)\nprint('the end')"

        result = self.run_alone(code, cell="c1", seconds=120)

        self.assertEqual((result["stdout_bytes"], result["stdout_truncated"]), (size + 8, True))
        self.assertTrue(result["stdout"].startswith("xxx") and result["stdout"].endswith("x\nthe end\n"))
        files = sum(path.stat().st_size for path in (self.daemon.home / "output").glob("*/*"))
        self.assertLess(files, 18 << 20)
        page = self.daemon.call("cell.output", cell="c1", offset=size)
        self.assertEqual((page["total_bytes"], page["final"]), (size + 8, True))

    def test_its_processes_go_with_it_and_hold_nothing_up(self):
        result = self.run_alone("import subprocess\np = subprocess.Popen(['sleep', '600'])\n1")

        self.assert_ok(result, "1")
        self.wait_no_process()

    def test_one_that_dies_is_lost_with_its_cause_and_its_output(self):
        died = self.run_alone("import os, signal\nprint('before')\nos.kill(os.getpid(), signal.SIGKILL)", text_limit=2000)
        self.assertEqual((died["status"], died["stdout"]), ("lost", "before\n"), died)
        self.assertEqual((died["death"]["cause"], died["death"]["signal"]), ("signal", "SIGKILL"))
        self.assertIn("interpreter of this cell killed by SIGKILL", died["text"])
        exited = self.run_alone("import os\nos._exit(5)")
        self.assertEqual((exited["status"], exited["death"]["cause"], exited["death"]["exit_code"]), ("lost", "exit", 5))

    def test_queued_cells_run_in_order_and_each_alone(self):
        client, first = self.start_alone(f"print('on')\n{self.leave('1')}import time\ntime.sleep(0.3)\n{self.leave('1')}")
        others = [client.send("run", code=self.leave(str(i)), cell=f"c{i}") for i in (2, 3)]

        for pending in [first, *others]:
            self.assert_alone(pending.result())

        self.assertEqual(self.effects.read_text(), "1 1 2 3 ")

    def test_cells_of_a_kernel_are_waited_for(self):
        gate = f"import os, time\nwhile not os.path.exists({str(self.mended)!r} + '.go'): time.sleep(0.01)\n"
        code = gate + self.leave("kernel")
        client, running = self.daemon.start_cell(code, "c1")

        alone = client.send("run", code=self.leave("alone"), cell="c2", python=self.python)
        wait_until(lambda: "start-failed" in self.daemon.log(), "the failed start")
        stays_true(lambda: self.count("alone") == 0, 0.3, "the cell of the kernel is the first")
        (self.daemon.directory / "mended.go").touch()

        self.assert_ok(running.result())
        self.assert_alone(alone.result())
        self.assertEqual(self.effects.read_text(), "kernel alone ")


class EndsTest(FallbackCase):
    """How one is ended in the midst of it."""

    environment = {"HOLDFAST_INTERRUPT_GRACE_SECONDS": "1"}
    stubborn = "import time\nprint('on', flush=True)\nwhile True:\n    try:\n        time.sleep(600)\n    except BaseException:\n        pass"

    def test_a_deadline_is_a_timeout_with_the_output_and_the_place(self):
        result = self.run_alone(WAITS, timeout_ms=300)

        self.assertEqual((result["status"], result["stdout"]), ("timeout", "on\n"), result)
        self.assertEqual(result["error"]["message"], "the cell ran longer than its timeout")
        self.assertIn("line 3", result["error"]["traceback"])
        self.wait_no_process()

    def test_one_that_swallows_its_deadline_is_killed(self):
        result = self.run_alone(self.stubborn, timeout_ms=300)

        self.assertEqual((result["status"], result["stdout"], result["death"]), ("timeout", "on\n", None), result)
        self.assertIn("killed", result["error"]["message"])

    def test_an_interrupt_ends_it(self):
        for number, code in enumerate((WAITS, self.stubborn, "import asyncio\nprint('on', flush=True)\nawait asyncio.sleep(600)")):
            with self.subTest(code=code):
                client, pending = self.start_alone(code, f"c{number}")

                answer = self.daemon.call("cell.interrupt")

                self.assertEqual((answer["status"], answer["stdout"]), ("interrupted", "on\n"), answer)
                self.assert_alone(answer)
                self.assertEqual(pending.result()["status"], "interrupted")
        self.wait_no_process()

    def test_a_reset_ends_it_first(self):
        _, pending = self.start_alone(self.stubborn)

        self.daemon.call("session.reset")

        self.assertEqual(pending.result()["status"], "interrupted")
        self.assertEqual(self.interpreters(), [])

    def test_a_close_ends_it(self):
        _, pending = self.start_alone(self.stubborn)

        self.daemon.call("session.close")

        self.assertEqual(pending.result()["status"], "interrupted")
        self.assertEqual(self.daemon.call("session.list")["items"], [])
        self.assertEqual(self.interpreters(), [])

    def test_a_shutdown_ends_and_records_it(self):
        for kernels in (False, True):
            with self.subTest(kernels=kernels):
                cell = f"c{kernels}"
                _, pending = self.start_alone(self.stubborn, cell)

                with self.daemon.connect() as client:
                    client.call("shutdown", kernels=kernels)
                self.daemon.wait_ended()

                self.assertEqual(pending.result()["status"], "interrupted")
                self.assertEqual(self.interpreters(), [])
                self.daemon.start()
                self.assertEqual(self.daemon.call("cell.get", cell=cell)["status"], "interrupted")

    def test_a_killed_daemon_takes_it_along_and_it_is_lost_once(self):
        code = "import subprocess\np = subprocess.Popen(['sleep', '600'])\n" + self.leave() + self.stubborn
        self.start_alone(code)

        self.daemon.kill()

        self.wait_no_process()
        self.daemon.start()
        result = self.daemon.call("cell.get", cell="c1")
        self.assertEqual((result["status"], result["final"], result["stdout"]), ("lost", True, "on\n"), result)
        self.assert_alone(result)
        self.assertEqual(self.daemon.run(code, cell="c1", python=self.python)["status"], "lost")
        self.assertEqual(self.count(), 1)
        self.assertEqual(self.notice_kinds(self.run_alone("1", cell="c2")), ["fallback", "fallback"], "that of the lost one is told, too")

    def test_it_shows_as_busy_while_it_runs(self):
        client, pending = self.start_alone()

        row = self.daemon.call("session.get")
        current = self.daemon.call("cell.get", cell="c1")

        self.assertEqual((row["state"], row["cell"], row["queued"], row["kernels"]), ("busy", "c1", 0, []), row)
        self.assertEqual((current["status"], current["fallback"]), ("running", "per_call"))
        self.daemon.call("cell.interrupt")
        pending.result()


class RefusedTest(FallbackCase):
    environment = {"HOLDFAST_FALLBACK": "error"}

    def test_with_fallback_error_nothing_runs(self):
        self.assertEqual(self.refusal().code, 1007)
        self.assertEqual(self.count(), 0)
        wait_until(lambda: self.daemon.call("session.list")["items"] == [], "nothing kept of a session in which nothing ran")


class StrictTest(FallbackCase):
    environment = {"HOLDFAST_DURABILITY": "strict"}

    def test_with_strict_durability_it_runs_once_its_id_is_synced(self):
        result = self.run_alone("print('ran')\n1", cell="c1")

        self.assert_ok(result, "1")
        self.assertEqual(self.notice_kinds(result), ["fallback"])


class CrashTest(FallbackCase):
    def test_a_daemon_that_dies_at_any_step_of_it_runs_it_at_most_once(self):
        expected = {
            "core.before_accept_recorded": (None, 0),
            "core.after_accept_recorded": ("lost", 0),
            "core.before_result_recorded": ("lost", 1),
            "core.after_result_recorded": ("ok", 1),
        }
        for name, (status, runs) in expected.items():
            with self.subTest(failpoint=name):
                session, cell = name, "c1"
                self.daemon.restart(HOLDFAST_FAILPOINTS=f"{name}=kill")
                with self.daemon.connect() as client:
                    client.send("run", session=session, code=self.leave(name), cell=cell, python=self.python)
                    self.assertEqual(self.daemon.wait_ended(), -signal.SIGKILL)
                self.wait_no_process()
                self.daemon.start()
                self.assertEqual(self.count(name), runs)
                if status is None:
                    with self.assertRaises(RpcError):
                        self.daemon.call("cell.get", session=session, cell=cell)
                else:
                    self.assertEqual(self.daemon.call("cell.get", session=session, cell=cell)["status"], status)
                result = self.daemon.run(self.leave(name), session=session, cell=cell, python=self.python)
                self.assertEqual(self.count(name), max(runs, status is None), result)


if __name__ == "__main__":
    unittest.main()
