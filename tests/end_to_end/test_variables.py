"""A session's variables, listed while its kernel is idle."""

import unittest

from holdfast_test.cases import DaemonCase
from holdfast_test.client import RpcError


class VariablesTest(DaemonCase):
    def listed(self):
        return {row["name"]: row for row in self.daemon.call("session.variables")["items"]}

    def test_names_types_and_previews_are_listed_and_nothing_of_the_kernel(self):
        self.daemon.run("import os\nx = 41\ntext = 'abc' * 1000\ndef f(): pass\n_private = [1]")

        rows = self.listed()

        self.assertEqual((rows["x"]["type"], rows["x"]["preview"]), ("int", "41"))
        self.assertEqual(rows["f"]["type"], "function")
        self.assertLess(len(rows["text"]["preview"]), 300)
        self.assertFalse({"__builtins__", "__name__", "run", "display"} & set(rows), rows)

    def test_a_text_that_fails_or_hangs_costs_only_its_own_row(self):
        self.daemon.run(
            "class Bad:\n    def __repr__(self): raise ValueError('no')\n"
            "class Hanging:\n    def __repr__(self):\n        import time\n        time.sleep(60)\n"
            "bad = Bad()\nhanging = Hanging()\nx = 1"
        )

        rows = self.listed()

        self.assertEqual(rows["x"]["preview"], "1")
        self.assertEqual(rows["bad"]["type"], "Bad")
        self.assertEqual(rows["hanging"]["type"], "Hanging")
        self.assert_ok(self.daemon.run("x + 1"), "2")

    def test_while_a_cell_runs_they_are_busy(self):
        client, _ = self.daemon.start_cell("import time\nprint('on', flush=True)\ntime.sleep(60)", "c1")
        client.wait_streamed("c1", "on")

        with self.assertRaises(RpcError) as refused:
            self.daemon.call("session.variables")

        self.assertEqual(refused.exception.code, 1004)
        self.assertIn("c1", refused.exception.message)

    def test_many_names_come_in_pages(self):
        self.daemon.run("for n in range(1100): globals()['v%d' % n] = n")

        names, after = [], None
        while after is not None or not names:
            page = self.daemon.call("session.variables", limit=1000, **({} if after is None else {"after": after}))
            names += [row["name"] for row in page["items"]]
            after = page["next"]

        self.assertEqual([name for name in names if name != "n"], ["v%d" % n for n in range(1100)])
        with self.assertRaises(RpcError) as refused:
            self.daemon.call("session.variables", after="x")
        self.assertEqual(refused.exception.code, -32602)

    def test_a_session_without_a_kernel_has_none(self):
        self.daemon.run("x = 1")
        self.daemon.call("session.reset")

        self.assertEqual(self.daemon.call("session.variables"), {"items": [], "next": None})

    def test_the_command_line_lists_them(self):
        self.daemon.run("answer = 42")

        shown = self.daemon.command("variables", "default")

        self.assertEqual(shown.returncode, 0, shown)
        self.assertRegex(shown.stdout, r"(?m)^answer +int +\S+( \S+)? +42")


if __name__ == "__main__":
    unittest.main()
