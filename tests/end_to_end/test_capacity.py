"""At a hard limit a cell waits for room in the order of arrival, and is refused, or ends as `at_capacity`, when none comes in time."""

import unittest

from holdfast_test.client import RpcError
from holdfast_test.cases import DaemonCase
from holdfast_test.waiting import stays_true, wait_until

AT_CAPACITY = 1005


class CapacityCase(DaemonCase):
    def setUp(self):
        super().setUp()
        self.warm_up()

    def warm_up(self):
        """The first kernel waits for its nursery to start, which is not what these tests are about."""
        client = self.daemon.connect()

        def is_ready():
            try:
                return client.run("1", session="warm-up")["final"]
            except RpcError as refused:
                self.assertEqual(refused.code, AT_CAPACITY)

        wait_until(is_ready, "a first kernel", 60)
        client.call("session.close", session="warm-up")

    def busy(self, session, owner="default", code=""):
        """A cell that ends once its file is there."""
        path = self.daemon.directory / f"go-{owner}-{session}"
        path.unlink(missing_ok=True)
        code = f"{code}\nimport os, time\nprint('on', flush=True)\nwhile not os.path.exists({str(path)!r}): time.sleep(0.01)"
        client, pending = self.daemon.start_cell(code, f"busy-{session}", session=session, owner=owner)
        client.wait_streamed(f"busy-{session}", "on")

        def end():
            path.touch()
            return pending.result()

        return end

    def assert_at_capacity(self, pattern, **params):
        with self.assertRaises(RpcError) as refused:
            self.daemon.run("1", **params)
        self.assertEqual((refused.exception.code, refused.exception.data["retry"]), (AT_CAPACITY, True))
        self.assertRegex(refused.exception.message, pattern)

    def fill(self, *sessions, **params):
        for session in sessions:
            self.assert_ok(self.daemon.run(f"x = {session!r}", session=session, **params))


class HardCapTest(CapacityCase):
    environment = {"HOLDFAST_MAX_KERNELS_HARD": "2", "HOLDFAST_ADMISSION_TIMEOUT_SECONDS": "30"}

    def test_an_idle_kernel_makes_room_at_once(self):
        self.fill("a", "b", "c", "d")

        self.assertEqual(len(self.daemon.kernels()), 2)
        for session in "abcd":
            self.assert_ok(self.daemon.run("x", session=session), repr(session))

    def test_with_all_busy_a_cell_is_refused_in_time_and_the_refusal_names_limit_and_next_step(self):
        for session in "ab":
            self.busy(session)
        self.daemon.restart(HOLDFAST_ADMISSION_TIMEOUT_SECONDS="1.5")
        listener = self.daemon.connect()
        listener.call("event.subscribe", types=["refused"])

        self.assert_at_capacity(
            r"no kernel for session c in 1.5 s: there are 2 kernels and max_kernels_hard is 2, .*; send it again, or end one with",
            session="c",
        )

        self.assertEqual(listener.wait_notification("event", kind="refused")["details"]["reason"], "at_capacity")
        self.assertEqual(len(self.daemon.kernels()), 2)

    def test_those_who_wait_get_room_in_the_order_of_arrival(self):
        self.daemon.restart(HOLDFAST_MAX_KERNELS_HARD="1")
        end = self.busy("a")
        events = self.daemon.connect()
        events.call("event.subscribe", types=["cell_finished"])
        client = self.daemon.connect()
        waiting = [client.send("run", code="1", session=f"s{number}") for number in range(6)]
        stays_true(lambda: not any(each.is_answered for each in waiting), 0.3, "they wait")

        end()

        for each in waiting:
            self.assert_ok(each.result())
        events.wait_notification("event", kind="cell_finished", session="s5")
        ended = [told["session"] for told in events.notifications("event", kind="cell_finished")]
        self.assertEqual(ended, ["a", "s0", "s1", "s2", "s3", "s4", "s5"])

    def test_the_end_of_a_kernel_makes_room(self):
        for how in ("session.reset", "session.close"):
            with self.subTest(how):
                ends = [self.busy(session) for session in "ab"]
                waiting = self.daemon.connect().send("run", code="1", session="c")
                stays_true(lambda: not waiting.is_answered, 0.3, "it waits")

                self.daemon.call(how, session="a")

                self.assert_ok(waiting.result())
                for end in ends:
                    try:
                        end()
                    except RpcError:
                        pass
                self.daemon.call("owner.close")

    def queue_behind_a_death(self):
        """A client with both kernels taken: b's dies soon, with a cell accepted behind the one that ends it."""
        self.daemon.restart(HOLDFAST_ADMISSION_TIMEOUT_SECONDS="5")
        self.busy("a")
        client = self.daemon.connect()
        killed = client.send("run", code="import os, signal, time; time.sleep(0.5); os.kill(os.getpid(), signal.SIGKILL)", session="b")
        wait_until(lambda: len(self.daemon.kernels()) == 2, "both kernels to be there")
        queued = client.send("run", code="1", session="b", cell="queued", stream=True)
        client.wait_accepted("queued", queued)
        return client, killed, queued

    def test_an_accepted_cell_that_needs_a_fresh_kernel_waits_for_room_too_and_ends_as_at_capacity(self):
        client, killed, queued = self.queue_behind_a_death()
        other = client.send("run", code="import time; time.sleep(8)", session="c", stream=True, cell="other")

        self.assertEqual(killed.result()["status"], "lost")
        client.wait_accepted("other", other)  # it has waited for longer
        result = queued.result()

        self.assertEqual((result["status"], result["error"]["name"]), ("error", "at_capacity"), result)
        self.assertRegex(result["error"]["message"], "max_kernels_hard is 2")
        self.assertIsNone(result["kernel"])
        self.assert_ok(other.result())
        self.assert_ok(self.daemon.run("1", session="b"))

    def test_the_room_for_an_accepted_cell_is_not_given_to_a_later_one_of_its_session(self):
        client, killed, queued = self.queue_behind_a_death()
        other = self.daemon.connect().send("run", code="import time; time.sleep(2)", session="c")
        self.assertEqual(killed.result()["status"], "lost")
        wait_until(lambda: "c" in {row["session"] for row in self.daemon.kernels()}, "it to have the room")

        later = client.send("run", code="2", session="b", tools=["read_file"])
        self.assert_ok(other.result())

        self.assert_ok(queued.result())
        self.assert_ok(later.result())

    def test_a_session_that_is_closed_while_it_waits_holds_nobody_up(self):
        ends = [self.busy(session) for session in "ab"]
        client = self.daemon.connect()
        first = client.send("run", code="1", session="c")
        second = client.send("run", code="1", session="d")
        stays_true(lambda: not second.is_answered, 0.3, "they wait")

        self.daemon.call("session.close", session="c")
        ends[0]()

        with self.assertRaises(RpcError):
            first.result()
        self.assert_ok(second.result())

    def test_a_fork_is_refused_when_there_is_no_room_for_its_kernel(self):
        self.fill("a")
        self.busy("b")

        with self.assertRaises(RpcError) as refused:
            self.daemon.call("session.fork", session="a", into="c")

        self.assertEqual(refused.exception.code, 1013)
        self.assertIn("max_kernels_hard is 2", refused.exception.message)


    def test_of_two_forks_at_once_the_second_one_finds_the_last_room_taken(self):
        self.fill("a")
        client = self.daemon.connect()

        forks = [client.send("session.fork", session="a", into=into) for into in "bc"]

        self.assertEqual(forks[0].result()["session"], "b")
        with self.assertRaises(RpcError) as refused:
            forks[1].result()
        self.assertIn("max_kernels_hard is 2", refused.exception.message)
        self.assertEqual(len(self.daemon.kernels()), 2)


class OwnerCapTest(CapacityCase):
    environment = {"HOLDFAST_MAX_KERNELS_PER_OWNER": "1", "HOLDFAST_ADMISSION_TIMEOUT_SECONDS": "30"}

    def test_an_owner_at_its_cap_waits_and_others_do_not(self):
        self.daemon.restart(HOLDFAST_ADMISSION_TIMEOUT_SECONDS="5")
        self.busy("a", owner="o")
        waiting = self.daemon.connect().send("run", code="1", session="b", owner="o")

        self.fill("a", "b", owner="p")

        self.assertFalse(waiting.is_answered)
        with self.assertRaises(RpcError) as refused:
            waiting.result()
        self.assertEqual(refused.exception.code, AT_CAPACITY)
        self.assertIn("owner o has 1 kernels and max_kernels_per_owner is 1", refused.exception.message)

    def test_only_its_own_idle_kernel_makes_room(self):
        self.fill("older", owner="p")
        self.fill("a", "b", owner="o")

        rows = {(row["owner"], row["session"]) for row in self.daemon.kernels()}
        self.assertEqual(rows, {("p", "older"), ("o", "b")})
        self.assert_ok(self.daemon.run("x", session="a", owner="o"), "'a'")


class MemoryTest(CapacityCase):
    environment = {"HOLDFAST_MAX_MEMORY_MB": "120", "HOLDFAST_TIME_SCALE": "10", "HOLDFAST_ADMISSION_TIMEOUT_SECONDS": "200"}
    LARGE = "for n in range(15): globals()[f'x{n}'] = bytes([n]) * (4 << 20)"  # each value can be saved, and all of them

    def test_over_the_budget_the_one_idle_for_longest_is_hibernated(self):
        self.assert_ok(self.daemon.run(self.LARGE, session="a"))
        self.assert_ok(self.daemon.run(self.LARGE, session="b"))

        wait_until(lambda: len(self.daemon.kernels()) == 1, "one to be hibernated")

        self.assertEqual(self.daemon.kernels()[0]["session"], "b")
        result = self.daemon.run("len(x14)", session="a")
        self.assert_ok(result, str(4 << 20))
        self.assertIn("more memory than max_memory_mb allows", result["notices"][0]["text"])

    def test_a_kernel_alone_over_the_budget_is_kept_until_another_one_is_wanted(self):
        self.assert_ok(self.daemon.run(self.LARGE + "\ny = bytearray(60 << 20)", session="a"))
        stays_true(lambda: len(self.daemon.kernels()) == 1, 0.5, "the kernel to be there")

        self.assert_ok(self.daemon.run("1", session="b"))

        wait_until(lambda: [row["session"] for row in self.daemon.kernels()] == ["b"], "it to have made room")
        self.assertEqual([each["name"] for each in self.daemon.run("len(x14)", session="a")["kernel"]["skipped"]], ["y"])

    def test_with_a_busy_one_over_the_budget_a_cell_waits(self):
        self.daemon.restart(HOLDFAST_ADMISSION_TIMEOUT_SECONDS="30")
        end = self.busy("a", code="y = bytearray(150 << 20)")
        wait_until(lambda: self.daemon.kernels()[0]["memory_bytes"] > 150 << 20, "it to be large")
        stays_true(lambda: True, 0.3, "it to be measured")

        self.assert_at_capacity(r"1 kernels use 1\d\d MiB and max_memory_mb is 120", session="b")

        self.assert_ok(end())


if __name__ == "__main__":
    unittest.main()
