"""Sessions, owners and children share no names and no records; a kernel's environment holds no secret of the daemon's."""

import ast
import unittest

from holdfast_test.cases import DaemonCase, SharedDaemonCase
from holdfast_test.client import RpcError

SECRETS = {
    "SENTRY_DSN": "https://secret",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "X_WEBHOOK": "https://secret",
    "SOME_TOKEN": "secret",
    "DB_PASSWORD": "secret",
    "GITHUB_AUTH": "secret",
    "my_api_key": "secret",
    "Credential_File": "secret",
}


class NamespacesTest(SharedDaemonCase):
    def test_a_child_and_its_parent_do_not_see_each_others_names(self):
        self.run_cell("of_parent = 1")
        self.run_cell("of_child = 1", child="delegate")

        for code, child in (("of_parent", "delegate"), ("of_child", None)):
            result = self.run_cell(code, child=child)
            self.assertEqual((result["status"], result["error"]["name"]), ("error", "NameError"), result)

    def test_owners_and_sessions_do_not_see_each_others_names(self):
        self.run_cell("x = 1")

        for place in ({"owner": "another"}, {"session": self.session + "-2"}):
            self.assertEqual(self.run_cell("x", **place)["error"]["name"], "NameError")

    def test_each_has_a_kernel_of_its_own(self):
        places = ({}, {"child": "delegate"}, {"owner": "another"}, {"session": self.session + "-2"})

        pids = {self.run_cell("1", **place)["kernel"]["pid"] for place in places}

        self.assertEqual(len(pids), 4)

    def test_another_owner_finds_neither_cell_nor_session(self):
        self.run_cell("1", cell="c1")

        of_cell = {"cell": "c1"}
        for method, params in (("cell.get", of_cell), ("cell.output", of_cell), ("session.get", {}), ("session.reset", {})):
            with self.subTest(method), self.assertRaises(RpcError) as caught:
                self.client.call(method, session=self.session, owner="another", **params)
            self.assertEqual(caught.exception.code, 1001)

    def test_closing_one_session_leaves_the_others(self):
        self.run_cell("x = 1")
        self.run_cell("x = 2", child="delegate")

        self.client.call("session.close", session=self.session, child="delegate")

        self.assert_ok(self.run_cell("x"), "1")


class EnvironmentTest(DaemonCase):
    environment = {**SECRETS, "LC_TIME": "C", "UNKNOWN_VARIABLE": "1", "XDG_SOMETHING": "1"}

    def kernel_environment(self, **params):
        return ast.literal_eval(self.daemon.run("import os; dict(os.environ)", **params)["value"])

    def test_secrets_of_the_daemon_are_absent_in_cells_and_in_their_children(self):
        names = sorted(SECRETS)
        code = (
            "import os, subprocess\n"
            f"[name for name in {names!r} if name in os.environ], subprocess.getoutput('env')"
        )

        inside, of_child = ast.literal_eval(self.daemon.run(code)["value"])

        self.assertEqual(inside, [])
        self.assertEqual([name for name in names if name in of_child], [])

    def test_secrets_of_the_daemon_cannot_be_read_from_proc_either(self):
        result = self.daemon.run("secrets = open('/proc/self/environ').read(); print(secrets)")

        self.assertEqual([name for name in SECRETS if name in result["stdout"]], [])

    def test_the_usual_variables_are_there_and_unknown_ones_are_not(self):
        environment = self.kernel_environment()

        self.assertIn("PATH", environment)
        self.assertEqual(environment["LC_TIME"], "C")
        self.assertEqual(environment["XDG_SOMETHING"], "1")
        self.assertEqual(environment["TMPDIR"], str(self.daemon.scratch))
        self.assertNotIn("UNKNOWN_VARIABLE", environment)
        self.assertNotIn("HOLDFAST_HOME", environment)

    def test_a_secret_passed_by_name_is_there(self):
        self.daemon.restart(HOLDFAST_PASS_ENV="SENTRY_DSN")

        self.assertEqual(self.kernel_environment()["SENTRY_DSN"], "https://secret")

    def test_the_sessions_own_variables_and_directory_apply_to_a_fresh_kernel(self):
        environment = self.kernel_environment(env={"MINE": "1", "MY_TOKEN": "2"}, cwd=str(self.daemon.scratch))

        self.assertEqual((environment["MINE"], environment["MY_TOKEN"]), ("1", "2"))
        self.assertEqual(self.daemon.run("import os; os.getcwd()")["value"], repr(str(self.daemon.scratch)))

    def test_a_cells_descriptors_are_its_own(self):
        """Nothing of the daemon (stores, sockets, lock) and no other kernel's files are open in a kernel."""
        self.daemon.run("1", session="other")
        code = (
            "import os\nfound = []\n"
            "for name in os.listdir('/proc/self/fd'):\n"
            "    try: found.append(os.readlink('/proc/self/fd/' + name))\n"
            "    except OSError: pass\nfound"
        )
        result = self.daemon.run(code)
        own = f"/run/{result['kernel']['id']}"

        for path in ast.literal_eval(result["value"]):
            self.assertNotIn("/store/", path)
            self.assertFalse(path.endswith(("/lock", "holdfast.sock", "daemon.log")), path)
            if f"{self.daemon.home}/run/" in path:
                self.assertIn(own, path)


class BrokenInterpreterTest(DaemonCase):
    def test_a_python_that_cannot_be_started_is_an_error_and_nothing_ran(self):
        with self.assertRaises(RpcError) as caught:
            self.daemon.run("1", python="/nonexistent/python3", cell="c1")

        self.assertIn(caught.exception.data["kind"], ("start_failed", "invalid_params"))
        self.assertIn("/nonexistent/python3", caught.exception.message)
        self.assert_ok(self.daemon.run("7", cell="c1", session="other"), "7")

    def test_a_directory_that_does_not_exist_is_named(self):
        try:
            result = self.daemon.run("1", cwd="/nonexistent/directory")
        except RpcError as problem:
            self.assertIn("/nonexistent/directory", problem.message)
        else:
            self.assertEqual(result["status"], "error", result)
            self.assertIn("/nonexistent/directory", result["error"]["message"])


if __name__ == "__main__":
    unittest.main()
