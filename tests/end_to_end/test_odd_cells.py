"""Cells that do odd things give a clear result, and the next cell runs."""

import unittest

from holdfast_test import processes
from holdfast_test.cases import SharedDaemonCase


class OddCellsTest(SharedDaemonCase):
    def assert_error(self, result, name, *words):
        self.assertEqual((result["status"], result["error"]["name"]), ("error", name), result)
        for word in words:
            self.assertIn(word, result["error"]["message"] + result["error"]["traceback"])

    def assert_next_runs(self, result, late=""):
        """The kernel goes on after that result; `late` may come with the next cell's output, from a process that nobody waited for."""
        after = self.run_cell("print('next'); 1")
        self.assert_ok(after, "1")
        self.assertEqual(after["stdout"].replace(late, "", 1), "next\n")
        self.assertEqual(after["kernel"]["id"], result["kernel"]["id"])

    def test_an_error_has_name_message_and_the_cells_own_lines(self):
        result = self.run_cell("def divide(x):\n    return x / 0\nprint('before')\ndivide(1)")

        self.assert_error(result, "ZeroDivisionError", "division by zero", "return x / 0", "divide(1)")
        self.assertNotIn("holdfast_kernel", result["error"]["traceback"])
        self.assertEqual(result["stdout"], "before\n")
        self.assert_next_runs(result)

    def test_a_syntax_error_runs_nothing(self):
        result = self.run_cell("print('before')\nif:")

        self.assert_error(result, "SyntaxError")
        self.assertEqual(result["stdout"], "")
        self.assert_next_runs(result)

    def test_both_causes_of_a_chained_exception_are_shown(self):
        self.assert_error(self.run_cell("raise ValueError('first') from KeyError('second')"), "ValueError", "first", "second")

    def test_a_cell_that_removes_builtins_ends_no_later_cell(self):
        for name in ("compile", "exec", "print", "len", "isinstance", "open", "__import__"):
            with self.subTest(name):
                removed = self.run_cell(f"import builtins as held\nlost = held.{name}\ndel held.{name}")
                self.assert_ok(removed, None)
                self.assert_ok(self.run_cell("1+1"), "2")
                self.run_cell(f"held.{name} = lost")
                self.assert_next_runs(removed)

    def test_an_exception_whose_str_raises_fails_its_cell_with_a_fallback_text(self):
        result = self.run_cell("class Odd(Exception):\n    def __str__(self): raise RuntimeError\nraise Odd()")

        self.assert_error(result, "Odd")
        self.assertTrue(result["error"]["message"])
        self.assert_next_runs(result)

    def test_a_value_whose_repr_raises_does_not_end_the_kernel(self):
        result = self.run_cell("class Odd:\n    def __repr__(self): raise RuntimeError('odd')\nOdd()")

        self.assertIn(result["status"], ("ok", "error"))
        self.assert_next_runs(result)

    def test_system_exit_ends_the_cell_with_its_code_and_keeps_the_namespace(self):
        result = self.run_cell("x = 41\nimport sys\nsys.exit(7)")

        self.assertEqual((result["status"], result["exit_code"]), ("exit", 7), result)
        self.assert_ok(self.run_cell("x"), "41")

    def test_a_printed_lone_surrogate_is_escaped_or_an_error_of_its_cell(self):
        result = self.run_cell("print('a\\ud800b')")

        if result["status"] == "ok":
            self.assertIn("\\ud800", result["stdout"])
        else:
            self.assert_error(result, "UnicodeEncodeError")
        self.assert_next_runs(result)

    def test_a_lone_surrogate_as_value_or_message_is_escaped(self):
        self.assertIn("\\ud800", self.run_cell("'\\ud800'")["value"])
        result = self.run_cell("raise ValueError('\\ud800')")
        self.assert_error(result, "ValueError", "\\ud800")
        self.assert_next_runs(result)

    def test_closing_or_removing_stdout_costs_no_output_and_no_kernel(self):
        for code in ("sys.stdout.close()", "sys.stdout = None", "sys.stderr = sys.stdout = sys.stdin = None", "del sys.stdout"):
            with self.subTest(code):
                result = self.run_cell(f"import sys\nprint('before')\n{code}\n7")
                self.assert_ok(result, "7")
                self.assertEqual(result["stdout"], "before\n")
                self.assert_next_runs(result)

    def test_closing_every_descriptor_is_no_silence(self):
        result = self.run_cell("import os\nprint('before', flush=True)\nos.closerange(0, 65536)\n7")

        self.assertIn(result["status"], ("ok", "lost"), result)
        self.assertEqual(result["stdout"], "before\n")
        after = self.run_cell("print('next'); 1")
        self.assert_ok(after, "1")
        self.assertEqual(after["stdout"], "next\n")

    def test_a_nul_in_the_source_is_an_error_of_that_cell(self):
        result = self.run_cell("x = 1\0")

        self.assertEqual((result["status"], result["error"]["name"] in ("SyntaxError", "ValueError")), ("error", True), result)
        self.assert_next_runs(result)

    def test_endless_recursion_is_a_recursion_error(self):
        result = self.run_cell("def f(): f()\nf()")

        self.assert_error(result, "RecursionError")
        self.assert_next_runs(result)

    def test_input_and_getpass_fail_at_once_and_clearly(self):
        for code in ("input()", "input('name? ')", "import getpass; getpass.getpass()"):
            with self.subTest(code):
                result = self.run_cell(code, seconds=10)
                self.assertEqual(result["status"], "error", result)
                self.assertIn("input", (result["error"]["name"] + result["error"]["message"]).lower())
                self.assertLess(result["duration_ms"], 3000)

    def test_a_forked_child_becomes_no_second_kernel_and_is_reaped(self):
        result = self.run_cell("import os\nif os.fork() == 0: print('c', flush=True)\n'end'")

        self.assert_ok(result)
        kernel = processes.identify(result["kernel"]["pid"])
        self.assert_next_runs(result, late="c\n")
        self.assertEqual(len(self.daemon.kernels(session=self.session)), 1)
        after = self.run_cell("import os\nos.waitpid(-1, 0)[0] > 0")
        # Reaped by the cell here, or by the kernel before.
        self.assertTrue(after["status"] == "ok" or after["error"]["name"] == "ChildProcessError", after)
        self.assertEqual(processes.descendants(kernel.pid), [])

    def test_a_forked_child_that_exits_gives_one_result_with_its_output(self):
        code = "import os\npid = os.fork()\nif pid == 0:\n    print('child', flush=True)\n    os._exit(0)\nos.waitpid(pid, 0)[1]"

        result = self.run_cell(code)

        self.assert_ok(result, "0")
        self.assertEqual(result["stdout"].count("child"), 1)

    def test_changing_the_directory_the_limits_or_the_handlers_does_not_silence_the_kernel(self):
        code = (
            "import os, resource, signal, tempfile\n"
            "os.chdir('/')\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
            "resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))\n"
            "signal.signal(signal.SIGINT, signal.SIG_IGN); signal.signal(signal.SIGTERM, signal.SIG_IGN)\n'done'"
        )
        result = self.run_cell(code)

        self.assert_ok(result, "'done'")
        self.assert_next_runs(result)
        sleeping = self.start_cell("import time\nprint('before', flush=True)\ntime.sleep(60)", "c1")
        self.client.wait_streamed("c1", "before\n")
        self.client.call("cell.interrupt", session=self.session, cell="c1")
        self.assertEqual(sleeping.result()["status"], "interrupted")

    def test_a_module_in_the_workspace_shadows_nothing_of_the_kernel(self):
        workspace = self.daemon.scratch / "workspace"
        workspace.mkdir()
        for name in ("json", "socket", "struct", "selectors", "traceback"):
            (workspace / f"{name}.py").write_text("raise RuntimeError('shadowed')\n")

        result = self.run_cell("print('out'); 7", cwd=str(workspace))

        self.assert_ok(result, "7")

    def test_the_source_of_what_a_cell_defined_can_be_read(self):
        self.run_cell("class Shape:\n    sides = 3\ndef area(): return 2\n")

        result = self.run_cell("import inspect; inspect.getsource(Shape) + inspect.getsource(area)")

        self.assert_ok(result, repr("class Shape:\n    sides = 3\ndef area(): return 2\n"))

    def test_a_spawn_pool_with_a_function_of_a_cell_works_or_fails_clearly_but_never_hangs(self):
        code = (
            "import multiprocessing\ndef square(x): return x * x\n"
            "with multiprocessing.get_context('spawn').Pool(2) as pool: result = pool.map(square, [1, 2, 3])\nresult"
        )
        result = self.run_cell(code, timeout_ms=5_000)

        self.assertIn(result["status"], ("ok", "error"), result)
        self.assert_next_runs(result)

    def test_asyncio_run_works_in_a_cell(self):
        self.assert_ok(self.run_cell("import asyncio\nasync def f(): return 5\nasyncio.run(f())"), "5")

    def test_late_output_of_a_thread_is_told_apart_from_the_next_cell(self):
        self.run_cell("import threading\ngo = threading.Event()\n"
                      "def late():\n    go.wait(); print('late', flush=True); done.set()\n"
                      "done = threading.Event(); threading.Thread(target=late, daemon=True).start()")  # fmt: skip

        result = self.run_cell("go.set(); done.wait(10); print('own')")

        self.assert_ok(result)
        self.assertEqual(result["stdout"], "own\n")

    def test_numbers_that_json_does_not_have_are_values_as_text(self):
        self.assert_ok(self.run_cell("float('nan'), float('inf'), 10**30"), f"(nan, inf, {10**30})")

    def test_the_namespace_is_main_and_keeps_the_last_value(self):
        self.run_cell("x = 5")
        self.assert_ok(self.run_cell("import __main__; __main__.x"), "5")
        self.assert_ok(self.run_cell("_ + 1"), "6")


if __name__ == "__main__":
    unittest.main()
