"""A daemon that is started otherwise than the one before has its kernels: from another shell, by a parent that adopts, adopting itself."""

import ctypes
import os
import signal
import subprocess
import sys
import unittest

from holdfast_test import processes
from holdfast_test.cases import DaemonCase
from holdfast_test.daemon import binary
from holdfast_test.waiting import wait_until

PR_SET_CHILD_SUBREAPER = 36


class OtherParentTest(DaemonCase):
    def assert_kept(self, first):
        result = self.daemon.run("x += 1\nx")
        self.assert_ok(result, "42")
        self.assertEqual((result["kernel"]["pid"], result["kernel"]["state_lost"]), (first["kernel"]["pid"], False))
        self.assertEqual(self.notice_kinds(result), ["reattached"])

    def test_one_of_another_shell_directory_and_environment_has_the_kernels(self):
        first = self.daemon.run("x = 41")
        self.daemon.kill()

        def another_shell():
            os.setsid()
            os.chdir("/")
            os.umask(0o027)
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGCHLD, signal.SIGINT})
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)

        self.daemon.before_exec = another_shell
        self.daemon.start(HOME="/nonexistent", LANG="C", PYTHONHOME="/nonexistent", PYTHONPATH="/nonexistent", SHELL="/bin/false")

        self.assert_kept(first)
        dead = self.daemon.run("import os\nos.kill(os.getpid(), 9)")
        self.assertEqual((dead["status"], dead["death"]["signal"]), ("lost", "SIGKILL"), dead)

    def test_one_that_adopts_processes_has_the_kernels_and_leaves_no_zombie(self):
        self.daemon.kill()
        self.daemon.before_exec = lambda: ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.daemon.start()
        first = self.daemon.run("x = 41")
        self.daemon.restart(crash=True)
        self.assert_kept(first)

        self.daemon.run("1", session="other", env={"PYTHONHASHSEED": "7"})  # a nursery that is this daemon's own child
        nurseries = self.daemon.nurseries()
        self.assertEqual(len(nurseries), 2)
        dead = self.daemon.run("import os\nos.kill(os.getpid(), 9)", session="other")
        self.assertEqual((dead["status"], dead["death"]["signal"]), ("lost", "SIGKILL"), dead)
        processes.end_all(nurseries)

        def zombies():
            children = [pid for pid in processes.all_pids() if processes.parent_of(pid) == self.daemon.pid]
            return [pid for pid in children if not processes.is_alive(processes.identify(pid) or nurseries[0])]

        wait_until(lambda: not zombies(), "no zombie of the daemon's")
        self.assert_ok(self.daemon.run("x"), "42")

    def test_one_whose_parent_adopts_what_it_leaves_has_the_kernels(self):
        parent = (
            "import ctypes, signal, subprocess, sys\nctypes.CDLL(None).prctl(36, 1, 0, 0, 0)\n"
            "print(subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid, flush=True)\nsignal.pause()"
        )
        self.daemon.kill()
        with subprocess.Popen(
            [sys.executable, "-c", parent, binary(), "--home", str(self.daemon.home), "serve"],
            env=self.daemon.clean_environment(), stdout=subprocess.PIPE, text=True,
        ) as adopting:  # fmt: skip
            served = processes.identify(int(adopting.stdout.readline()))
            wait_until(lambda: self.daemon.serving() == served, "the daemon's first answer", 20)
            first = self.daemon.run("x = 41")
            processes.end_all([served])
            adopting.kill()

        self.daemon.start()

        self.assert_kept(first)


if __name__ == "__main__":
    unittest.main()
