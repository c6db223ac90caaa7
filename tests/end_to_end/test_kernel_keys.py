"""A session has a kernel for each kernel key that its cells name: environment, python and tools."""

import os
import shutil
import unittest

from holdfast_test.cases import DaemonCase
from holdfast_test.client import RpcError
from holdfast_test.waiting import wait_until

READ, SEARCH = ["read_file"], ["web_search"]


class ToolsTest(DaemonCase):
    def kernels(self):
        return {row["kernel"]: row for row in self.daemon.call("kernel.list")["items"]}

    def test_another_set_of_tools_is_another_kernel_with_fresh_stubs(self):
        first = self.daemon.run("x = 1\nfrom tools import read_file", tools=READ)
        second = self.daemon.run("from tools import web_search\nweb_search.__name__", tools=SEARCH)

        self.assert_ok(first)
        self.assert_ok(second, "'web_search'")
        self.assertEqual((second["kernel"]["reason"], second["kernel"]["execution_count"]), ("tools_changed", 1))
        self.assertIn("other kernel", second["kernel"]["note"])
        for code, name in (("from tools import read_file", "ImportError"), ("x", "NameError"), ("read_file", "NameError")):
            self.assertEqual(self.daemon.run(code)["error"]["name"], name, code)
        rows = self.kernels()
        self.assertEqual({tuple(row["tools"]) for row in rows.values()}, {("read_file",), ("web_search",)})
        self.assertEqual(sorted(self.daemon.call("session.get")["kernels"]), sorted(rows))

    def test_the_same_set_in_another_order_or_with_repeats_is_the_same_kernel(self):
        first = self.daemon.run("x = 1", tools=["b", "a"])

        again = self.daemon.run("x", tools=["a", "b", "a"])

        self.assert_ok(again, "1")
        self.assertEqual((again["kernel"]["id"], again["kernel"]["reason"]), (first["kernel"]["id"], "reused"))
        self.assertEqual(self.kernels()[first["kernel"]["id"]]["tools"], ["a", "b"])

    def test_a_cell_that_names_no_tools_goes_where_the_last_one_went(self):
        self.daemon.run("x = 1")
        self.daemon.run("x = 2", tools=READ)

        self.assert_ok(self.daemon.run("x"), "2")
        self.assert_ok(self.daemon.run("x", tools=[]), "1")
        self.assert_ok(self.daemon.run("x"), "1")

    def test_without_tools_a_module_of_that_name_is_the_workspace_s(self):
        (self.daemon.directory / "tools.py").write_text("mine = 7")

        self.assert_ok(self.daemon.run("from tools import mine\nmine", cwd=str(self.daemon.directory)), "7")

    def test_the_module_s_name_can_be_set(self):
        self.daemon.stop()
        self.daemon.start(HOLDFAST_TOOLS_MODULE="host")

        self.assert_ok(self.daemon.run("from host import read_file\nread_file.__module__", tools=READ), "'host'")

    def test_a_call_of_a_tool_without_a_provider_is_a_clear_error_of_the_cell(self):
        result = self.daemon.run("from tools import read_file\nread_file('a')", tools=READ)

        self.assertEqual((result["status"], result["error"]["name"]), ("error", "ToolUnavailable"))
        self.assertIn("read_file", result["error"]["message"])

    def test_names_that_cannot_be_imported_are_refused(self):
        for tools in (["a.b"], ["1a"], [""], ["a b"], [7], "read_file", ["x" * 300], ["a"] * 300):
            with self.assertRaises(RpcError) as refused:
                self.daemon.run("1", tools=tools)
            self.assertEqual(refused.exception.code, -32602, tools)
        self.assertEqual(self.kernels(), {})


class SeveralKernelsTest(DaemonCase):
    def setUp(self):
        super().setUp()
        self.first = self.daemon.run("x = 1", tools=READ)["kernel"]
        self.second = self.daemon.run("x = 2", tools=SEARCH)["kernel"]

    def test_cells_run_one_after_the_other_across_them(self):
        path = self.daemon.directory / "order"
        client = self.daemon.connect()
        code = "import time\nfor _ in range(3):\n    print({0}, file=open({1!r}, 'a')); time.sleep(0.02)"

        pending = [client.send("run", code=code.format(at, str(path)), tools=(READ, SEARCH)[at % 2]) for at in range(4)]
        for each in pending:
            self.assert_ok(each.result())

        self.assertEqual(path.read_text().split(), ["0"] * 3 + ["1"] * 3 + ["2"] * 3 + ["3"] * 3)

    def test_each_survives_the_death_of_the_daemon(self):
        self.daemon.restart(crash=True)

        for tools, value, kernel in ((READ, "1", self.first), (SEARCH, "2", self.second)):
            result = self.daemon.run("x", tools=tools)
            self.assert_ok(result, value)
            self.assertEqual(result["kernel"]["pid"], kernel["pid"])

    def test_the_death_of_one_is_told_and_costs_the_other_nothing(self):
        os.kill(self.first["pid"], 9)
        wait_until(lambda: len(self.daemon.kernels()) == 1, "the death to be known")

        self.assert_ok(self.daemon.run("x", tools=SEARCH), "2")
        result = self.daemon.run("x", tools=READ)
        self.assertEqual((result["error"]["name"], result["kernel"]["reason"]), ("NameError", "died"))
        self.assertTrue(result["kernel"]["state_lost"])

    def test_the_death_of_one_withdraws_nothing_that_is_told_of_the_other(self):
        self.daemon.call("kernel.stop", kernel=self.first["id"])
        client, pending = self.daemon.start_cell("import time; print('on', flush=True); time.sleep(2); x", "c1", tools=READ)
        client.wait_streamed("c1", "on")

        os.kill(self.second["pid"], 9)
        wait_until(lambda: len(self.daemon.kernels()) == 1, "the death to be known")

        result = pending.result()
        self.assert_ok(result, "1")
        self.assertIn("restored", self.notice_kinds(result))

    def test_a_reset_ends_both(self):
        self.daemon.call("session.reset")

        self.assertEqual(self.daemon.kernels(), [])
        for tools in (READ, SEARCH):
            result = self.daemon.run("x", tools=tools)
            self.assertEqual((result["error"]["name"], result["kernel"]["reason"]), ("NameError", "reset"))

    def test_a_cell_with_reset_ends_both(self):
        result = self.daemon.run("7", tools=READ, reset=True)

        self.assert_ok(result, "7")
        self.assertEqual(result["kernel"]["reason"], "reset")
        self.assertEqual(len(self.daemon.kernels()), 1)
        self.assertEqual(self.daemon.run("x", tools=SEARCH)["kernel"]["reason"], "reset")

    def test_closing_the_session_ends_both(self):
        self.daemon.call("session.close")

        self.assertEqual(self.daemon.kernels(), [])
        wait_until(lambda: not self.daemon.run_directories(), "their directories to be gone")

    def test_each_is_hibernated_and_restored_on_its_own(self):
        for kernel in (self.first, self.second):
            self.daemon.call("kernel.stop", kernel=kernel["id"])
        self.assertEqual(self.daemon.call("session.get")["state"], "hibernated")

        self.assert_ok(self.daemon.run("x", tools=READ), "1")
        self.assertEqual(self.daemon.call("session.get")["state"], "idle")
        result = self.daemon.run("x", tools=SEARCH)

        self.assert_ok(result, "2")
        self.assertTrue(result["kernel"]["restored"])

    def test_a_reset_forgets_what_is_saved_as_well(self):
        self.daemon.call("kernel.stop", kernel=self.first["id"])

        self.daemon.run("7", tools=SEARCH, reset=True)

        result = self.daemon.run("x", tools=READ)
        self.assertEqual((result["error"]["name"], result["kernel"]["restored"]), ("NameError", False))

    def test_a_cell_for_one_kernel_goes_to_it_whatever_came_last(self):
        result = self.daemon.run("x", if_kernel=self.first["id"])

        self.assert_ok(result, "1")
        self.assertEqual(result["kernel"]["id"], self.first["id"])

    def test_a_cell_in_the_background_of_one_does_not_hold_the_other_up(self):
        _, behind = self.daemon.start_cell("import asyncio\nawait asyncio.sleep(60)", "behind", tools=READ, background_after_ms=1)
        self.assert_ok(self.daemon.run("x", tools=SEARCH), "2")

        self.daemon.call("cell.interrupt", cell="behind")

        self.assertEqual(behind.result()["status"], "interrupted")

    def test_a_cell_in_the_background_that_began_with_a_reset_costs_no_namespace_that_was_saved_since(self):
        self.daemon.start_cell("import asyncio\nawait asyncio.sleep(60)", "behind", tools=READ, reset=True, background_after_ms=1)
        saved = self.daemon.run("y = 3", tools=SEARCH)
        self.daemon.call("kernel.stop", kernel=saved["kernel"]["id"])

        result = self.daemon.run("y", tools=SEARCH)

        self.assert_ok(result, "3")
        self.assertTrue(result["kernel"]["restored"])

    def test_the_copy_of_a_session_has_a_copy_of_each(self):
        row = self.daemon.call("session.fork", into="copy")

        self.assertEqual((len(row["kernels"]), row["state"], row["left_behind"]), (2, "idle", []))
        for tools, value in ((READ, "1"), (SEARCH, "2")):
            result = self.daemon.run("x", session="copy", tools=tools)
            self.assert_ok(result, value)
            self.assertEqual((result["kernel"]["reason"], result["kernel"]["reused"]), ("reused", True))

    def test_the_copy_has_what_is_saved_as_well_as_what_lives(self):
        self.daemon.call("kernel.stop", kernel=self.first["id"])

        row = self.daemon.call("session.fork", into="copy")
        self.daemon.restart(crash=True)

        self.assertEqual(len(row["kernels"]), 1)
        for session in ("copy", "default"):
            restored = self.daemon.run("x", session=session, tools=READ)
            self.assert_ok(restored, "1")
            self.assertTrue(restored["kernel"]["restored"])
            self.assert_ok(self.daemon.run("x", session=session, tools=SEARCH), "2")

    def test_what_one_kernel_refuses_to_copy_is_copied_of_none(self):
        self.daemon.call("kernel.stop", kernel=self.daemon.run("x = 3", tools=[])["kernel"]["id"])
        self.daemon.run("import threading\nend = threading.Event()\nthreading.Thread(target=end.wait, name='w7').start()", tools=READ)

        with self.assertRaises(RpcError) as refused:
            self.daemon.call("session.fork", into="copy")

        self.assertEqual(refused.exception.code, 1013)
        self.assertIn("w7", refused.exception.message)
        self.assert_no_copy()
        self.daemon.run("end.set()", tools=READ)
        self.assertEqual(len(self.daemon.call("session.fork", into="copy")["kernels"]), 2)

    def test_killed_in_the_midst_of_a_copy_there_is_none(self):
        self.daemon.call("kernel.stop", kernel=self.first["id"])
        for name in ("core.after_fork_recorded", "core.before_clone_recorded"):
            with self.subTest(name):
                self.daemon.restart(HOLDFAST_FAILPOINTS=f"{name}=kill", HOLDFAST_FAILPOINT_LOG=str(self.daemon.failpoint_log))
                self.assert_ok(self.daemon.run("x", tools=SEARCH), "2")
                with self.daemon.connect() as client:
                    client.send("session.fork", into="copy")
                    self.assertEqual(self.daemon.wait_ended(), -9)
                self.daemon.start()

                self.assert_no_copy()
                self.assert_ok(self.daemon.run("x", tools=SEARCH), "2")

    def assert_no_copy(self):
        kernels = len(self.daemon.kernels())
        self.assertEqual([row["session"] for row in self.daemon.call("session.list")["items"]], ["default"])
        wait_until(lambda: len(self.daemon.run_directories()) == kernels, "the directories of clones to be gone")
        state = self.daemon.home / "state"
        wait_until(lambda: all(each.name.startswith("1.") for each in state.iterdir()), "the copied files to be gone")

    def test_the_number_of_keys_is_bounded_and_an_unused_one_makes_room(self):
        for at in range(14):
            self.daemon.call("kernel.stop", kernel=self.daemon.run("y = 1", tools=[f"t{at}"])["kernel"]["id"])

        with self.assertRaises(RpcError) as refused:
            self.daemon.run("1", tools=["one_more"])
        self.assertEqual(refused.exception.code, 1005)
        self.assert_ok(self.daemon.run("x", tools=READ), "1")
        self.daemon.call("session.reset")
        self.assert_ok(self.daemon.run("1", tools=["one_more"]), "1")


class PythonsTest(DaemonCase):
    def test_another_python_is_another_kernel_and_the_configured_one_can_be_named(self):
        path = self.daemon.directory / "other-python3"
        os.symlink(shutil.which("python3"), path)
        self.daemon.run("x = 1")

        other = self.daemon.run("x = 2\nimport sys\nsys.executable", python=str(path))

        self.assert_ok(other, repr(str(path)))
        self.assertEqual(other["kernel"]["reason"], "environment_changed")
        self.assert_ok(self.daemon.run("x"), "2")
        self.assert_ok(self.daemon.run("x", python="python3"), "1")


if __name__ == "__main__":
    unittest.main()
