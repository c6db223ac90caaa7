"""A workspace with its own, changed copy of the kernel's program, or with modules of the library's names, changes nothing at a restart."""

import shutil
import unittest

from holdfast_test import processes
from holdfast_test.cases import DaemonCase
from holdfast_test.daemon import REPOSITORY
from holdfast_test.waiting import wait_until

BROKEN = "raise RuntimeError('this is not the program')\n"
SHADOWED = ("json", "socket", "struct", "selectors", "pickle", "asyncio", "zlib", "hmac")


class ProgramCopiesTest(DaemonCase):
    def setUp(self):
        super().setUp()
        self.workspace = self.daemon.directory / "workspace"
        shutil.copytree(REPOSITORY / "bin" / "kernel", self.workspace, ignore=shutil.ignore_patterns("__pycache__"))
        for path in self.workspace.glob("holdfast_kernel/*.py"):
            path.write_text(BROKEN)
        (self.workspace / "nursery.py").write_text(BROKEN)
        for name in SHADOWED:
            (self.workspace / f"{name}.py").write_text(BROKEN)

    def assert_reattached(self, result, first, value):
        self.assert_ok(result, value)
        self.assertEqual((result["kernel"]["pid"], result["kernel"]["state_lost"]), (first["kernel"]["pid"], False))
        self.assertNotIn("state_lost", self.notice_kinds(result))
        self.assertNotIn("restarted", self.notice_kinds(result))

    def survives(self, **params):
        first = self.daemon.run("survivor = 41", cwd=str(self.workspace), **params)
        self.assert_ok(first)
        for number, crash in enumerate((False, True)):
            with self.subTest(crash=crash):
                self.daemon.restart(crash=crash)
                self.assert_reattached(self.daemon.run("survivor += 1\nsurvivor"), first, str(42 + number))

    def test_as_the_working_directory(self):
        self.survives()

    def test_in_the_working_directory_and_on_the_path_of_a_cell(self):
        self.daemon.run(f"import sys\nsys.path.insert(0, {str(self.workspace)!r})", cwd=str(self.workspace))

        self.survives()

    def test_a_running_cell_and_a_job_in_it_are_delivered_after_the_restart(self):
        gate = self.daemon.directory / "gate"
        first = self.daemon.run("import os, time", cwd=str(self.workspace))
        code = f"job = run('true')\nprint('on', flush=True)\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.01)\nawait job"
        client, _ = self.daemon.start_cell(code + "\njob.exit_code", "gated")
        client.wait_streamed("gated", "on")
        self.daemon.restart(crash=True)
        gate.touch()

        self.assert_reattached(self.daemon.call("cell.wait", cell="gated"), first, "0")

    def test_the_namespace_is_saved_and_restored_there(self):
        self.daemon.run("survivor = 41\ndef plus(): return survivor + 1", cwd=str(self.workspace))
        self.daemon.call("kernel.stop", kernel=self.daemon.kernels()[0]["kernel"])
        self.daemon.restart(crash=True)

        result = self.daemon.run("plus()")

        self.assert_ok(result, "42")
        self.assertTrue(result["kernel"]["restored"], result["kernel"])

    def test_a_kernel_that_ends_at_its_grace_there_saves_and_is_found(self):
        self.daemon.restart(HOLDFAST_GRACE_SECONDS="0.5")
        self.daemon.run("survivor = 41", cwd=str(self.workspace))
        kernel = self.daemon.kernel_identities()[0]
        self.daemon.kill()
        processes.wait_gone(kernel)
        self.daemon.start()

        self.assert_ok(self.daemon.run("survivor"), "41")

    def test_a_daemon_started_in_it_attaches_too(self):
        first = self.daemon.run("survivor = 41", cwd=str(self.workspace))
        self.daemon.kill()
        command = self.daemon.start_command("--home", str(self.daemon.home), "serve", cwd=self.workspace,
                                            environment={"PYTHONPATH": str(self.workspace)})  # fmt: skip
        self.addCleanup(lambda: (command.kill(), command.communicate()))
        wait_until(self.daemon.serving, "the daemon's first answer", 20)

        self.assert_reattached(self.daemon.run("survivor"), first, "41")


if __name__ == "__main__":
    unittest.main()
