"""A test case with one test for each failpoint at which a victim can be killed."""

from holdfast_test.cases import DaemonCase
from scenario import Scenario
from table import TABLE


class FaultCase(DaemonCase):
    def setUp(self):
        self.daemon = self.make_daemon()


def fault_case(victim):
    """A FaultCase with a test for each name of the table whose row for `victim` is not None."""

    def make_test(name, outcomes):
        def test(self):
            Scenario(self, self.daemon, name, victim, outcomes).run()

        return test

    tests = {
        "test_" + name.replace(".", "_"): make_test(name, outcomes)
        for name, outcomes in TABLE.items()
        if getattr(outcomes, victim) is not None
    }
    return type(f"{victim.capitalize()}KilledTest", (FaultCase,), {**tests, "__module__": f"test_{victim}"})
