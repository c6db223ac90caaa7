"""What becomes of a cell: the rows of the design's table as checks. Each failpoint and victim maps to exactly one of them.

A check is given the Scenario after the fault, with a daemon that runs again, and fails unless that row is what came of the cell.
"""



def _final(scenario):
    return scenario.daemon.call("cell.wait", seconds=60, cell=scenario.cell)


def _ok(scenario, result):
    scenario.test.assertEqual((result["status"], result["value"], result["stdout"]), ("ok", "'value'", "out\n"), result)
    scenario.test.assertEqual(scenario.effects(), 1)


def not_recorded(scenario):
    """The daemon died before the acceptance was recorded: no reply; a resend runs it."""
    scenario.assert_unknown()
    result = scenario.resend()
    _ok(scenario, result)
    scenario.test.assertFalse(result["replayed"])


def resent(scenario):
    """Accepted; execute unsent, sent or received; the daemon died: resent, and the kernel dedupes."""
    result = _final(scenario)
    _ok(scenario, result)
    if scenario.kernel is not None:
        scenario.test.assertEqual(result["kernel"]["pid"], scenario.kernel.pid)
    scenario.test.assertFalse(result["kernel"]["state_lost"], result["kernel"])


def requeued(scenario):
    """The kernel is proven dead and the cell did not start: a fresh kernel runs it and is told of the loss."""
    result = _final(scenario)
    _ok(scenario, result)
    scenario.test.assertNotEqual(result["kernel"]["pid"], scenario.kernel.pid)
    scenario.test.assertTrue(result["kernel"]["state_lost"], result["kernel"])


def lost(scenario):
    """Proven dead, started but not done: lost, with the cause, the output up to then, and no second run."""
    result = _final(scenario)
    scenario.test.assertEqual((result["status"], result["final"]), ("lost", True), result)
    scenario.test.assertEqual(result["death"]["cause"], "signal", result)
    scenario.test.assertEqual(result["death"]["signal"], "SIGKILL", result)
    scenario.test.assertLessEqual(scenario.effects(), 1)
    scenario.test.assertEqual(result["stdout"], "out\n" if scenario.effects() else "")


def exited(scenario):
    """The same for a kernel that a cell ended by itself, with the nursery's word for it."""
    result = _final(scenario)
    scenario.test.assertEqual(result["status"], "lost", result)
    scenario.test.assertEqual((result["death"]["cause"], result["death"]["exit_code"]), ("exit", 3), result)
    scenario.test.assertEqual((scenario.effects(), result["stdout"]), (1, "out\n"))


def unknown_cause(scenario):
    """The same when the nursery died before it wrote down how the kernel ended."""
    result = _final(scenario)
    scenario.test.assertEqual((result["status"], result["death"]["cause"]), ("lost", "unknown"), result)
    scenario.test.assertEqual((scenario.effects(), result["stdout"]), (1, "out\n"))


def in_the_spool(scenario):
    """`done` in the spool of a dead kernel, not recorded: recorded, a normal result."""
    result = _final(scenario)
    _ok(scenario, result)
    scenario.test.assertEqual(result["kernel"]["pid"], scenario.kernel.pid)


def recorded(scenario):
    """Recorded, acked or not, the client gone: cell.get answers; the duplicate is dropped."""
    _ok(scenario, scenario.daemon.call("cell.get", cell=scenario.cell))


def moved(scenario):
    """On its way to disk, with its result or, on a slow machine, before: recorded, or resent."""
    _ok(scenario, _final(scenario))


def untouched(scenario):
    """No row: neither the daemon nor a kernel that had the cell died. Its call gets a normal result."""
    _ok(scenario, scenario.pending.result(60))


def interrupted(scenario):
    """Proven dead after its cell was asked to end: interrupted, with the output up to then, and no second run."""
    result = _final(scenario)
    scenario.test.assertEqual((result["status"], result["stdout"]), ("interrupted", "out\n"), result)
    scenario.test.assertEqual(scenario.effects(), 1)
