"""Processes that a cell starts, and however it starts them: one result of the cell, in time, and the session goes on."""

import ast
import time
import unittest

from holdfast_test import processes
from holdfast_test.cases import SharedDaemonCase
from holdfast_test.waiting import wait_until

SOON_MS = 5000  # "at once" on a loaded machine


class ProcessesCase(SharedDaemonCase):
    def assert_goes_on(self, result):
        """The next cell runs in the same kernel, and there is one kernel."""
        after = self.run_cell("print('next'); 1")
        self.assert_ok(after, "1")
        self.assertIn("next\n", after["stdout"])
        self.assertEqual(after["kernel"]["id"], result["kernel"]["id"])
        self.assertEqual(len(self.daemon.kernels(session=self.session)), 1)


class LeftRunningTest(ProcessesCase):
    def test_a_process_that_holds_stdout_by_any_way_of_starting_it_does_not_hold_its_cell(self):
        ways = (
            "import subprocess\np = subprocess.Popen(['sleep', '600'])",
            "import subprocess, sys\np = subprocess.Popen(['sleep', '600'], stdout=sys.stdout, stderr=subprocess.STDOUT)",
            "import subprocess\np = subprocess.Popen('sleep 600 & sleep 600', shell=True, start_new_session=True)",
            "import os\nos.system('sleep 600 &')",
            "!sleep 600 &",
            "import os\nif os.fork() == 0: os.execvp('sleep', ['sleep', '600'])",
            "import os\nos.posix_spawnp('sleep', ['sleep', '600'], os.environ)",
            "import os, time\nif os.fork() == 0:\n    if os.fork() == 0: time.sleep(600)\n    os._exit(0)",
            "import asyncio\np = await asyncio.create_subprocess_exec('sleep', '600')",
            "import multiprocessing, time\np = multiprocessing.Process(target=time.sleep, args=(600,)); p.start()",
        )
        for code in ways:
            with self.subTest(code):
                result = self.run_cell(code + "\nprint('started')\n7")

                self.assert_ok(result, "7")
                self.assertIn("started\n", result["stdout"])
                self.assertLess(result["duration_ms"], SOON_MS)
                self.assert_goes_on(result)
        kernel = self.daemon.kernels(session=self.session)[0]
        self.assertGreaterEqual(len(processes.descendants(kernel["pid"])), 6)  # the others' parents have ended

    def test_children_that_flood_both_streams_side_by_side_are_captured_to_the_byte(self):
        code = (
            "import subprocess, sys\n"
            "child = 'import sys\\nfor _ in range(5000): sys.stdout.write(\"o\" * 49 + chr(10)); sys.stderr.write(\"e\" * 49 + chr(10))'\n"
            "started = [subprocess.Popen([sys.executable, '-c', child]) for _ in range(4)]\n"
            "[each.wait() for each in started]"
        )

        result = self.run_cell(code)

        self.assert_ok(result, "[0, 0, 0, 0]")
        self.assertEqual((result["stdout_bytes"], result["stderr_bytes"]), (1_000_000, 1_000_000))

    def test_a_flooding_child_whose_output_the_cell_takes_is_taken_whole(self):
        flood = "import sys; [(sys.stdout.write(\"o\" * 999 + chr(10)), sys.stderr.write(\"e\" * 999 + chr(10))) for _ in range(2000)]"
        ways = (
            f"import subprocess, sys\nr = subprocess.run([sys.executable, '-c', {flood!r}], capture_output=True)\n"
            "len(r.stdout), len(r.stderr)",
            f"import asyncio, sys\np = await asyncio.create_subprocess_exec(sys.executable, '-c', {flood!r}, stdout=-1, stderr=-1)\n"
            "[len(each) for each in await p.communicate()]",
        )
        for code in ways:
            with self.subTest(code):
                result = self.run_cell(code)
                self.assertEqual(list(ast.literal_eval(result["value"])), [2_000_000, 2_000_000], result)
                self.assertEqual((result["stdout"], result["stderr"]), ("", ""))


class WaitingForInputTest(ProcessesCase):
    def test_a_child_that_would_read_gets_the_end_of_its_input_or_ends_at_the_deadline(self):
        ways = (
            "import subprocess\nsubprocess.run('read x', shell=True, capture_output=True)",
            "import subprocess\nsubprocess.run(['cat'])",
            "import subprocess\nsubprocess.check_output(['cat'], stderr=subprocess.STDOUT)",
            "import os\nos.system('read x')",
            "import os\nos.popen('cat').read()",
            "!cat",
            "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'input()'], capture_output=True)",
            "import asyncio\np = await asyncio.create_subprocess_shell('read x')\nawait p.wait()",
            "import subprocess\np = subprocess.Popen('read x', shell=True, stdin=subprocess.PIPE)\np.wait()",
            "import subprocess\nsubprocess.run('read x < /dev/tty', shell=True, capture_output=True)",
        )
        for number, code in enumerate(ways):
            with self.subTest(code):
                began = time.monotonic()
                running = self.start_cell(code, f"c{number}", timeout_ms=1500)
                following = self.start_cell("'moved on'", f"f{number}")

                result = running.result()

                self.assertIn(result["status"], ("ok", "error", "timeout"), result)
                self.assertLess((time.monotonic() - began) * 1000, 1500 + SOON_MS)
                self.assert_ok(following.result(), "'moved on'")
                self.assertEqual(following.result()["kernel"]["id"], result["kernel"]["id"])

    def test_a_pipeline_of_children_that_never_ends_ends_at_the_deadline(self):
        ways = (
            "import subprocess\nsubprocess.run('sleep 600 | cat', shell=True, capture_output=True)",
            "import subprocess\nsubprocess.run('trap \"\" INT TERM; sleep 600', shell=True, capture_output=True)",
            "import os\nos.system('sleep 600')",
            "!sleep 600",
        )
        for code in ways:
            with self.subTest(code):
                result = self.run_cell("kept = 1\nprint('before')\n" + code, timeout_ms=700)

                self.assertEqual((result["status"], result["stdout"]), ("timeout", "before\n"), result)
                self.assertLess(result["duration_ms"], 700 + SOON_MS)
                after = self.run_cell("kept")
                self.assertTrue(after["value"] == "1" or after["kernel"]["state_lost"], after)


class ForkTest(ProcessesCase):
    def test_a_child_that_runs_to_the_end_of_its_cell_prints_once_is_no_kernel_and_is_reaped(self):
        ways = (  # each with how many children print
            ("import os\nif os.fork()==0: print('c')", 1),
            ("import os\npid = os.fork()\nif pid == 0: print('c')\n'value'", 1),
            ("import os, sys\nif os.fork() == 0: print('c'); sys.exit(3)", 1),
            ("import os\nif os.fork() == 0: print('c'); 1 / 0", 1),
            ("import os, time\nif os.fork() == 0: time.sleep(0.3); print('c')", 1),
            ("import os\nfor _ in range(2):\n    if os.fork() == 0: print('c'); break", 2),
            ("import asyncio, os\nawait asyncio.sleep(0)\nif os.fork() == 0: print('c')", 1),
            ("import os\nif os.fork() == 0:\n    if os.fork() == 0: print('c')", 1),
        )
        for number, (code, count) in enumerate(ways):
            with self.subTest(code):
                result = self.run_cell(code, cell=f"c{number}")

                self.assert_ok(result)
                wait_until(lambda: self.lines_of(f"c{number}").count("c") >= count, "the output of the child")
                kernel = result["kernel"]["pid"]
                wait_until(lambda: kernel not in map(processes.parent_of, processes.all_pids()), "the child to be reaped")
                self.assert_goes_on(result)
                self.assertEqual(self.lines_of(f"c{number}").count("c"), count)

    def lines_of(self, cell):
        page = self.client.call("cell.output", session=self.session, cell=cell)
        return "".join(chunk["text"] for chunk in page["chunks"]).splitlines()

    def test_a_child_that_a_cell_waits_for_later_still_has_its_exit_code(self):
        self.run_cell("import os\npid = os.fork()\nif pid == 0: os._exit(7)")

        self.assert_ok(self.run_cell("os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])"), "7")

    def test_a_child_that_forks_without_end_is_ended_with_a_reset(self):
        forks = "    for _ in range(20):\n        if os.fork() == 0: time.sleep(600)\n    time.sleep(600)"
        self.run_cell("import os, time\nif os.fork() == 0:\n" + forks)
        kernel = self.daemon.kernels(session=self.session)[0]["pid"]
        wait_until(lambda: len(processes.descendants(kernel)) == 21, "all children")
        family = processes.descendants(kernel)

        self.client.call("session.reset", session=self.session)

        wait_until(lambda: not [each for each in family if processes.is_alive(each)], "the end of the children")
        self.assert_ok(self.run_cell("1"), "1")


class PoolTest(ProcessesCase):
    STARTS = (
        "with multiprocessing.get_context({way!r}).Pool(2) as pool: result = pool.map(square, [1, 2, 3])",
        "with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context({way!r})) as pool: result = list(pool.map(square, [1, 2, 3]))",
    )

    def test_a_pool_runs_functions_of_cells_however_its_processes_are_started(self):
        self.run_cell("import multiprocessing\nfrom concurrent.futures import ProcessPoolExecutor")
        self.run_cell("factor = 1\ndef square(x): return factor * x * x")
        for way in ("fork", "spawn", "forkserver"):
            for code in self.STARTS:
                with self.subTest(code, way=way):
                    result = self.run_cell(code.format(way=way) + "\nresult", timeout_ms=20_000)

                    self.assert_ok(result, "[1, 4, 9]")
                    self.assert_goes_on(result)

    def test_what_cannot_be_sent_to_a_spawned_process_fails_clearly_and_does_not_hang(self):
        setting = "import multiprocessing, threading\nlock = threading.Lock()\ndef locked(x):\n    with lock: return x\n"
        ways = (
            setting + "with multiprocessing.get_context('spawn').Pool(1) as pool: pool.map(locked, [1])",
            setting + "p = multiprocessing.get_context('spawn').Process(target=locked, args=(1,)); p.start()",
            setting + "from concurrent.futures import ProcessPoolExecutor\n"
            "with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context('spawn')) as pool: pool.submit(locked, 1).result()",
        )
        for code in ways:
            with self.subTest(code):
                result = self.run_cell(code, timeout_ms=10_000)

                self.assertEqual(result["status"], "error", result)
                self.assertIn("lock", result["error"]["message"])
                self.assert_goes_on(result)

    def test_a_function_that_kills_its_worker_is_an_error_or_ends_at_the_deadline(self):
        code = (
            "import multiprocessing, os\nfrom concurrent.futures import ProcessPoolExecutor\ndef die(x): os._exit(1)\n"
            "with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context('spawn')) as pool: pool.submit(die, 1).result()"
        )

        result = self.run_cell(code, timeout_ms=15_000)

        self.assertEqual((result["status"], result["error"]["name"]), ("error", "BrokenProcessPool"), result)
        self.assert_goes_on(result)

    def test_a_live_executor_with_work_in_it_does_not_stop_a_reset_and_leaves_no_process(self):
        for way in (None, "fork", "spawn", "forkserver"):
            with self.subTest(way=way):
                result = self.run_cell(
                    "import multiprocessing, time\nfrom concurrent.futures import ProcessPoolExecutor\n"
                    f"pool = ProcessPoolExecutor(2, mp_context=multiprocessing.get_context({way!r}))\n"
                    "work = [pool.submit(time.sleep, 600) for _ in range(5)]\n"
                    "while not any(each.running() for each in work): time.sleep(0.01)\nmanager = multiprocessing.Manager()",
                    timeout_ms=20_000,
                )
                self.assert_ok(result)
                family = processes.descendants(result["kernel"]["pid"])
                self.assertGreaterEqual(len(family), 3)

                self.client.call("session.reset", session=self.session)
                self.assert_ok(self.run_cell("'pool' in globals()"), "False")

                wait_until(lambda: not [each for each in family if processes.is_alive(each)], "the end of the pool")


if __name__ == "__main__":
    unittest.main()
