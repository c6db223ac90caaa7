"""A kernel that ends idle leaves its namespace in a file, and the session's next cell has it again, once; whatever dies in between."""

import sys
import unittest

from holdfast_test import processes
from holdfast_test.client import RpcError
from holdfast_test.saved import FILL, SavedCase
from holdfast_test.waiting import wait_until


class StopTest(SavedCase):
    def test_a_stopped_kernel_is_saved_and_the_next_cell_has_its_names(self):
        self.assert_ok(self.daemon.run(FILL))

        stopped = self.stop_kernel()
        hibernated = self.session()
        result = self.daemon.run("x = 1; plus()")
        after = self.daemon.run("x")

        self.assertEqual(stopped["session"], "default")
        self.assertEqual((hibernated["state"], hibernated["kernels"]), ("hibernated", []))
        self.assertGreater(hibernated["saved_bytes"], 100)
        self.assert_restored(result, "2")
        self.assertEqual([each["name"] for each in result["kernel"]["skipped"]], ["lock"])
        self.assertIn("lock", result["kernel"]["skipped"][0]["reason"] + result["kernel"]["skipped"][0]["name"])
        details = result["notices"][0]["details"]
        self.assertEqual((sorted(details["names"]), details["skipped"]), (["plus", "threading", "x"], result["kernel"]["skipped"]))
        self.assert_ok(after, "1")
        self.assertEqual((after["kernel"]["reason"], after["kernel"]["restored"], after["notices"]), ("reused", False, []))
        self.assertEqual(self.session()["saved_bytes"], 0)
        wait_until(lambda: self.state_files() == [], "the file to be gone")

    def test_what_was_restored_reads_a_global_by_the_value_it_is_bound_to_afterwards(self):
        kernel = self.daemon.run(
            "rate = 1\ndef tax(x): return x * rate\nclass Bill:\n    def total(self): return tax(10) + rate\nbill = Bill()\n"
            "double = lambda x: tax(x) * 2"
        )["kernel"]["id"]
        self.daemon.call("kernel.stop", kernel=kernel)
        self.assert_ok(self.daemon.run("tax(10), bill.total(), double(10)"), "(10, 11, 20)")

        self.daemon.run("rate = 5")

        self.assert_ok(self.daemon.run("tax(10), bill.total(), double(10)"), "(50, 55, 100)")
        self.daemon.run("def tax(x): return 0")
        self.assert_ok(self.daemon.run("bill.total(), double(10)"), "(5, 0)")

    def test_the_text_says_what_is_there_again_and_what_is_missing(self):
        self.hibernate()

        text = self.daemon.run("x", text_limit=4000)["text"]

        self.assertRegex(text, r"\A\[restored: .*: threading, x, plus; missing: lock \(.*\)\]\nOut: 41\n\[cell ")

    def test_without_saving_nothing_is_left(self):
        self.daemon.run("x = 41")

        self.stop_kernel(save=False)

        self.assertEqual((self.session()["state"], self.session()["saved_bytes"], self.state_files()), ("new", 0, []))
        result = self.daemon.run("x")
        self.assertEqual(result["error"]["name"], "NameError")
        self.assertTrue(result["kernel"]["state_lost"])

    def test_a_kernel_that_ran_no_cell_has_nothing_to_save(self):
        self.daemon.run("x = 1")
        self.daemon.call("session.reset")
        # The cell that asks for it is refused, its kernel stays.
        with self.assertRaises(RpcError):
            self.daemon.run("1", if_kernel="k-none")
        self.daemon.run("2", reset=True)
        self.stop_kernel(save=False)

        self.assertEqual(self.session()["saved_bytes"], 0)

    def test_one_that_cannot_save_is_not_ended(self):
        self.daemon.run("x = 41")
        obstacle = self.daemon.home / "state" / "1.0.part"
        obstacle.mkdir()

        with self.assertRaises(RpcError) as refused:
            self.stop_kernel()

        self.assertEqual(refused.exception.code, 1014)
        self.assertRegex(refused.exception.message, "cannot save the namespace of kernel k-.*1.0: .*; nothing was ended, and with save false")
        self.assertEqual((self.session()["state"], self.session()["saved_bytes"]), ("idle", 0))
        self.assert_ok(self.daemon.run("x"), "41")
        obstacle.rmdir()
        self.stop_kernel()
        self.assert_restored(self.daemon.run("x"), "41")

    def test_a_busy_kernel_is_refused_and_not_saved(self):
        client, _ = self.daemon.start_cell("import time\nprint('on', flush=True)\ntime.sleep(60)", "c1")
        client.wait_streamed("c1", "on")

        with self.assertRaises(RpcError) as refused:
            self.stop_kernel()

        self.assertEqual((refused.exception.code, self.state_files()), (1004, []))

    def test_a_cell_that_comes_while_it_is_saved_runs_and_the_stop_is_refused(self):
        self.daemon.run("import time\nclass Slow:\n  def __reduce__(self): time.sleep(1.5); return Slow, ()\nslow = Slow(); x = 1")
        kernel = self.daemon.kernels()[0]["kernel"]
        stopping = self.daemon.connect().send("kernel.stop", kernel=kernel)
        wait_until(lambda: "1.0.part" in self.state_files(), "it to save")

        result = self.daemon.run("x += 1; x")

        with self.assertRaises(RpcError) as refused:
            stopping.result(30)
        self.assertEqual(refused.exception.code, 1004)
        self.assert_ok(result, "2")
        self.assertEqual(result["kernel"]["id"], kernel)
        self.assertEqual(self.daemon.run("x")["kernel"]["id"], kernel)

    def test_any_number_of_names_is_saved_and_restored(self):
        self.hibernate("for n in range(20000): globals()['v%d' % n] = n")

        result = self.daemon.run("v0 + v19999")

        self.assert_restored(result, "19999")
        self.assertIn(" and 19981 more", result["notices"][0]["text"])
        self.assertEqual(len(result["notices"][0]["details"]["names"]), 1000)

    def test_a_value_that_forks_while_it_is_saved_costs_itself_only(self):
        self.hibernate("import os\nclass Forks:\n  def __reduce__(self): os.fork(); return Forks, ()\nx = 41; forks = Forks(); y = [1]")

        self.assert_restored(self.daemon.run("x, y"), "(41, [1])")

    def test_a_value_that_forks_while_it_is_restored_leaves_no_process(self):
        self.hibernate(
            "import os\nclass Forks:\n  def __getstate__(self): return 1\n  def __setstate__(self, state): os.fork()\nx = 41; forks = Forks()"
        )

        self.assert_restored(self.daemon.run("x"), "41")

        wait_until(lambda: len(self.daemon.processes()) == 3, "daemon, nursery and kernel to be alone")

    def test_functions_that_were_set_on_a_class_come_back(self):
        self.hibernate("class A:\n  def get(self): return 1\na = A()\ndef other(self): return 2\nA.get = other")

        self.assert_restored(self.daemon.run("a.get()"), "2")

    def test_a_stop_that_a_reset_overtakes_does_not_say_that_the_kernel_goes_on(self):
        self.daemon.run("import time\nclass Slow:\n  def __reduce__(self): time.sleep(1.5); return Slow, ()\nslow = Slow()")
        stopping = self.daemon.connect().send("kernel.stop", kernel=self.daemon.kernels()[0]["kernel"])
        wait_until(lambda: "1.0.part" in self.state_files(), "it to save")

        self.daemon.call("session.reset")

        with self.assertRaises(RpcError) as refused:
            stopping.result(30)
        self.assertIn("ended meanwhile", refused.exception.message)

    def test_the_command_line_saves_unless_told_otherwise(self):
        self.daemon.run("x = 41")
        saved = self.daemon.command("kernel", self.daemon.kernels()[0]["kernel"], "--stop")
        listed = self.daemon.command("sessions", "--state", "hibernated")
        again = self.daemon.command("run", "x")
        unsaved = self.daemon.command("kernel", self.daemon.kernels()[0]["kernel"], "--stop", "--no-save")

        self.assertEqual((saved.returncode, listed.returncode, again.returncode, unsaved.returncode), (0, 0, 0, 0), (saved, unsaved))
        self.assertIn("hibernated", listed.stdout)
        self.assertIn("41", again.stdout)
        self.assertIn("restored", again.stdout + again.stderr)
        self.assertEqual(self.session()["state"], "new")


class WakingTest(SavedCase):
    def test_a_hibernated_session_outlives_daemons_and_costs_no_kernel(self):
        self.hibernate()

        for crash in (False, True):
            self.daemon.restart(crash=crash)
            rows = self.daemon.call("session.list", state="hibernated")["items"]
            self.assertEqual([row["session"] for row in rows], ["default"])
            self.assertGreater(rows[0]["saved_bytes"], 100)
            self.assertEqual(self.daemon.call("session.list", state="new")["items"], [])

        self.assertEqual(self.daemon.kernels(), [])
        self.assert_restored(self.daemon.run("plus()"), "42")

    def test_it_hibernates_and_wakes_again_and_again(self):
        self.hibernate("count = 0")

        for number in range(1, 4):
            self.assert_restored(self.daemon.run("count += 1; count"), str(number))
            self.stop_kernel()

    def test_cells_at_once_on_a_hibernated_session_meet_one_kernel(self):
        self.hibernate("order = []")
        client = self.daemon.connect()

        pending = [client.send("run", code=f"order.append({number}); list(order)", cell=f"c{number}") for number in range(3)]
        results = [each.result(30) for each in pending]

        self.assert_restored(results[0], "[0]")
        self.assert_ok(results[2], "[0, 1, 2]")
        self.assertEqual(len({result["kernel"]["id"] for result in results}), 1)

    def test_a_reset_forgets_what_was_saved(self):
        self.hibernate()

        row = self.daemon.call("session.reset")
        result = self.daemon.run("x")

        self.assertEqual((row["state"], row["saved_bytes"]), ("new", 0))
        self.assertEqual((result["error"]["name"], result["kernel"]["reason"], result["notices"]), ("NameError", "reset", []))
        wait_until(lambda: self.state_files() == [], "the file to be gone")

    def test_a_reset_that_a_cell_overtakes_is_answered_and_the_cell_meets_no_name(self):
        self.hibernate()
        client = self.daemon.connect()

        reset = client.send("session.reset")
        result = client.run("x")

        self.assertEqual((result["error"]["name"], result["kernel"]["reason"]), ("NameError", "reset"))
        self.assertEqual(reset.result()["saved_bytes"], 0)

    def test_a_cell_that_asks_for_a_reset_gets_an_empty_kernel(self):
        self.hibernate()

        result = self.daemon.run("x", reset=True)

        self.assertEqual((result["error"]["name"], result["kernel"]["reason"], result["notices"]), ("NameError", "reset", []))
        self.assertEqual(self.session()["saved_bytes"], 0)

    def test_another_python_does_not_get_it(self):
        self.hibernate()

        result = self.daemon.run("x", python=sys.executable)

        self.assertEqual((result["error"]["name"], result["kernel"]["reason"]), ("NameError", "environment_changed"))
        self.assertGreater(self.session()["saved_bytes"], 0)
        self.assert_restored(self.daemon.run("x", python="python3"), "41")

    def test_a_closed_session_leaves_no_file_and_its_name_is_new(self):
        self.hibernate()

        self.daemon.call("session.close")

        wait_until(lambda: self.state_files() == [], "the file to be gone")
        result = self.daemon.run("x")
        self.assertEqual((result["error"]["name"], result["kernel"]["reason"]), ("NameError", "first"))

    def test_a_damaged_file_is_told_and_kept_aside_until_the_session_is_reset(self):
        self.hibernate()
        path = self.daemon.home / "state" / "1.0"
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)

        result = self.daemon.run("x", text_limit=2000)

        self.assertEqual(result["error"]["name"], "NameError", result)
        self.assertEqual((result["kernel"]["reason"], result["kernel"]["state_lost"], result["kernel"]["restored"]), ("died", True, False))
        self.assertEqual(self.notice_kinds(result), ["state_lost"])
        why = "the saved namespace could not be restored: "
        self.assertIn(why, result["kernel"]["note"])
        self.assertTrue(result["text"].startswith("[state lost: " + why), result["text"])
        self.assertEqual((self.state_files(), self.session()["saved_bytes"]), (["1.0.damaged"], 0))
        self.assert_ok(self.daemon.run("x = 2; x"), "2")
        self.daemon.call("session.reset")
        wait_until(lambda: self.state_files() == [], "the file kept aside to be gone")

    def test_a_file_that_is_gone_is_told(self):
        self.hibernate()
        (self.daemon.home / "state" / "1.0").unlink()

        result = self.daemon.run("1 + 1")

        self.assert_ok(result, "2")
        self.assertTrue(result["kernel"]["state_lost"])
        self.assertIn("could not be restored", result["notices"][0]["text"])

    def test_what_was_restored_is_not_restored_again_after_a_death(self):
        self.hibernate()
        kernel = self.daemon.run("x = 2; x")["kernel"]
        self.daemon.kill()
        processes.end_all([processes.identify(kernel["pid"])])
        self.daemon.start()

        result = self.daemon.run("x")

        self.assertEqual((result["error"]["name"], result["kernel"]["state_lost"]), ("NameError", True), result)

    def test_a_kernel_that_dies_while_its_restored_namespace_is_recorded_is_told_as_a_loss(self):
        self.hibernate()
        self.daemon.restart(
            HOLDFAST_FAILPOINTS="core.before_restored_recorded=delay(1);storage.disk.before_commit=delay(1500)",
            HOLDFAST_FAILPOINT_LOG=str(self.daemon.failpoint_log),
        )
        pending = self.daemon.connect().send("run", code="x", text_limit=2000)
        wait_until(lambda: "core.before_restored_recorded" in self.daemon.fired_failpoints(), "it to be restored", 20)

        processes.end_all(self.daemon.kernel_identities())
        result = pending.result()

        self.assertEqual(result["error"]["name"], "NameError", result)
        kernel = result["kernel"]
        self.assertEqual((kernel["reason"], kernel["restored"], kernel["state_lost"], kernel["skipped"]), ("died", False, True, []))
        self.assertEqual(self.notice_kinds(result), ["restarted", "state_lost"])
        self.assertNotIn("restored", result["text"])
        self.assertEqual(self.session()["saved_bytes"], 0)


if __name__ == "__main__":
    unittest.main()
