"""SIGKILL of daemon and kernel together while each step is held up."""

import unittest

from fault_case import fault_case

BothKilledTest = fault_case("both")

if __name__ == "__main__":
    unittest.main()
