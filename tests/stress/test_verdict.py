"""Each kind of fault in a session's ledger and effects is found, and a session without one is not."""

import dataclasses
import unittest

import stress_case  # noqa: F401
from stressing.cells import KINDS
from stressing.effects import Effect, read_line
from stressing.ledger import Cell, Final, Ledger, Order, Place
from stressing.verdict import violations_of

PLAIN = next(kind for kind in KINDS if kind.name == "plain")
FINAL = Final("ok", "digest", None, 0, 500, None, None, None, "k-1", 1, "first", False, False, False, False, (), "ok")


class VerdictTest(unittest.TestCase):
    """A session of three plain cells, one a second, in one kernel and namespace; each test disturbs it."""

    def setUp(self):
        self.ledger = Ledger()
        self.session = self.ledger.open_session(Place("o", None, "s"))
        for number in (1, 2, 3):
            self.add(number, "s1-1", number)

    def add(self, number, life, count, kernel="k-1", execution=None, **fields):
        name, here = f"s1-{number}", self.session.here(())
        final = dataclasses.replace(
            FINAL, value=repr(f"{life} {count}"), kernel=kernel, count=execution or count, **fields
        )
        self.session.cells[name] = Cell(name, (), PLAIN, "", {}, number, True, final=final, final_at=number + 0.5)
        self.session.effects.append(Effect(name, here, life, count, "-", "-", number + 0.2))

    def change(self, number, **fields):
        cell = self.session.cells[f"s1-{number}"]
        cell.final = dataclasses.replace(cell.final, **fields)

    def change_effect(self, number, **fields):
        self.session.effects[number - 1] = dataclasses.replace(self.session.effects[number - 1], **fields)

    def kill(self, since, until):
        self.session.orders.append(Order("kill", since, until, slot=()))

    def assert_found(self, text):
        found = list(violations_of(self.session))
        self.assertTrue(any(text in each for each in found), found)

    def assert_nothing(self):
        self.assertEqual(list(violations_of(self.session)), [])

    def test_what_went_well_is_no_fault(self):
        self.assert_nothing()

    def test_a_cell_that_ran_twice(self):
        self.session.effects.append(dataclasses.replace(self.session.effects[2], count=4))

        self.assert_found("cell s1-3 ran 2 times")

    def test_a_cell_that_is_ok_and_never_ran(self):
        del self.session.effects[1]

        self.assert_found("cell s1-2 ended as ok and never ran")

    def test_a_cell_that_was_refused_and_ran(self):
        cell = self.session.cells["s1-3"]
        cell.final, cell.refused = None, 1005

        self.assert_found("cell s1-3 was refused")

    def test_an_answer_that_is_not_what_the_cell_did(self):
        self.change(2, value="'s1-1 9'")

        self.assert_found("cell s1-2 answered")

    def test_an_accepted_cell_without_an_outcome(self):
        self.session.cells["s1-3"].final = None

        self.assert_found("cell s1-3 (plain) was accepted and has no outcome")

    def test_a_counter_that_goes_back(self):
        self.change_effect(3, count=1)
        self.change(3, value="'s1-1 1'")

        self.assert_found("went back from 2 (cell s1-2) to 1")

    def test_a_counter_that_jumps(self):
        self.change_effect(3, count=9)

        self.assert_found("belong to no cell")

    def test_the_namespace_of_another_session(self):
        self.change_effect(2, home="2/-")

        self.assert_found("ran in the namespace of 2/-")

    def test_the_life_of_another_session(self):
        self.change_effect(2, life="s2-1")

        self.assert_found("ran in the namespace of 1/-, life s2-1")

    def test_the_tools_of_another_kernel(self):
        self.change_effect(2, tools="read_file")

        self.assert_found("found the tools read_file")

    def test_a_life_that_comes_back(self):
        self.kill(2.6, 2.7)
        self.change_effect(2, life="s1-2", count=1)

        self.assert_found("which had been replaced before")

    def test_a_namespace_that_was_lost_without_a_cause(self):
        self.add(4, "s1-4", 1, "k-2", lost=True, notices=(("n-1", "state_lost"),))

        self.assert_found("is gone and nobody ended it")

    def test_a_namespace_that_was_lost_to_a_kill_and_told(self):
        self.kill(3.6, 3.7)
        self.add(4, "s1-4", 1, "k-2", lost=True, notices=(("n-1", "state_lost"),))

        self.assert_nothing()

    def test_a_loss_that_is_not_told(self):
        self.kill(3.6, 3.7)
        self.add(4, "s1-4", 1, "k-2")

        self.assert_found("kernel k-2 does not say so")

    def test_a_loss_that_no_notice_tells(self):
        self.kill(3.6, 3.7)
        self.add(4, "s1-4", 1, "k-2", lost=True)

        self.assert_found("and no notice does")

    def test_a_kernel_that_lost_its_namespace(self):
        self.kill(3.6, 3.7)
        self.add(4, "s1-4", 1, execution=4)

        self.assert_found("kernel k-1 has lost its namespace")

    def test_a_namespace_in_another_kernel_that_does_not_say_that_it_was_restored(self):
        self.add(4, "s1-1", 4, "k-2", execution=1)

        self.assert_found("does not say that it was restored")

    def test_a_namespace_that_was_restored(self):
        self.add(4, "s1-1", 4, "k-2", execution=1, restored=True)

        self.assert_nothing()

    def test_a_restored_namespace_that_no_notice_tells(self):
        self.session.untold = []
        self.add(4, "s1-1", 4, "k-2", execution=1, restored=True)

        self.assert_found("1 kernels were restored, and 0 notices say so")
        self.session.untold = ["restored"]
        self.assert_nothing()

    def test_a_reset_that_was_told_by_a_cell_that_was_interrupted_before_it_counted(self):
        self.session.orders += [Order("reset", 3.6, 3.7), Order("interrupt", 4.1, 4.2, cell="s1-4")]
        self.add(4, "s1-4", 1, "k-2", status="interrupted", reset=True)
        self.session.effects.pop()
        self.add(5, "s1-4", 2, "k-3", execution=1, restored=True)

        self.assert_nothing()

    def test_a_lost_cell_whose_kernel_nobody_ended(self):
        self.change(3, status="lost", death="signal SIGKILL")

        self.assert_found("cell s1-3 (plain) is lost and nobody ended its kernel")

    def test_a_lost_cell_whose_kernel_was_killed_at_another_time(self):
        self.kill(0.1, 0.2)
        self.change(3, status="lost", death="signal SIGKILL")

        self.assert_found("cell s1-3 (plain) is lost and nobody ended its kernel")

    def test_a_cell_that_was_interrupted_without_an_order(self):
        self.change(2, status="interrupted")

        self.assert_found("was interrupted and nobody asked for it")

    def test_a_cell_that_was_interrupted_when_another_was_to_be(self):
        self.session.orders.append(Order("interrupt", 2.1, 2.2, cell="s1-3"))
        self.change(2, status="interrupted")

        self.assert_found("was interrupted and nobody asked for it")

    def test_a_cell_that_ends_otherwise_than_its_code_can(self):
        self.change(2, status="exit")

        self.assert_found("may not end as")

    def test_a_deadline_that_came_too_early(self):
        cell = self.session.cells["s1-2"]
        cell.kind, cell.params = next(kind for kind in KINDS if kind.name == "slow"), {"timeout_ms": 5000}
        self.change(2, status="timeout")

        self.assert_found("cell s1-2 ended as timeout after 500 ms of 5000")

    def test_output_that_is_cut(self):
        self.change(2, stdout_bytes=3)

        self.assert_found("printed 3 bytes")

    def test_a_notice_that_is_told_twice(self):
        for number in (1, 2):
            self.change(number, notices=(("n-1", "reattached"),))

        self.assert_found("notice n-1 (reattached) rides on cell s1-1 and on cell s1-2")

    def test_cells_that_run_out_of_order(self):
        self.session.effects[1:] = reversed(self.session.effects[1:])

        self.assert_found("which was accepted later")

    def test_a_job_that_ran_twice(self):
        self.session.jobs["s1-1"] = 2

        self.assert_found("the job of cell s1-1 ran 2 times")

    def test_an_outcome_that_changes(self):
        cell = self.session.cells["s1-1"]
        result = {"status": "ok", "value": "1", "stdout_bytes": 0, "duration_ms": 1}
        result.update(dict.fromkeys(("error", "death", "fallback", "kernel")), notices=[])

        self.ledger.take_final(self.session, cell, {**result, "value": "2"})

        self.assertIn("cell s1-1 changed its outcome", self.ledger.violations[0])

    def test_a_line_that_no_cell_writes(self):
        self.assertIsNone(read_line("C s1-1 torn"))
        self.assertIsNone(read_line(""))


if __name__ == "__main__":
    unittest.main()
