"""A daemon in another pid namespace than the one before, and numbers that innocent processes have taken: right or not known."""

import signal
import unittest

from holdfast_test import processes
from holdfast_test.cases import DaemonCase
from holdfast_test.daemon import binary
from holdfast_test.pid_namespace import PidNamespace
from holdfast_test.waiting import stays_true, wait_until


class PidNamespaceCase(DaemonCase):
    """Daemons within the namespace and outside of it, one after the other, on one home."""

    environment = {"HOLDFAST_HELLO_DEADLINE_SECONDS": "0.3"}

    def setUp(self):
        self.daemon = self.make_daemon()
        self.namespace = PidNamespace()
        self.addCleanup(self.namespace.end)

    def serve_inside(self, **extra):
        """Its number there."""
        argv = [binary(), "--home", str(self.daemon.home), "serve"]
        environment = self.daemon.clean_environment(extra)
        pid = self.namespace.start(argv, environment, self.daemon.directory, self.daemon.directory / "daemon.out")

        def answers():
            try:
                return self.daemon.call("status")["pid"] == pid
            except OSError:
                return False

        wait_until(answers, "the first answer of the daemon in the namespace", 20)
        return pid

    def kill_inside(self, pid):
        outside = processes.identify(self.namespace.pid_outside(pid))
        self.namespace.kill(pid, signal.SIGKILL)
        processes.wait_gone(outside)

    def states(self):
        return {row["session"]: row["state"] for row in self.daemon.kernels()}


class OtherPidNamespaceTest(PidNamespaceCase):
    def test_one_inside_attaches_the_kernels_outside_by_their_sockets(self):
        self.daemon.start()
        first = self.daemon.run("import os, time\nx = 41\njob = run('sleep', '600')")
        kernel = self.daemon.kernel_identities()[0]
        gate = self.daemon.directory / "gate"
        code = f"print('on', flush=True)\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.01)\nx"
        client, _ = self.daemon.start_cell(code, "gated")
        client.wait_streamed("gated", "on")
        self.daemon.kill()

        inside = self.serve_inside()
        gate.touch()

        self.assert_ok(self.daemon.call("cell.wait", cell="gated"), "41")
        after = self.daemon.run("x += 1\n(x, os.getpid())")
        self.assert_ok(after, f"(42, {first['kernel']['pid']})")
        self.assertFalse(after["kernel"]["state_lost"])
        self.assertEqual([row["state"] for row in self.daemon.call("job.list")["items"]], ["running"])
        self.kill_inside(inside)
        self.assertTrue(processes.is_alive(kernel))
        self.daemon.start()
        self.assert_ok(self.daemon.run("x"), "42")

    def test_one_outside_attaches_the_kernels_inside_by_their_sockets(self):
        inside = self.serve_inside()
        first = self.daemon.run("import os\nx = 41\nos.getpid()")
        self.kill_inside(inside)

        self.daemon.start()

        after = self.daemon.run("x += 1\n(x, os.getpid())")
        self.assert_ok(after, f"(42, {first['value']})")
        self.assertFalse(after["kernel"]["state_lost"])

    def test_one_that_is_stopped_and_cannot_be_looked_at_is_unreachable_and_attached_later(self):
        self.daemon.start()
        self.daemon.run("x = 41")
        kernel = self.daemon.kernel_identities()[0]
        self.daemon.kill()
        processes.send_signal(kernel, signal.SIGSTOP)

        self.serve_inside()

        wait_until(lambda: self.states() == {"default": "unreachable"}, "an unreachable kernel")
        processes.send_signal(kernel, signal.SIGCONT)
        result = self.daemon.run("x")
        self.assert_ok(result, "41")
        self.assertEqual(self.notice_kinds(result), ["reattached"])

    def test_one_that_died_unseen_is_unreachable_and_not_declared_dead(self):
        self.daemon.start()
        client, _ = self.daemon.start_cell("import time\nprint('on', flush=True)\ntime.sleep(600)", "long")
        client.wait_streamed("long", "on")
        kernels, nurseries = self.daemon.kernel_identities(), self.daemon.nurseries()
        self.daemon.kill()
        processes.end_all([*nurseries, *kernels])

        inside = self.serve_inside()

        wait_until(lambda: self.states() == {"default": "unreachable"}, "an unreachable kernel")
        self.assertEqual(self.daemon.call("cell.get", cell="long")["status"], "running")
        self.kill_inside(inside)
        self.daemon.start()  # here it can be known
        self.assertEqual(self.daemon.call("cell.wait", cell="long")["status"], "lost")

    def test_kernels_that_a_nursery_outside_starts_for_one_inside_are_not_taken_for_dead(self):
        self.daemon.start()
        self.daemon.run("x = 41")
        nurseries = self.daemon.nurseries()
        self.daemon.kill()
        inside = self.serve_inside()
        self.assert_ok(self.daemon.run("x"), "41")

        fresh = self.daemon.run("import os\ny = 1\nos.getpid()", session="fresh")
        self.daemon.call("session.fork", into="forked")

        self.assert_ok(fresh)
        self.assertEqual(processes.parent_of(int(fresh["value"])), nurseries[0].pid)
        self.assert_ok(self.daemon.run("x", session="forked"), "41")
        self.assertEqual(self.states(), {"default": "idle", "fresh": "idle", "forked": "idle"})
        self.kill_inside(inside)
        self.daemon.start()
        for session, name in (("default", "x"), ("fresh", "y"), ("forked", "x")):
            after = self.daemon.run(name, session=session)
            self.assert_ok(after)
            self.assertFalse(after["kernel"]["state_lost"])
        self.daemon.call("kernel.stop", kernel=fresh["kernel"]["id"])
        self.assertIsNone(processes.identify(int(fresh["value"])))

    def test_a_reset_signals_nothing_under_its_number_and_ends_it_when_it_answers(self):
        inside = self.serve_inside()
        number = int(self.daemon.run("import os\nx = 1\nos.getpid()")["value"])
        kernel = processes.identify(self.namespace.pid_outside(number))
        self.kill_inside(inside)
        processes.send_signal(kernel, signal.SIGSTOP)
        self.namespace = PidNamespace()
        self.addCleanup(self.namespace.end)
        innocent = processes.identify(self.namespace.pid_outside(self.namespace.start_as(number, ["sleep", "600"])))
        self.serve_inside(HOLDFAST_ATTACH_BUDGET_SECONDS="8")
        wait_until(lambda: self.states() == {"default": "unreachable"}, "an unreachable kernel")

        pending = self.daemon.connect().send("session.reset")

        stays_true(lambda: processes.is_alive(innocent) and processes.is_alive(kernel), 1.0, "neither is signalled")
        processes.send_signal(kernel, signal.SIGCONT)
        processes.wait_gone(kernel, 20)
        self.assertTrue(processes.is_alive(innocent))
        pending.result(30)  # its end cannot be seen from here: it is given up
        fresh = self.daemon.run("'x' in globals()")
        self.assert_ok(fresh, "False")
        self.assertTrue(processes.is_alive(innocent))


class ReusedNumbersTest(PidNamespaceCase):
    def test_innocent_processes_under_the_numbers_of_a_dead_kernel_its_job_and_its_nursery_are_not_signalled(self):
        inside = self.serve_inside()
        self.daemon.run("import os, time\njob = run('sleep', '600')")
        client, _ = self.daemon.start_cell("print('on', flush=True)\ntime.sleep(600)", "long")
        client.wait_streamed("long", "on")
        job, kernel = self.daemon.call("job.list")["items"][0]["pid"], self.daemon.kernels()[0]["pid"]
        nurseries = self.daemon.nurseries()
        numbers = [job, kernel, *(self.number_inside(each) for each in nurseries)]
        ended = [processes.identify(self.namespace.pid_outside(number)) for number in numbers]
        self.kill_inside(inside)
        processes.end_all(reversed(ended))  # the nursery first: nobody writes down how the others ended
        for number in numbers:
            wait_until(lambda: self.namespace.pid_outside(number) is None, f"the number {number} to be free")
        taken = [self.namespace.start_as(number, ["sleep", "600"]) for number in numbers]
        innocents = [processes.identify(self.namespace.pid_outside(number)) for number in taken]
        self.assertEqual(len(set(innocents)), 3)

        inside = self.serve_inside()

        lost = self.daemon.call("cell.wait", cell="long")
        self.assertEqual((lost["status"], lost["death"]["cause"]), ("lost", "unknown"), lost)
        after = self.daemon.run("'job' in globals()")
        self.assert_ok(after, "False")
        self.daemon.call("session.reset")
        self.daemon.call("owner.close", owner="default")
        self.assertTrue(all(map(processes.is_alive, innocents)))
        self.daemon.call("shutdown", kernels=True)
        wait_until(lambda: self.namespace.pid_outside(inside) is None, "the end of the daemon")
        self.assertTrue(all(map(processes.is_alive, innocents)))

    def test_one_that_takes_the_number_of_a_kept_job_is_not_taken_for_it(self):
        inside = self.serve_inside()
        self.daemon.run("job = run('sleep', '600', keep=True)")
        row = self.daemon.call("job.list")["items"][0]
        job = processes.identify(self.namespace.pid_outside(row["pid"]))
        kernel = processes.identify(self.namespace.pid_outside(self.daemon.kernels()[0]["pid"]))
        self.kill_inside(inside)
        processes.end_all([kernel, job])
        wait_until(lambda: self.namespace.pid_outside(row["pid"]) is None, "the number to be free")
        innocent = processes.identify(self.namespace.pid_outside(self.namespace.start_as(row["pid"], ["sleep", "600"])))
        self.serve_inside()

        wait_until(lambda: self.daemon.call("job.list")["items"][0]["state"] != "running", "the end of the job to be known")
        self.daemon.call("job.stop", job=row["job"])

        self.daemon.call("session.close")
        self.assertTrue(processes.is_alive(innocent))

    @staticmethod
    def number_inside(identity):
        with open(f"/proc/{identity.pid}/status") as status:
            return int(next(line for line in status if line.startswith("NSpid:")).split()[-1])


if __name__ == "__main__":
    unittest.main()
